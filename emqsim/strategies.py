"""Hypothesis strategies for queues, and a state machine that drives one.

    job_ids()     well-formed job ids
    payloads()    payloads, as bytes
    clocks()      virtual clocks
    programs()    traces without answers: calls on a queue that starts empty, with their times
    queues()      queues in a random state that calls lead to

`QueueMachine` drives a queue by the machine's own rules. Extend it with the rules of your system:

    class Shop(QueueMachine):
        @rule(job_id=QueueMachine.jobs)
        def cancel(self, job_id): ...

    TestShop = Shop.TestCase

All examples shrink: to the first ids, to empty payloads, to the time at which 2024 began, to few calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain, islice
from typing import Any

from emqsim import guards, trace
from emqsim.base import BaseQueue
from emqsim.clock import VirtualClock
from emqsim.dialect import Dialect
from emqsim.errors import JobGone, MissingExtra, NotDead, StaleToken
from emqsim.ids import EPOCH_MS, LARGEST_SNOWFLAKE, encode
from emqsim.keys import SETS
from emqsim.queue import Queue
from emqsim.results import Claimed, Verdict
from emqsim.trace import Program, Step

try:
    from hypothesis import strategies as st
    from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, multiple, rule
except ImportError:
    raise MissingExtra("hypothesis", "check") from None

_YEAR_MS = 366 * 86_400_000


def job_ids(namespace: str = "JOB") -> st.SearchStrategy[str]:
    """Well-formed ids of a namespace, any of its Snowflakes; they shrink to the first ids."""
    encode(namespace, 0)
    return st.integers(0, LARGEST_SNOWFLAKE).map(lambda snowflake: encode(namespace, snowflake))


def payloads(max_size: int = 40) -> st.SearchStrategy[bytes]:
    """Payloads as bytes: text in UTF-8, up to `max_size` characters, or any bytes."""
    return st.text(max_size=max_size).map(str.encode) | st.binary(max_size=max_size)


def clocks() -> st.SearchStrategy[VirtualClock]:
    """Clocks within ten years from the 2024 epoch, to the microsecond."""
    first = EPOCH_MS * 1000
    return st.integers(first, first + 10 * _YEAR_MS * 1000).map(lambda now_us: VirtualClock(now_us=now_us))


# Programs. Few ids, small tokens and round times, so that calls meet each other.

_IDS = st.integers(0, 3).map(lambda number: encode("JOB", number))
_PAYLOADS = st.sampled_from(["", "a", "b"])
_TOKENS = st.sampled_from([1, 2, 3, 0])
_MS = st.sampled_from([1, 0, 10, 1_000, 30_000])
_LEASES = st.sampled_from([1, 10, 1_000, 30_000])
_COUNTS = st.integers(1, 3)
_DUE = st.integers(0, 31).map(lambda seconds: EPOCH_MS + seconds * 1_000)
_ERRORS = st.sampled_from(["boom", ""])

_STEPS: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    "enqueue": (_IDS, _PAYLOADS),
    "enqueue_in": (_IDS, _PAYLOADS, _MS),
    "enqueue_at": (_IDS, _PAYLOADS, _DUE),
    "enqueue_many": (st.lists(st.tuples(_IDS, _PAYLOADS), max_size=3),),
    "claim": (_LEASES,),
    "claim_batch": (_COUNTS, _LEASES),
    "extend_lock": (_IDS, _TOKENS, _LEASES),
    "extend_locks": (st.lists(st.tuples(_IDS, _TOKENS), max_size=3), _LEASES),
    "complete": (_IDS, _TOKENS),
    "retry": (_IDS, _TOKENS, _MS, _COUNTS, _ERRORS),
    "delay": (_IDS, _TOKENS, _MS),
    "delay_until": (_IDS, _TOKENS, _DUE),
    "promote": (_COUNTS,),
    "reap": (),
    "sweep_stalled": (_COUNTS, _COUNTS),
    "reprocess_job": (_IDS,),
    "pause": (),
    "resume": (),
    "update_data": (_IDS, _PAYLOADS),
    "update_progress": (_IDS, _PAYLOADS),
    "add_log": (_IDS, _PAYLOADS, st.integers(0, 2)),
    "remove_job": (_IDS, st.sampled_from([None, "order-1"])),
    "drain": (st.booleans(),),
    "obliterate": (st.booleans(), _COUNTS),
}
"""The calls of a program, in the order in which they shrink, with their arguments."""

_FAULTS: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    "drop_row": (_IDS,),
    "drop_member": (st.sampled_from(SETS), _IDS),
    "hold_lock": (_IDS,),
    "lock_row": (_IDS,),
    "park_dedup": (_IDS, st.just("order-1")),
    "configure": (st.integers(0, 2), st.integers(0, 2)),
}
"""What somebody outside does to a queue."""

_OFTEN = ("enqueue", "claim") * 6 + ("enqueue_in", "retry", "promote", "sweep_stalled", "extend_lock") * 2
"""Calls that come more often than the others, so that there are jobs to act on."""


def programs(
    *, dialect: Dialect | str = Dialect.WIRE4, max_steps: int = 20, faults: bool = True
) -> st.SearchStrategy[Program]:
    """Programs of up to `max_steps` calls on four jobs, with time going on between them.

    With `faults`, outside writers take part: rows vanish, set entries vanish, locks are held.
    """
    calls = _STEPS | _FAULTS if faults else _STEPS
    drawn = {call: st.tuples(_MS, st.just(call), st.tuples(*args)) for call, args in calls.items()}
    step = st.sampled_from([*calls, *_OFTEN]).flatmap(drawn.__getitem__)
    spoken = Dialect(dialect)
    guards.count(max_steps, "max_steps")
    parts = st.lists(st.lists(step, max_size=10), max_size=(max_steps + 4) // 5)
    return parts.map(lambda drawn: _program(chain.from_iterable(drawn), max_steps, spoken))


def _program(drawn: Iterable[tuple[int, str, tuple[Any, ...]]], max_steps: int, dialect: Dialect) -> Program:
    now_us, steps = EPOCH_MS * 1000, []
    for wait_ms, call, args in islice(drawn, max_steps):
        now_us += wait_ms * 1000
        steps.append(Step(now_us, call, args))
    return Program(steps, dialect=dialect)


def queues(
    *, dialect: Dialect | str = Dialect.WIRE4, max_steps: int = 20, faults: bool = False
) -> st.SearchStrategy[Queue]:
    """Queues in a random state that a program leads to, with their history on: `queue.history(job_id)`."""
    return programs(dialect=dialect, max_steps=max_steps, faults=faults).map(_led)


def _led(program: Program) -> Queue:
    queue = Queue(program.queue, dialect=program.dialect, history=True)
    for step in program.steps:
        queue.clock.set(now_us=step.now_us)
        trace.perform(queue, step.call, step.args)
    return queue


# The state machine.


class QueueMachine(RuleBasedStateMachine):
    """A queue that producers, workers and a scheduler use in any order.

    `self.queue` is the queue, `self.clock` its clock. The bundle `jobs` holds the ids that were admitted,
    `claims` the claims that were served and not yet settled; other workers may have them by now. A settlement
    that the queue refuses for a stale token or a missing row is no failure. Override `make_queue` for a queue
    of your own, and add rules and invariants; `QueueMachine.TestCase` is the test.
    """

    jobs = Bundle("jobs")
    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.queue = self.make_queue()
        assert self.queue.clock is not None
        self.clock: VirtualClock = self.queue.clock

    def make_queue(self) -> BaseQueue:
        """The queue to drive, new for each example, on a virtual clock."""
        return Queue("queue", history=True)

    @rule(target=jobs, payload=payloads())
    def enqueue(self, payload: bytes) -> str:
        """A producer admits a job."""
        job_id = self.clock.mint()
        assert self.queue.enqueue(job_id, payload) is Verdict.ENQUEUED
        return job_id

    @rule(target=jobs, payload=payloads(), delay_ms=_MS)
    def enqueue_in(self, payload: bytes, delay_ms: int) -> str:
        """A producer admits a job for later."""
        job_id = self.clock.mint()
        assert self.queue.enqueue_in(job_id, payload, delay_ms) is Verdict.SCHEDULED
        return job_id

    @rule(job_id=jobs, payload=payloads())
    def enqueue_again(self, job_id: str, payload: bytes) -> None:
        """A producer sends a job once more: a duplicate, unless it is done by now."""
        self.queue.enqueue(job_id, payload)

    @rule(target=claims, lease_ms=_LEASES)
    def claim(self, lease_ms: int) -> Any:
        """A worker asks for a job."""
        claimed = self.queue.claim(lease_ms)
        return multiple() if claimed is None else claimed

    @rule(claim=claims, lease_ms=_LEASES)
    def extend_lock(self, claim: Claimed, lease_ms: int) -> None:
        """A worker sends a heartbeat."""
        self._settle("extend_lock", claim, lease_ms)

    @rule(claim=consumes(claims))
    def complete(self, claim: Claimed) -> None:
        """A worker is done."""
        self._settle("complete", claim)

    @rule(claim=consumes(claims), delay_ms=_MS, max_attempts=_COUNTS)
    def retry(self, claim: Claimed, delay_ms: int, max_attempts: int) -> None:
        """A worker has failed."""
        self._settle("retry", claim, delay_ms, max_attempts, "boom")

    @rule(claim=consumes(claims), delay_ms=_MS)
    def delay(self, claim: Claimed, delay_ms: int) -> None:
        """A worker puts its job off."""
        self._settle("delay", claim, delay_ms)

    def _settle(self, call: str, claim: Claimed, *args: Any) -> None:
        with suppress(StaleToken, JobGone):
            getattr(self.queue, call)(claim.job_id, claim.token, *args)

    @rule(ms=_MS)
    def advance(self, ms: int) -> None:
        """Time passes."""
        self.clock.advance(ms)

    @rule()
    def advance_to_next(self) -> None:
        """Time passes until something falls due."""
        self.clock.advance_to_next(self.queue)

    @rule(batch=_COUNTS)
    def promote(self, batch: int) -> None:
        """The scheduler hands over what is due."""
        self.queue.promote(batch)

    @rule()
    def reap(self) -> None:
        """The scheduler gives back what has lapsed."""
        self.queue.reap()

    @rule(max_stalled=_COUNTS)
    def sweep_stalled(self, max_stalled: int) -> None:
        """The scheduler gives back, or buries, what has stalled."""
        self.queue.sweep_stalled(max_stalled)

    @rule(job_id=jobs)
    def reprocess_job(self, job_id: str) -> None:
        """An operator brings a job back from the morgue."""
        with suppress(JobGone, NotDead):
            self.queue.reprocess_job(job_id)
