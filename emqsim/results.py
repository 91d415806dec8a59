"""What the calls of a queue answer with."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
    """How an admission or a retry ended."""

    ENQUEUED = "enqueued"
    DUPLICATE = "duplicate"
    SCHEDULED = "scheduled"
    DEAD = "dead"


class Claimed(NamedTuple):
    """A leased job. `payload` is `None` where the row has none (a stub row)."""

    job_id: str
    payload: bytes | None
    token: int
    """The fencing token: the row's `attempts` after this claim."""


class Sweep(NamedTuple):
    """What a sweep of stalled jobs did, each list in the order of the lapsed deadlines."""

    recovered: list[str]
    dead: list[str]


class Violation(NamedTuple):
    """A broken invariant of the state of a queue, with the jobs that break it."""

    name: str
    job_ids: tuple[str, ...]


INVARIANTS = {
    "in_two_sets": "an id is in one set at most",
    "ghost": "an id in a set has a row",
    "row_in_no_set": "the id of a row is in a set",
    "state_disagrees": "the state in a row is that of the set that holds the id",
    "stub_row": "a row has a payload",
}
"""Each invariant by the name of its violation."""
