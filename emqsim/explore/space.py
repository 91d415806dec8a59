"""States: what of a queue makes one state, how it is read off the real machine and put back into it.

The queue that is explored is an `emqsim.Queue` like any other. Before a call it is put into the state to be
explored, the call is made, and the state after it is read off. Time is brought into a normal form: now is
always the same, deadlines that passed are at now, and those to come are a whole `UNIT` apart, in their order.
A call that sets a new deadline puts it between two of them, half a `UNIT` after the earlier one.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from emqsim.keys import SETS
from emqsim.machine import Machine
from emqsim.queue import Queue
from emqsim.zset import SortedSet

UNIT = 1000
"""Milliseconds between two deadlines to come, in the normal form."""

PAYLOAD = b"x"

_KEPT = 500_000
"""How many states, as they were read off, are kept with their numbers before they are forgotten."""


class Job(NamedTuple):
    """Where one job is and what is in its row."""

    pending: bool
    active: float | None
    """The deadline of the lease: 0 passed, 1 the next one to pass, and so on."""
    schedule: float | None
    dead: bool
    locked: bool
    row: tuple[bytes | None, bytes | None, bytes | None, bool] | None
    """`state`, `attempts`, `stalled`, and whether there is a payload."""

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets that hold the id."""
        held = (self.pending, self.active is not None, self.schedule is not None, self.dead)
        return tuple(which for which, there in zip(SETS, held, strict=True) if there)


class State(NamedTuple):
    """The machine's part of a state."""

    paused: bool
    jobs: tuple[Job, ...]

    @property
    def to_come(self) -> int:
        """How many deadlines have not passed."""
        return int(max((at for job in self.jobs for at in (job.active, job.schedule) if at), default=0))

    @property
    def shape(self) -> tuple[Any, ...]:
        """The state without its deadlines."""
        return self.paused, *[
            (job.pending, job.active is None, job.schedule is None, job.dead, job.row) for job in self.jobs
        ]


class _Order(list[Any]):
    """The order inside a `SortedSet` of a few members: quicker there than a SortedList, and soon put back."""

    def add(self, value: Any) -> None:
        """Insert in order."""
        insort(self, value)

    def islice(self, start: int | None, stop: int | None, reverse: bool = False) -> Iterator[Any]:
        """The members from start to stop."""
        found = self[start:stop]
        return reversed(found) if reverse else iter(found)


class Space:
    """The queue that is explored, and the states found in it so far, numbered."""

    def __init__(self, queue: Queue, job_ids: Sequence[str], stalled_cap: int) -> None:
        self.queue = queue
        self.job_ids = tuple(job_ids)
        self.states: list[State] = []
        self._stalled_cap = stalled_cap
        self._numbers: dict[State, int] = {}
        self._seen: dict[tuple[Any, ...], int] = {}
        self._machine: Machine = queue._machine
        for members in self._machine.sets.values():
            members._order = _Order()
        self._sets: list[SortedSet] = [self._machine.sets[which] for which in SETS]
        self._start = queue.clock.now_ms
        self._scores: list[dict[str, float]] = [{} for _ in SETS]
        self._rows: dict[str, dict[str, bytes]] = {}
        self._meta: dict[str, bytes] = {}
        self._locks: dict[str, bytes] = {}

    def enter(self, number: int) -> None:
        """Put the queue into a state, and come back to it at each `restore`."""
        paused, jobs = self.states[number]
        now = float(self._start)
        pending, active, schedule, dead = self._scores = [{} for _ in SETS]
        self._rows, self._locks = {}, {}
        self._meta = {"paused": b"1"} if paused else {}
        for job_id, job in zip(self.job_ids, jobs, strict=True):
            if job.pending:
                pending[job_id] = 0.0
            if job.active is not None:
                active[job_id] = now + job.active * UNIT
            if job.schedule is not None:
                schedule[job_id] = now + job.schedule * UNIT
            if job.dead:
                dead[job_id] = 0.0
            if job.locked:
                self._locks[job_id] = b"1"
            if job.row is not None:
                state, attempts, stalled, payload = job.row
                fields = {
                    "state": state,
                    "attempts": attempts,
                    "payload": PAYLOAD if payload else None,
                    "stalled": stalled,
                }
                self._rows[job_id] = {name: value for name, value in fields.items() if value is not None}
        self._machine.counters.clear()
        self.restore()

    def restore(self) -> None:
        """Back into the state that was entered last."""
        machine = self._machine
        for members, scores in zip(self._sets, self._scores, strict=True):
            if members._scores != scores:
                members._scores.clear()
                members._scores.update(scores)
                members._order[:] = sorted([(score, member) for member, score in scores.items()])
        rows = machine.rows
        if rows != self._rows:
            rows.clear()
            for job_id, row in self._rows.items():
                rows[job_id] = row.copy()
        if machine.meta != self._meta:
            machine.meta.clear()
            machine.meta.update(self._meta)
        if machine.locks != self._locks:
            machine.locks.clear()
            machine.locks.update(self._locks)

    def changed(self) -> bool:
        """Whether the queue is in another state than the one that was entered last."""
        pending, active, schedule, dead = self._sets
        was_pending, was_active, was_schedule, was_dead = self._scores
        machine = self._machine
        return (
            machine.rows != self._rows
            or pending._scores != was_pending
            or active._scores != was_active
            or schedule._scores != was_schedule
            or dead._scores != was_dead
            or machine.meta != self._meta
            or machine.locks != self._locks
        )

    def pass_next_deadline(self) -> None:
        """Move the clock to the next deadline."""
        self.queue.clock.set(now_ms=self._start + UNIT)

    def turn_back(self) -> None:
        """The clock back to the start of the normal form."""
        self.queue.clock.set(now_ms=self._start)

    def read(self) -> tuple[int, bool]:
        """The number of the state that the queue is in, and whether it is a new one."""
        machine = self._machine
        pending, active, schedule, dead = [members._scores for members in self._sets]
        rows, locks = machine.rows, machine.locks
        raw = (
            self.queue._clock._now_us,
            len(machine.meta),
            *[
                (
                    job_id in pending,
                    active.get(job_id),
                    schedule.get(job_id),
                    job_id in dead,
                    job_id in locks,
                    None
                    if (row := rows.get(job_id)) is None
                    else (row.get("state"), row.get("attempts"), row.get("stalled"), "payload" in row),
                )
                for job_id in self.job_ids
            ],
        )
        number = self._seen.get(raw)
        if number is not None:
            return number, False
        state = self._normal(raw)
        number = self._numbers.get(state)
        new = number is None
        if number is None:
            number = self._numbers[state] = len(self.states)
            self.states.append(state)
        if len(self._seen) >= _KEPT:
            self._seen.clear()
        self._seen[raw] = number
        return number, new

    def _normal(self, raw: tuple[Any, ...]) -> State:
        """A state in the normal form of time, `stalled` capped."""
        now_us, meta, *jobs = raw
        now = float(now_us // 1000)
        ahead = sorted(
            {at for _, active, schedule, *_ in jobs for at in (active, schedule) if at and at > now}
        )
        ranks: Mapping[float | None, int | None] = {at: rank for rank, at in enumerate(ahead, 1)} | {
            None: None
        }
        normal = []
        for pending, active, schedule, dead, locked, row in jobs:
            if row is not None:
                state, attempts, stalled, payload = row
                if stalled is not None:
                    stalled = b"%d" % min(int(stalled), self._stalled_cap)
                row = (state, attempts, stalled, payload)
            normal.append(Job(pending, ranks.get(active, 0), ranks.get(schedule, 0), dead, locked, row))
        return State(bool(meta), tuple(normal))
