"""The retry policy: its bounds, its presets, and that no number of failures overflows."""

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.errors import InvalidInput
from windlass.model import RETRY_PRESETS, RetryPolicy, retry_preset
from windlass.model.retry import MAX_DELAY_SECONDS, MAX_NUMBER, MIN_BASE_SECONDS, Jitter

failures = st.one_of(
    st.integers(1, 100),
    st.integers(1, 2**63),
    st.sampled_from([1, 32, 64, 1024, 1025, 10**6, 2**31, 2**63, 10**400]),
)
seconds = st.floats(MIN_BASE_SECONDS, MAX_NUMBER)
policies = st.builds(
    RetryPolicy,
    base_seconds=st.one_of(st.just(0.0), seconds, st.floats(0.01, 100)),
    factor=st.one_of(st.floats(1, MAX_NUMBER), st.floats(1, 10), st.just(1.0), st.just(1 + 2**-52)),
    cap_seconds=st.one_of(st.none(), st.just(0.0), seconds, st.floats(MIN_BASE_SECONDS, 1e5)),
    jitter=st.sampled_from(["none", "tenth", "full"]),
)


@given(policies, failures)
def test_bounds_are_finite_ordered_and_capped(policy: RetryPolicy, n: int) -> None:
    low, high = policy.delay_bounds(n)
    limit = MAX_DELAY_SECONDS if policy.cap_seconds is None else min(policy.cap_seconds, MAX_DELAY_SECONDS)
    assert math.isfinite(high)
    assert 0 <= low <= high <= min(1.1 * limit, MAX_DELAY_SECONDS)


@given(policies, failures)
def test_delays_never_shrink_as_failures_go_on(policy: RetryPolicy, n: int) -> None:
    earlier, later = policy.delay_bounds(n), policy.delay_bounds(n + 1)
    assert earlier[0] <= later[0]
    assert earlier[1] <= later[1]


@given(policies, failures, st.integers())
def test_a_drawn_delay_lies_within_the_bounds(policy: RetryPolicy, n: int, seed: int) -> None:
    low, high = policy.delay_bounds(n)
    assert low <= policy.delay(n, random.Random(seed)) <= high


@given(
    base=st.sampled_from([0.25, 0.5, 1.0, 2.0, 10.0]),
    factor=st.sampled_from([1, 2, 4]),
    cap=st.one_of(st.none(), st.integers(0, 10**9)),
    n=st.integers(1, 2000),
)
def test_the_raw_delay_is_exact_where_arithmetic_is(
    base: float, factor: int, cap: int | None, n: int
) -> None:
    policy = RetryPolicy(base_seconds=base, factor=factor, cap_seconds=cap, jitter="none")
    limit = Fraction(MAX_DELAY_SECONDS) if cap is None else min(Fraction(cap), Fraction(MAX_DELAY_SECONDS))
    expected = float(min(Fraction(base) * factor ** (n - 1), limit))
    assert policy.delay_bounds(n) == (expected, expected)


@pytest.mark.parametrize(
    ("jitter", "expected"), [("none", (4.0, 4.0)), ("tenth", (4.0, 4.4)), ("full", (0.0, 4.0))]
)
def test_jitter(jitter: Jitter, expected: tuple[float, float]) -> None:
    assert RetryPolicy(jitter=jitter).delay_bounds(3) == pytest.approx(expected)


def test_full_jitter_uses_the_whole_range() -> None:
    source = random.Random(1)
    drawn = [RetryPolicy().delay(4, source) for _ in range(1000)]
    assert min(drawn) < 0.8
    assert max(drawn) > 7.2


def test_default() -> None:
    policy = RetryPolicy()
    assert [policy.delay_bounds(n) for n in (1, 2, 3, 13)] == [(0, 1), (0, 2), (0, 4), (0, 3600)]
    assert policy.max_attempts == 5
    assert RETRY_PRESETS["default"] == policy


def test_preset_doubling_uncapped() -> None:
    """base · 2^attempts with one second as the base, plus up to a tenth; never capped by the policy."""
    policy = retry_preset("doubling_uncapped")
    for attempts in range(1, 27):
        delay = 1.0 * 2**attempts
        assert policy.delay_bounds(attempts) == (delay, 1.1 * delay)
    assert policy.cap_seconds is None


def test_preset_doubling_to_an_hour() -> None:
    """min(2^(attempts - 1), 3600) seconds, five attempts; attempt 32 and later do not overflow."""
    policy = retry_preset("doubling_to_an_hour")
    for attempts in range(1, 2000):
        delay = float(min(2 ** (attempts - 1), 3600))
        assert policy.delay_bounds(attempts) == (delay, delay)
    assert policy.max_attempts == 5


def test_preset_doubling_from_ten_seconds() -> None:
    """10 · 2^retries seconds, counting retries before the increment; one attempt and three retries."""
    policy = retry_preset("doubling_from_ten_seconds")
    for retries in range(4):
        delay = 10.0 * 2**retries
        assert policy.delay_bounds(retries + 1) == (delay, delay)
    assert policy.max_attempts == 4


def test_preset_full_jitter_to_half_a_minute() -> None:
    """Anything up to min(0.5 · 2^retries, 30), counting retries after the increment; four attempts."""
    policy = retry_preset("full_jitter_to_half_a_minute")
    for retries in range(1, 2000):
        assert policy.delay_bounds(retries) == (0.0, min(0.5 * 2 ** min(retries, 10), 30.0))
    assert policy.max_attempts == 4


def test_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="doubling_to_an_hour"):
        retry_preset("linear")


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_seconds": -1},
        {"base_seconds": 1e-9},
        {"base_seconds": math.nan},
        {"base_seconds": math.inf},
        {"base_seconds": "1"},
        {"base_seconds": True},
        {"base_seconds": 10**400},
        {"base_seconds": 1e300},
        {"factor": 0.99},
        {"factor": math.inf},
        {"factor": math.nan},
        {"factor": None},
        {"factor": 1.1e15},
        {"cap_seconds": -0.1},
        {"cap_seconds": math.nan},
        {"cap_seconds": math.inf},
        {"cap_seconds": 1e-9},
        {"cap_seconds": 1.1e15},
        {"jitter": "half"},
        {"jitter": None},
        {"max_attempts": 0},
        {"max_attempts": 32_768},
        {"max_attempts": 1.0},
        {"max_attempts": True},
    ],
    ids=str,
)
def test_wrong_values_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        RetryPolicy(**wrong)


@pytest.mark.parametrize("n", [0, -1])
def test_failures_are_counted_from_one(n: int) -> None:
    with pytest.raises(InvalidInput):
        RetryPolicy().delay_bounds(n)


@given(policies)
def test_json_round_trip(policy: RetryPolicy) -> None:
    stored = policy.to_json()
    assert set(stored) == {"base", "factor", "cap", "jitter"}
    assert RetryPolicy.from_json(stored, max_attempts=policy.max_attempts) == policy


@pytest.mark.parametrize(
    "stored",
    [{}, {"base": 1}, {**RetryPolicy().to_json(), "more": 1}, {**RetryPolicy().to_json(), "base": "x"}],
)
def test_json_that_is_no_policy_is_refused(stored: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        RetryPolicy.from_json(stored)
