"""A consumer that is driven by hand: one beat at a time, or until nothing is left to do.

A beat is what the consumer of EchoMQ does each `beat_ms`: reap, promote, then claim and handle until
nothing comes. Here no time passes but what the caller, or the handler, moves the clock by.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from emqsim import guards
from emqsim.backoff import Backoff, fixed
from emqsim.base import BaseQueue
from emqsim.clock import VirtualClock
from emqsim.errors import QueueError
from emqsim.results import Claimed, Verdict


class Crash(BaseException):
    """Raised in a handler: the process died there. Nothing is settled, and the lease runs out.

    No `Exception`, so that `except Exception` in the code under test does not survive its own death.
    """


class Outcome(StrEnum):
    """How one run of the handler ended."""

    COMPLETED = "completed"
    """The handler returned and `complete` was taken."""
    RETRIED = "retried"
    """The handler raised and the job was parked for another try."""
    DEAD = "dead"
    """The handler raised and the job was buried."""
    DELAYED = "delayed"
    """The handler delayed the job itself; nothing was settled after it."""
    CRASHED = "crashed"
    """The handler raised `Crash`."""
    LOST = "lost"
    """The queue refused to settle it: the lease was lost, or the row, while the handler ran."""


class Handled(NamedTuple):
    """One run of the handler."""

    job_id: str
    payload: bytes | None
    token: int
    outcome: Outcome
    error: BaseException | None
    """What the handler raised."""
    refused: QueueError | None
    """Why the queue refused to settle it, where the outcome is `LOST`."""
    ended_ms: int | None
    """When, on the queue's virtual clock."""


@dataclass
class Report:
    """What a consumer did: its beats, and every run of the handler in order."""

    handled: list[Handled] = field(default_factory=list)
    beats: int = 0
    reaped: int = 0
    """How many lapsed leases its beats gave back."""
    promoted: int = 0
    """How many scheduled jobs its beats handed over."""
    idle: bool = False
    """Whether it stopped because nothing was left to do, now or later."""

    def _of(self, outcome: Outcome) -> list[Handled]:
        return [each for each in self.handled if each.outcome is outcome]

    @property
    def completed(self) -> list[Handled]:
        """The runs that completed their job."""
        return self._of(Outcome.COMPLETED)

    @property
    def retried(self) -> list[Handled]:
        """The failures after which the job was parked for another try."""
        return self._of(Outcome.RETRIED)

    @property
    def dead(self) -> list[Handled]:
        """The failures after which the job was buried."""
        return self._of(Outcome.DEAD)

    @property
    def delayed(self) -> list[Handled]:
        """The runs that delayed their job."""
        return self._of(Outcome.DELAYED)

    @property
    def crashed(self) -> list[Handled]:
        """The runs in which the process died."""
        return self._of(Outcome.CRASHED)

    @property
    def lost(self) -> list[Handled]:
        """The runs whose job was no longer theirs to settle."""
        return self._of(Outcome.LOST)

    def __str__(self) -> str:
        counts = Counter(each.outcome.value for each in self.handled)
        did = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "nothing to do"
        heads = [f"{self.beats} beats: {did}; {'idle' if self.idle else 'not idle'}"]
        for each in self.handled:
            because = [repr(each.error)] if each.error is not None else []
            because += [f"refused: {each.refused}"] if each.refused is not None else []
            why = f" ({'; '.join(because)})" if because else ""
            heads.append(f"  {each.job_id} token {each.token} {each.outcome}{why}")
        return "\n".join(heads)


class Handle:
    """What a handler can do with the job it was given, beside returning or raising."""

    def __init__(self, queue: BaseQueue, job: Claimed) -> None:
        self._queue = queue
        self._job = job
        self.delayed = False
        """Whether `delay` was taken, after which the consumer settles nothing."""

    def extend(self, lease_ms: int) -> None:
        """A heartbeat: the lease runs until now + `lease_ms`. Raises `StaleToken` or `JobGone`."""
        self._queue.extend_lock(self._job.job_id, self._job.token, lease_ms)

    def delay(self, delay_ms: int) -> None:
        """Run the job again in `delay_ms`, and settle nothing now. Raises `StaleToken` or `JobGone`."""
        self._queue.delay(self._job.job_id, self._job.token, delay_ms)
        self.delayed = True

    def log(self, line: str | bytes) -> int:
        """Append a line to the job's log; gives how many there are. Raises `JobGone`."""
        return self._queue.add_log(self._job.job_id, line)


Handler = Callable[[Claimed, Handle], Any]


