"""Functions under a decorator of an application: what they are refused for, and how they travel."""

import copy
import inspect
import pickle
import pydoc
import re
from typing import Any
from uuid import UUID

import pytest

from windlass import InvalidInput, Windlass
from windlass.client.handle import JobHandle

app = Windlass()


@app.job
def double(number: int) -> int:
    return 2 * number


@app.cluster_job()
def tidy(days: int) -> None: ...


@app.leader_job()
def count() -> int:
    return 1


def local() -> Any:
    @Windlass().job
    def inner() -> None: ...

    return inner


@pytest.mark.parametrize("function", [double, tidy, count], ids=lambda function: function.__name__)
def test_a_job_function_is_pickled_by_its_name(function: Any) -> None:
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy([function])[0] is function


def test_what_has_no_name_of_its_own_says_so() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match="inner"):
        pickle.dumps(local())


def test_what_belongs_to_a_process_says_how_to_do_without() -> None:
    no: Any = None
    handle: JobHandle[int] = JobHandle(no, no, UUID(int=1), UUID(int=2), True)
    with pytest.raises(InvalidInput, match="send its id"):
        pickle.dumps(handle)
    assert copy.copy(handle) is handle
    assert copy.deepcopy([handle]) == [handle]
    for ours in (app, double.options(priority=1)):
        with pytest.raises(InvalidInput, match="have the other process import it"):
            pickle.dumps(ours)


@pytest.mark.parametrize("decorate", [app.job, app.leader_job])
def test_an_unknown_option_is_named(decorate: Any) -> None:
    with pytest.raises(InvalidInput, match="there is no option 'time_out': did you mean 'timeout'"):
        decorate(time_out=3)
    with pytest.raises(InvalidInput, match="there is no option 'x': there are kind, "):
        decorate(x=1)


@pytest.mark.parametrize("decorate", [app.job, app.cluster_job(), app.leader_job()])
def test_a_method_cannot_be_a_job(decorate: Any) -> None:
    class Mill:
        def grind(self, corn: int) -> int:
            return corn

    with pytest.raises(InvalidInput, match="is a method, and a job has no 'self'"):
        decorate(Mill.grind)


@pytest.mark.parametrize(
    ("what", "options"),
    [("queue", {"queue": "windlass.system", "kind": "sneak"}), ("kind", {"kind": "windlass.sneak"})],
)
def test_a_name_of_windlass_itself_is_refused_before_anything_is_known(
    what: str, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput, match=f"{what} must not begin with windlass") as refused:
        app.job(**options)(count.definition.handler)
    assert refused.value.sqlstate == "WL007"
    assert options["kind"] not in app.registry


def test_help_names_every_option_of_a_kind_with_its_default() -> None:
    told = pydoc.plain(pydoc.render_doc(app.job))
    signature = inspect.signature(app.job)
    options = [p for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert [option.name for option in options][:3] == ["kind", "queue", "priority"]
    assert signature.parameters["queue"].default == "default"
    for option in options:
        assert re.search(rf"^ \|  {option.name} {{2,}}\S", told, re.MULTILINE), option.name
        assert app.job(**{option.name: option.default}) is not None
