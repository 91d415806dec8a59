"""Backoff policies: how long a failed job waits, by the attempt that failed.

The wire takes a literal delay, so a policy is a function of the host: from the attempt (1 for the first,
the fencing token of the claim) to milliseconds. Any such function is one; these are the usual three.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from emqsim import guards

Backoff = Callable[[int], int]
"""From the attempt that failed, 1 or more, to the delay in milliseconds."""


def fixed(delay_ms: int) -> Backoff:
    """The same delay each time.

    >>> fixed(1_000)(7)
    1000
    """
    guards.integer(delay_ms, "delay_ms", 0)
    return lambda attempt: delay_ms


def exponential(base_ms: int, cap_ms: int) -> Backoff:
    """`base_ms`, doubled with each attempt after the first, and `cap_ms` at most.

    >>> [exponential(1_000, 5_000)(attempt) for attempt in (1, 2, 3, 4)]
    [1000, 2000, 4000, 5000]
    """
    guards.integer(base_ms, "base_ms", 0)
    guards.integer(cap_ms, "cap_ms", 0)
    enough = cap_ms.bit_length()
    return lambda attempt: min(cap_ms, base_ms << min(max(attempt - 1, 0), enough))


def jitter(inner: Backoff, seed: int | Random) -> Backoff:
    """A whole number from 0 to what `inner` says, each as likely; the same seed gives the same delays.

    A `random.Random` in place of the seed is drawn from as it is, so that policies can share one.
    """
    if not callable(inner):
        raise TypeError(f"inner must be a backoff policy, not {inner!r}")
    if not isinstance(seed, Random):
        guards.integer(seed, "seed")
    random = seed if isinstance(seed, Random) else Random(seed)
    return lambda attempt: random.randint(0, inner(attempt))