class Consumer:
    """Claims jobs of `queue` and runs `handler(job, handle)` on each.

    Where the handler returns, the job is completed; where it raises an `Exception`, the job is retried with
    the error's text, after `backoff(attempt)` ms or else `retry_delay_ms`, and buried at `max_attempts`. What
    it returns is not looked at. The lease is `lease_ms`; the handler may move the clock past it, and the
    queue then answers what a server would. A beat reaps once and promotes up to `promote_batch` jobs.
    Other `BaseException`s than `Crash` go through to the caller and leave the job leased.
    """

    def __init__(
        self,
        queue: BaseQueue,
        handler: Handler,
        lease_ms: int = 30_000,
        beat_ms: int = 1_000,
        retry_delay_ms: int = 1_000,
        max_attempts: int = 3,
        promote_batch: int = 100,
        backoff: Backoff | None = None,
    ) -> None:
        if not isinstance(queue, BaseQueue):
            raise TypeError(f"queue must be a Queue or a ServerQueue, not {queue!r}")
        if not callable(handler):
            raise TypeError(f"handler must be a function of a job and its handle, not {handler!r}")
        if inspect.iscoroutinefunction(handler):
            raise TypeError(f"handler must be synchronous, not {handler!r}")
        guards.lease(lease_ms)
        guards.integer(beat_ms, "beat_ms", 1)
        guards.integer(retry_delay_ms, "retry_delay_ms", 0)
        guards.integer(max_attempts, "max_attempts", 1)
        guards.count(promote_batch, "promote_batch")
        if backoff is not None and not callable(backoff):
            raise TypeError(f"backoff must be a function of the attempt, not {backoff!r}")
        self._queue = queue
        self._handler = handler
        self._lease_ms = lease_ms
        self._beat_ms = beat_ms
        self._max_attempts = max_attempts
        self._promote_batch = promote_batch
        self._backoff = backoff or fixed(retry_delay_ms)

    def beat(self) -> Report:
        """One beat: reap, promote, then claim and handle until nothing comes, or until a `Crash`."""
        report = Report()
        self._beat(report)
        report.idle = self._idle()
        return report

    def run_until_idle(self, *, until_ms: int | None = None, max_beats: int = 1000) -> Report:
        """Beat now, and again whenever a beat can find something to do, until nothing is left.

        Between two beats the clock goes straight to the next thing due: a scheduled job, a lease that runs
        out, or, where something waits already (after a `Crash`, or more than one beat reaps), the next beat.
        Beats in between, which would find nothing, are left out. It stops before a beat that would be
        later than `until_ms` (Unix ms), and after `max_beats`; the report says whether it is `idle`. Jobs that
        wait in a paused queue are nothing to do. After a `Crash` the next beat is that of a new process.

        Raises `TypeError` for a queue that is on no virtual clock.
        """
        clock = self._queue.clock
        if clock is None:
            raise TypeError("run_until_idle moves the clock: the queue needs a VirtualClock, it has none")
        if until_ms is not None:
            guards.integer(until_ms, "until_ms", clock.now_ms)
        guards.count(max_beats, "max_beats")
        report = Report()
        while True:
            self._beat(report)
            report.idle = self._idle()
            next_ms = self._next_beat_ms(clock)
            if report.idle or report.beats >= max_beats or next_ms is None:
                return report
            if until_ms is not None and next_ms > until_ms:
                return report
            clock.set(now_ms=next_ms)

    def _beat(self, report: Report) -> None:
        report.beats += 1
        report.reaped += self._queue.reap()
        report.promoted += self._queue.promote(self._promote_batch)
        while (job := self._queue.claim(self._lease_ms)) is not None:
            handled = self._handle(job)
            report.handled.append(handled)
            if handled.outcome is Outcome.CRASHED:
                return

    def _handle(self, job: Claimed) -> Handled:
        handle = Handle(self._queue, job)
        error: Exception | None = None
        try:
            self._handler(job, handle)
        except Crash as crash:
            return self._handled(job, Outcome.CRASHED, crash)
        except Exception as failed:
            error = failed
        if handle.delayed:
            return self._handled(job, Outcome.DELAYED, error)
        try:
            return self._handled(job, self._settle(job, error), error)
        except QueueError as refused:
            return self._handled(job, Outcome.LOST, error, refused)

    def _settle(self, job: Claimed, error: Exception | None) -> Outcome:
        if error is None:
            self._queue.complete(job.job_id, job.token)
            return Outcome.COMPLETED
        delay_ms = self._backoff(job.token)
        guards.integer(delay_ms, f"backoff({job.token})")
        verdict = self._queue.retry(job.job_id, job.token, delay_ms, self._max_attempts, _text(error))
        return Outcome.DEAD if verdict is Verdict.DEAD else Outcome.RETRIED

    def _handled(
        self,
        job: Claimed,
        outcome: Outcome,
        error: BaseException | None,
        refused: QueueError | None = None,
    ) -> Handled:
        clock = self._queue.clock
        return Handled(*job, outcome, error, refused, None if clock is None else clock.now_ms)

    def _idle(self) -> bool:
        return not (self._queue.active or self._queue.scheduled or self._claimable())

    def _claimable(self) -> bool:
        return bool(self._queue.pending) and not self._queue.paused

    def _next_beat_ms(self, clock: VirtualClock) -> int | None:
        """When a beat can next find something to do: later than now, or never."""
        overdue = any(score <= clock.now_ms for _, score in (*self._queue.active, *self._queue.scheduled))
        if overdue or self._claimable():
            return clock.now_ms + self._beat_ms
        return clock.next_due_ms(self._queue)


def _text(error: Exception) -> bytes:
    """The text of an exception, or the name of its class where it has none."""
    return (str(error) or type(error).__name__).encode("utf-8", "backslashreplace")
