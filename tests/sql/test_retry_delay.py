"""The wait that the database computes lies within the bounds that the Python policy states."""

import json
import random
from datetime import timedelta

import pytest

from tests.sql.steps import Session
from tests.support import Clock, Database
from windlass.errors import InvalidInput
from windlass.model.retry import MAX_DELAY_SECONDS, RETRY_PRESETS, RetryPolicy

pytestmark = pytest.mark.every_version

NUMBERS = (1, 2, 3, 5, 10, 12, 13, 31, 32, 63, 64, 1023, 1024, 10**6, 2**31 - 1)
SEED = 20_260_101


def delays(db: Database, policy: RetryPolicy | None, draws: tuple[float, ...]) -> list[list[float]]:
    """What the database waits, for each number of failures and each random draw."""
    rows = db.fetch(
        "select n, array(select windlass._retry_delay(%s, n, d) from unnest(%s::float8[]) as d) as waits "
        "from unnest(%s::int[]) as n",
        None if policy is None else json.dumps(policy.to_json()),
        list(draws),
        list(NUMBERS),
        role="owner",
    )
    return [row.waits for row in rows]


def check(db: Database, policy: RetryPolicy, stored: RetryPolicy | None) -> None:
    draws = (0.0, 0.25, 1 - 2**-53)
    for n, waits in zip(NUMBERS, delays(db, stored, draws), strict=True):
        low, high = policy.delay_bounds(n)
        expected = [low + (high - low) * draw for draw in draws]
        assert waits == pytest.approx(expected, rel=1e-9, abs=1e-12), (policy, n)


@pytest.mark.parametrize("name", sorted(RETRY_PRESETS))
def test_the_database_agrees_on_every_preset(db: Database, name: str) -> None:
    check(db, RETRY_PRESETS[name], RETRY_PRESETS[name])


def test_no_policy_is_the_default_policy(db: Database) -> None:
    check(db, RetryPolicy(), None)


def test_the_database_agrees_on_policies_of_all_sizes(db: Database) -> None:
    source = random.Random(SEED)
    for _ in range(150):
        policy = RetryPolicy(
            base_seconds=source.choice([0.0, 1e-6, 10 ** source.uniform(-6, 15)]),
            factor=source.choice([1.0, 1 + 2**-52, source.uniform(1, 4), 10 ** source.uniform(0, 15)]),
            cap_seconds=source.choice([None, 0.0, 1e-6, 10 ** source.uniform(-6, 15)]),
            jitter=source.choice(["none", "tenth", "full"]),
        )
        check(db, policy, policy)


@pytest.mark.parametrize("cap", [None, 2 * MAX_DELAY_SECONDS, MAX_DELAY_SECONDS, 0.95 * MAX_DELAY_SECONDS])
def test_no_jitter_goes_beyond_ten_years(db: Database, cap: float | None) -> None:
    """Beyond a smaller cap it does go: up to a tenth, as it says."""
    policy = RetryPolicy(base_seconds=3600, cap_seconds=cap, jitter="tenth")
    check(db, policy, policy)
    longest = max(max(waits) for waits in delays(db, policy, (0.0, 0.5, 1 - 2**-53)))
    assert longest <= MAX_DELAY_SECONDS
    assert longest == pytest.approx(MAX_DELAY_SECONDS)
    hour = RetryPolicy(cap_seconds=3600, jitter="tenth")
    assert hour.delay_bounds(50)[1] == pytest.approx(3960)
    check(db, hour, hour)


def test_a_stored_policy_may_leave_out_what_it_does_not_change(jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    jobs.enqueue(retry={"base": 7, "jitter": "none"})
    (row,) = jobs.fail(jobs.claim_one())
    assert row.run_at == now + timedelta(seconds=7)


def test_jitter_spreads_jobs_that_failed_together(db: Database, jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    jobs.enqueue_many([{"kind": "mail", "payload": n} for n in range(50)])
    db.execute("update windlass_data.ready set counted = 3", role="superuser")
    waits = [(row.run_at - now).total_seconds() for row in jobs.fail(*jobs.claim(50))]
    assert all(0 <= wait <= 8 for wait in waits)
    assert len(set(waits)) > 40
    assert max(waits) - min(waits) > 4


@pytest.mark.parametrize("name", ["base", "factor", "cap"])
@pytest.mark.parametrize("number", [0, 5e-7, 1e-6, 0.5, 1, 1e15, 1.001e15, 1e300])
def test_both_refuse_the_same_numbers(db: Database, name: str, number: float) -> None:
    stored = {**RetryPolicy().to_json(), name: number}
    wrong = db.fetch_value("select windlass._bad_retry(%s)", json.dumps(stored), role="owner")
    if wrong is None:
        assert RetryPolicy.from_json(stored).to_json() == stored
    else:
        with pytest.raises(InvalidInput, match=name):
            RetryPolicy.from_json(stored)
