"""Hypothesis plays the life of jobs against the database and the simulated core; the two must agree."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.sql.machine import Machine
from tests.sql.wanted import VERBS
from tests.support import Server

pytestmark = [pytest.mark.every_version, pytest.mark.timeout(900)]  # to shrink a failure takes time

# A row instead of the server's clock: moving it makes no session plan its statements anew.
STOPPED_CLOCK = """
create table public.stopped_clock (at timestamptz);
insert into public.stopped_clock values (now());
grant select on public.stopped_clock to public;
create or replace function windlass_data.clock() returns timestamptz language sql volatile
as 'select at from public.stopped_clock';
insert into windlass_data.tenant (id, slug, name)
values ('00000000-0000-7000-8000-000000000002', 'other', 'Other');
"""

# How often each verb is accepted at the least, over all runs: a machine that says little proves little.  On
# average it is ten times as often, so that chance does not fall below.
HEARD = {
    **dict.fromkeys((*VERBS, "finish", "cost", "renew"), 2),
    **dict.fromkeys(("cancel", "cancel what runs", "reschedule", "redrive"), 1),
    **dict.fromkeys(("claim a lone one", "recover by a claim"), 2),
    **dict.fromkeys(("claim of both tenants", "claim beside a lease"), 10),
    "enqueue": 200,
    "claim": 250,
    "claim again": 50,
    "expire": 20,
}
UNHEARD = 5  # words that came too late


def test_the_database_does_what_the_core_does(server: Server) -> None:
    """A failure prints the steps that led to it, and a line that plays them again."""
    with server.database() as db:
        db.execute(STOPPED_CLOCK, role="superuser")
        heard: Counter[str] = Counter()
        unheard: Counter[str] = Counter()
        machine = type("JobMachine", (Machine,), {"db": db, "heard": heard, "unheard": unheard})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=50,
                stateful_step_count=25,
                deadline=None,
                database=None,
                print_blob=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
        assert {verb: heard[verb] for verb, least in HEARD.items() if heard[verb] < least} == {}
        assert sum(unheard[verb] for verb in VERBS) >= UNHEARD
