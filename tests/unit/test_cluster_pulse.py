"""When a node takes its next turn in the cluster."""

from typing import Any, cast
from uuid import uuid4

import pytest

from windlass.cluster.pulse import Pulse
from windlass.errors import Forbidden
from windlass.model.cluster import Standing
from windlass.worker.leases import Leases
from windlass.worker.signals import Signals

LEASE, POLL = 9.0, 0.5
NOBODY = cast(Any, None)


def pulse(*, kinds: tuple[str, ...] = ("compact",), listening: bool = True) -> Pulse:
    return Pulse(
        NOBODY,
        uuid4(),
        NOBODY,
        Leases(LEASE),
        address="",
        kinds=kinds,
        local_kinds=kinds,
        lease_seconds=LEASE,
        poll_seconds=POLL,
        told=lambda _: None,
        listening=lambda: listening,
        signals=Signals(),
    )


def standing(*, busy: bool = False, leads: bool = False, seconds: float = LEASE) -> Standing:
    given = {"leads": leads, "term": 1, "draining": False, "parts": 0, "leader_id": uuid4()}
    return Standing(**given, busy=busy, leader_seconds=seconds)  # type: ignore[arg-type]


@pytest.mark.parametrize("leads", [True, False])
def test_while_nothing_is_unfinished_it_keeps_its_leases_and_no_more(leads: bool) -> None:
    assert LEASE / 3 <= pulse()._pause(standing(leads=leads)) <= 1.1 * LEASE / 3


def test_it_polls_while_a_job_is_unfinished_or_notices_may_be_missed() -> None:
    assert pulse()._pause(standing(busy=True)) <= POLL
    assert pulse(listening=False)._pause(standing()) <= POLL


@pytest.mark.parametrize("seconds", [2.0, 0.01, -3.0])
def test_it_is_there_when_the_leaders_lease_runs_out(seconds: float) -> None:
    pause = pulse()._pause(standing(seconds=seconds))
    assert max(0.05, seconds) <= pause <= max(0.05, seconds + LEASE / 100)


def test_a_node_without_cluster_jobs_only_waits_for_a_word_to_drain() -> None:
    assert pulse(kinds=())._pause(standing(busy=True, seconds=0.1)) >= LEASE
    assert pulse(kinds=(), listening=False)._pause(standing()) <= LEASE / 3


@pytest.mark.parametrize(("kinds", "level"), [(("compact",), "WARNING"), ((), "DEBUG")])
def test_a_role_that_may_not_take_part_is_told_of_once_and_not_tried_again(
    kinds: tuple[str, ...], level: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "windlass")
    refused = pulse(kinds=kinds)
    refused._give_up(Forbidden("this role is bound"))
    (line,) = caplog.records
    assert (line.levelname, "trying again" in line.message) == (level, False)
    assert "takes no part in cluster jobs" in line.message
