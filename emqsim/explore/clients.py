"""Who calls: what clients know, which calls they make, and what they know afterwards."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from emqsim.explore.space import PAYLOAD, UNIT, Job
from emqsim.keys import SETS
from emqsim.machine import TRANSITIONS
from emqsim.results import Claimed


class Clients(StrEnum):
    """How well the clients behave."""

    FAITHFUL = "faithful"
    """They settle a claim once, and settle and extend only while they hold the lease."""
    LATE = "late"
    """They settle a claim once, but maybe after its lease lapsed; a heartbeat may outlive its handler."""
    HOSTILE = "hostile"
    """They use any token at any time, and admit an id again whenever they like."""


class Known(NamedTuple):
    """What clients know of one job. Bit n of a mask stands for token n."""

    admitted: bool = False
    ended: bool = False
    """It was completed or removed."""
    highest: int = 0
    """The highest token that was given out."""
    held: int = 0
    """The tokens with which their holders may still settle."""
    settled: int = 0
    """The tokens with which a claim was settled."""


Knowledge = tuple[Known, ...]
Args = tuple[Any, ...]

PROMOTED, MAX_STALLED, BUDGET = 100, 2, 1
"""How many jobs a promote hands over, at which stall a job is buried, how many jobs an obliterate deletes."""

TIME = "time passes"
"""The one step that is no call: the clock moves to the next deadline."""


class Call(NamedTuple):
    """A call that some client makes. `term` is the index of the argument that sets a deadline, in ms."""

    method: str
    args: Args = ()
    term: int | None = None


METHODS = {method: name for name, row in TRANSITIONS.items() for method in row.methods}
"""The transition behind each method of a queue."""

LEFT_OUT = ("update_progress", "add_log", "is_maxed")
"""Transitions that are never called: they change nothing of what a state is."""

CALLED = (
    "enqueue", "enqueue_in", "claim", "claim_batch", "extend_lock", "extend_locks", "complete", "retry", "delay",
    "promote", "reap", "sweep_stalled", "reprocess_job", "remove_job", "update_data", "pause", "resume", "drain",
    "obliterate",
)  # fmt: skip
"""The methods that are called, one a transition."""

FAULTS = ("drop_row", "drop_member", "hold_lock")
"""What goes wrong outside, with faults."""


class Callers:
    """The clients of one exploration."""

    def __init__(
        self,
        kind: Clients,
        job_ids: Sequence[str],
        *,
        max_claims: int,
        max_attempts: int,
        faults: bool,
        without: frozenset[str],
    ) -> None:
        self.kind = kind
        self.job_ids = tuple(job_ids)
        self.max_claims = max_claims
        self.max_attempts = max_attempts
        self.faults = faults
        self.without = without

    def calls(self, knowledge: Knowledge, to_come: int) -> list[Call]:
        """Every call that some client may make, where `to_come` deadlines have not passed."""
        calls = [*self._workers(knowledge), *self._producers(knowledge), *self._operators()]
        if self.faults:
            calls += self._faults()
        allowed = [
            placed
            for call in calls
            if call.method not in self.without and METHODS.get(call.method) not in self.without
            for placed in _placed(call, to_come)
        ]
        return [*allowed, Call(TIME)] if to_come else allowed

    def _producers(self, knowledge: Knowledge) -> Iterator[Call]:
        for job_id, known in zip(self.job_ids, knowledge, strict=True):
            if not known.admitted or self.kind is Clients.HOSTILE:
                yield Call("enqueue", (job_id, PAYLOAD))
                yield Call("enqueue_in", (job_id, PAYLOAD, 0), 2)

    def _workers(self, knowledge: Knowledge) -> Iterator[Call]:
        yield Call("claim", (0,), 0)
        yield Call("claim_batch", (len(self.job_ids), 0), 1)
        beating = []
        for job_id, known in zip(self.job_ids, knowledge, strict=True):
            for token in self._tokens(known.held):
                yield Call("complete", (job_id, token))
                yield Call("retry", (job_id, token, 0, self.max_attempts, b"failed"), 2)
                yield Call("delay", (job_id, token, 0), 2)
            beats = self._tokens(
                known.held if self.kind is Clients.FAITHFUL else (2 << known.highest) - 2,
            )
            for token in beats:
                yield Call("extend_lock", (job_id, token, 0), 2)
            if beats:
                beating.append((job_id, known.highest))
        if beating:
            yield Call("extend_locks", (tuple(beating), 0), 1)
        yield Call("promote", (PROMOTED,))
        yield Call("reap")
        yield Call("sweep_stalled", (MAX_STALLED,))

    def _tokens(self, mask: int) -> list[int]:
        """The tokens of a mask; any token, 0 too, for hostile clients."""
        if self.kind is Clients.HOSTILE:
            return list(range(self.max_claims + 1))
        return [token for token in range(mask.bit_length()) if mask >> token & 1]

    def _operators(self) -> Iterator[Call]:
        for job_id in self.job_ids:
            yield Call("reprocess_job", (job_id,))
            yield Call("remove_job", (job_id,))
            yield Call("update_data", (job_id, PAYLOAD))
        yield Call("pause")
        yield Call("resume")
        for flag in (False, True):
            yield Call("drain", (flag,))
            yield Call("obliterate", (flag, BUDGET))

    def _faults(self) -> Iterator[Call]:
        for job_id in self.job_ids:
            yield Call("drop_row", (job_id,))
            for which in SETS:
                yield Call("drop_member", (which, job_id))
            yield Call("hold_lock", (job_id,))


def _placed(call: Call, to_come: int) -> Iterator[Call]:
    """The call with its new deadline at each place among those to come."""
    if call.term is None:
        yield call
        return
    for place in range(to_come + 1):
        term = place * UNIT + UNIT // 2
        yield call._replace(args=(*call.args[: call.term], term, *call.args[call.term + 1 :]))


class Lesson(NamedTuple):
    """What a call teaches, and the passing of time.

    `seen` picks what matters out of the answer and the jobs before and after; `learn` makes the knowledge after
    from the knowledge before, the arguments and what was seen, and names the property that the call has broken.
    """

    seen: Callable[[Any, Sequence[Job], Sequence[Job]], Hashable]
    learn: Callable[[Callers, Knowledge, Args, Any], tuple[Knowledge, str | None]]


def _admitted(callers: Callers, known: Knowledge, args: Args, seen: Any) -> tuple[Knowledge, str | None]:
    """A new life of the id."""
    return _replaced(known, callers.job_ids.index(args[0]), Known(admitted=True)), None


def _claimed(callers: Callers, known: Knowledge, args: Args, seen: Any) -> tuple[Knowledge, str | None]:
    """A token more for each job that was served; a token has to be above all earlier ones."""
    broken = None
    for job_id, token in seen:
        at = callers.job_ids.index(job_id)
        job = known[at]
        if token <= job.highest:
            broken = "attempts_fell"
        held = 0 if callers.kind is Clients.HOSTILE else job.held | 1 << token
        known = _replaced(known, at, job._replace(highest=max(token, job.highest), held=held))
    return known, broken


def _settled(callers: Callers, known: Knowledge, args: Args, seen: Any) -> tuple[Knowledge, str | None]:
    """The claim is settled, and whoever settles it again breaks a promise."""
    at = callers.job_ids.index(args[0])
    job, bit = known[at], 1 << args[1]
    after = job._replace(held=job.held & ~bit, settled=job.settled | bit, ended=job.ended or seen[at])
    return _replaced(known, at, after), "settled_twice" if job.settled & bit else None


def _removed(callers: Callers, known: Knowledge, args: Args, seen: Any) -> tuple[Knowledge, str | None]:
    """Jobs have ended."""
    return tuple(
        job._replace(ended=True) if gone else job for job, gone in zip(known, seen, strict=True)
    ), None


def _lapsed(callers: Callers, known: Knowledge, args: Args, seen: Any) -> tuple[Knowledge, str | None]:
    """Faithful clients give up a lease that has lapsed."""
    if callers.kind is not Clients.FAITHFUL:
        return known, None
    return tuple(
        job._replace(held=0) if lapsed else job for job, lapsed in zip(known, seen, strict=True)
    ), None


def _replaced(known: Knowledge, at: int, job: Known) -> Knowledge:
    return (*known[:at], job, *known[at + 1 :])


def _see_tokens(answer: Any, was: Sequence[Job], now: Sequence[Job]) -> Hashable:
    """The jobs that a claim or a batch claim served, with their tokens."""
    return tuple((each.job_id, each.token) for each in served(answer))


def _see_rows_go(answer: Any, was: Sequence[Job], now: Sequence[Job]) -> Hashable:
    """The jobs that lost something and have no row."""
    return tuple(job.row is None and job != before for before, job in zip(was, now, strict=True))


def _see_leases_lapse(answer: Any, was: Sequence[Job], now: Sequence[Job]) -> Hashable:
    """The jobs whose leases lapsed."""
    return tuple(job.active == 0 != before.active for before, job in zip(was, now, strict=True))


def served(answer: Any) -> list[Claimed]:
    """The jobs that a claim or a batch claim served."""
    return answer if isinstance(answer, list) else [answer] if answer is not None else []


_SETTLED = Lesson(_see_rows_go, _settled)
_REMOVED = Lesson(_see_rows_go, _removed)
_ADMITTED = Lesson(lambda answer, was, now: None, _admitted)
_CLAIMED = Lesson(_see_tokens, _claimed)

LESSONS = {
    TIME: Lesson(_see_leases_lapse, _lapsed),
    "enqueue": _ADMITTED,
    "enqueue_in": _ADMITTED,
    "claim": _CLAIMED,
    "claim_batch": _CLAIMED,
    "complete": _SETTLED,
    "retry": _SETTLED,
    "delay": _SETTLED,
    "remove_job": _REMOVED,
    "drain": _REMOVED,
    "obliterate": _REMOVED,
}
"""What a method teaches that changed something; the others teach nothing."""

CLAIMS = ("claim", "claim_batch")
