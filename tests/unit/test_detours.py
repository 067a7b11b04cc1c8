"""Which database stands in for which, in a worker's process and in its children."""

from collections.abc import Iterator

import pytest

from windlass import Windlass
from windlass.client import detours
from windlass.client.detours import Place, detours_for, follow, going_by
from windlass.settings import Settings

HOME, TEST, OTHER = (f"postgresql://nobody@nowhere.invalid/{name}" for name in ("home", "test", "other"))
POOLED = Place(TEST, OTHER, "transaction")


@pytest.fixture(autouse=True)
def child() -> Iterator[None]:
    yield
    follow({})


def test_what_leads_to_the_database_comes_along_and_other_settings_stay() -> None:
    follow({None: POOLED})
    settled = Windlass(settings=Settings(tenant="acme", queues=("a", "b")))
    for settings in (Windlass().settings, settled.settings):
        assert (settings.database_url, settings.listen_url, settings.pooler) == POOLED
    assert (settled.settings.named_tenant, settled.settings.queues) == ("acme", ("a", "b"))
    assert Windlass(HOME).settings.database_url == HOME


def test_a_child_can_lead_an_application_on() -> None:
    follow({None: POOLED})
    app = Windlass()
    with app.at(OTHER):
        assert (app.settings.database_url, app.settings.pooler) == (OTHER, "none")
    assert app.database_url == TEST


def test_children_are_told_of_every_block_that_is_open() -> None:
    at_test, at_other = Place(TEST), Place(OTHER)
    assert detours_for(None, at_test) == {None: at_test}
    assert detours_for(HOME, Place(HOME)) == {HOME: Place(HOME)}, "nothing was led elsewhere"
    with going_by(HOME, at_test):
        assert detours_for(HOME, at_test) == {HOME: at_test, None: at_test}
        with going_by(None, at_other), going_by(HOME, at_other):
            assert detours_for(HOME, at_test) == {HOME: at_test, None: at_other}
            assert detours_for(TEST, Place(TEST))[HOME] == at_other, "the innermost"
        assert detours_for(None, at_other) == {HOME: at_test, None: at_other}
    assert not detours._current


def test_a_worker_that_a_child_starts_passes_it_on() -> None:
    follow({HOME: POOLED})
    assert detours_for(HOME, POOLED) == {HOME: POOLED, None: POOLED}
