"""Backoff policies: from an attempt to a delay."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emqsim.backoff import exponential, fixed, jitter

attempts = st.integers(1, 200)
delays = st.integers(0, 10**9)


@given(delays, attempts)
def test_fixed_is_the_same_each_time(delay_ms, attempt):
    assert fixed(delay_ms)(attempt) == delay_ms


@given(delays, delays, attempts)
def test_exponential_doubles_up_to_its_cap(base_ms, cap_ms, attempt):
    assert exponential(base_ms, cap_ms)(attempt) == min(cap_ms, base_ms * 2 ** (attempt - 1))


def test_exponential_takes_any_attempt_at_once():
    assert exponential(1, 60_000)(2**62) == 60_000
    assert exponential(0, 60_000)(2**62) == 0


@given(delays, st.integers(0, 2**63 - 1), attempts)
def test_jitter_stays_within_its_inner_policy_and_repeats_by_seed(cap_ms, seed, attempt):
    first, second = jitter(fixed(cap_ms), seed), jitter(fixed(cap_ms), Random(seed))
    drawn = [first(attempt) for _ in range(5)]
    assert drawn == [second(attempt) for _ in range(5)]
    assert all(0 <= delay_ms <= cap_ms for delay_ms in drawn)


def test_jitter_reaches_both_ends():
    policy = jitter(fixed(3), 0)
    assert {policy(1) for _ in range(100)} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: fixed(-1), "delay_ms must be within 0..2^63-1, not -1"),
        (lambda: exponential(1.5, 10), "base_ms must be an int, not 1.5"),
        (lambda: exponential(1, -1), "cap_ms must be within 0..2^63-1, not -1"),
        (lambda: jitter(5, 0), "inner must be a backoff policy, not 5"),
        (lambda: jitter(fixed(1), None), "seed must be an int, not None"),
    ],
)
def test_a_bad_argument_is_named(make, told):
    with pytest.raises((TypeError, ValueError), match=re.escape(told)):
        make()
