"""The calls of a queue, the same on the model and on a server.

A host is what stands around the atomic steps: it checks the arguments before anything happens,
reads the pause flag where the dialect leaves that to it, and turns calls into operations. A subclass
says how one operation is run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from emqsim import guards, machine
from emqsim.clock import VirtualClock
from emqsim.dialect import RULES, Dialect, Rules
from emqsim.errors import AtCeiling, WrongKind
from emqsim.keys import COUNTERS, SETS, Keys
from emqsim.operation import Operation
from emqsim.results import Claimed, Sweep, Verdict, Violation
from emqsim.violations import violations

if TYPE_CHECKING:
    from emqsim.history import Calls, History, Recording, Timeline, Watch

COUNTED = (*SETS, *COUNTERS)


class BaseQueue(ABC):
    """What `emqsim.Queue` and `emqsim.server.ServerQueue` have in common: all calls.

    Ids are `str`; payloads, errors, progress and log lines are `str` (sent as UTF-8) or `bytes`, and come
    back as `bytes`. Times are Unix milliseconds, leases and delays milliseconds. Every method checks its
    arguments first: a wrong type is a `TypeError`, a value out of range a `ValueError`, an ill-formed id an
    `InvalidJobId`. A refusal is a `QueueError` and changes nothing.
    """

    def __init__(self, name: str, dialect: Dialect | str, rules: Rules | None = None) -> None:
        self._keys = Keys(name)
        guards.choice(dialect, "dialect", tuple(Dialect))
        if rules is not None and not isinstance(rules, Rules):
            raise TypeError(f"rules must be a Rules or None, not {rules!r}")
        self._name = name
        self._dialect = Dialect(dialect)
        self._rules = RULES[self._dialect] if rules is None else rules
        self._kept: History | None = None

    @property
    @abstractmethod
    def clock(self) -> VirtualClock | None:
        """The clock that the transitions read; `None` where they read a server's."""

    @abstractmethod
    def _now_us(self) -> int:
        """The time that the next transition reads, Unix microseconds."""

    @abstractmethod
    def _watch(self) -> Watch:
        """What tells which jobs moved, for a history."""

    @abstractmethod
    def _run(self, operation: Operation, *args: Any) -> Any:
        """Run one operation with the arguments of its `apply`."""

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """The keyspace of the queue: every key that exists, with its value.

        A sorted set is a list of `(member, score)` in Redis order, a hash a dict of `str` to `bytes`,
        a list a list of `bytes`, a set a sorted list of `bytes`, a string `bytes`.
        """

    @property
    @abstractmethod
    def events(self) -> list[tuple[str, bytes]]:
        """What was published, oldest first: channel and message."""

    @property
    def name(self) -> str:
        """The name of the queue, the text in the braces of its keys."""
        return self._name

    @property
    def dialect(self) -> Dialect:
        """Which dialect of the protocol the queue speaks."""
        return self._dialect

    @property
    def keys(self) -> Keys:
        """The names of all keys."""
        return self._keys

    @property
    def rules(self) -> Rules:
        """The rules of the queue: those of its dialect, unless it was given its own."""
        return self._rules

    def key(self, kind: str, *parts: str) -> str:
        """A key by the words of its name: `key("pending")`, `key("job", job_id)`, `key("logs", job_id)`,
        `key("lock", job_id)`, `key("metrics", "completed")`, `key("de", dedup_id)`, `key("events")`."""
        return self._keys.key(kind, *parts)

    # Admission.

    def enqueue(self, job_id: str, payload: str | bytes) -> Verdict:
        """Admit a job: `ENQUEUED`, or `DUPLICATE` where the id has a row already (script `enqueue`).

        Raises `WrongKind` for an id that is not of the namespace JOB.
        """
        guards.job_id(job_id)
        verdict: Verdict = self._run(machine.enqueue, job_id, guards.octets(payload, "payload"))
        return verdict

    def enqueue_at(self, job_id: str, payload: str | bytes, run_at_ms: int) -> Verdict:
        """Admit a job that falls due at `run_at_ms`: `SCHEDULED` or `DUPLICATE` (script `schedule`).

        Raises `WrongKind` for an id that is not of the namespace JOB.
        """
        guards.integer(run_at_ms, "run_at_ms")
        return self._schedule(job_id, payload, "at", run_at_ms)

    def enqueue_in(self, job_id: str, payload: str | bytes, delay_ms: int) -> Verdict:
        """Admit a job due in `delay_ms`, 0 or more: `SCHEDULED` or `DUPLICATE` (script `schedule`).

        Raises `WrongKind` for an id that is not of the namespace JOB.
        """
        guards.integer(delay_ms, "delay_ms", 0)
        return self._schedule(job_id, payload, "in", delay_ms)

    def _schedule(self, job_id: str, payload: str | bytes, mode: str, value: int) -> Verdict:
        guards.job_id(job_id)
        octets = guards.octets(payload, "payload")
        verdict: Verdict = self._run(machine.schedule, job_id, octets, mode, value)
        return verdict

    def enqueue_many(self, pairs: Iterable[tuple[str, str | bytes]]) -> list[Verdict | WrongKind]:
        """Admit jobs one after the other (script `enqueue` for each pair of id and payload).

        Gives one entry a pair, in order: its verdict, or the `WrongKind`, which is not raised.
        One bad pair refuses the whole call before the first job is admitted.
        """
        checked = []
        for job_id, payload in guards.pairs(pairs, "pairs", "id and payload"):
            guards.job_id(job_id)
            checked.append((job_id, guards.octets(payload, "payload")))
        outcomes: list[Verdict | WrongKind] = []
        for job_id, payload in checked:
            try:
                outcomes.append(self._run(machine.enqueue, job_id, payload))
            except WrongKind as refused:
                outcomes.append(refused)
        return outcomes

    # The claim and its lease.

    def claim(self, lease_ms: int) -> Claimed | None:
        """Lease the oldest pending job until now + `lease_ms`; `None` where none waits or it is paused.

        Scripts `claim` (wire3) and `claim2` (wire4), native `EMQ.CLAIM` (wire6). In wire3 and wire4 the
        pause flag is read first, in a step of its own.
        """
        guards.lease(lease_ms)
        if not self._rules.claim_reads_pause and self._run(machine.is_paused):
            return None
        claimed: Claimed | None = self._run(machine.claim, lease_ms)
        return claimed

    def claim_batch(self, size: int, lease_ms: int) -> list[Claimed]:
        """Lease up to `size` of the oldest pending jobs with one deadline (script `bclaim`).

        Empty where none waits or the queue is paused; the pause flag is read first in every dialect.
        """
        guards.count(size, "size")
        guards.lease(lease_ms)
        if self.paused:
            return []
        batch: list[Claimed] = self._run(machine.bclaim, lease_ms, size)
        return batch

    def extend_lock(self, job_id: str, token: int, lease_ms: int) -> None:
        """A heartbeat: the lease runs until now + `lease_ms` (script `extend_lock`, native `EMQ.EXTEND`).

        With a current token it *puts* the id into active, wherever else it is: see `violations`.
        Raises `JobGone` or `StaleToken`.
        """
        guards.job_id(job_id)
        guards.integer(token, "token")
        guards.lease(lease_ms)
        self._run(machine.extend_lock, job_id, token, lease_ms)

    def extend_locks(self, held: Iterable[tuple[str, int]], lease_ms: int) -> list[str]:
        """Heartbeats for pairs of id and token, with one deadline (script `extend_locks`).

        Gives the ids that could not be extended, in order. One ill-formed pair refuses the whole call.
        """
        checked = guards.pairs(held, "held", "id and token")
        for job_id, token in checked:
            guards.job_id(job_id)
            guards.integer(token, "token")
        guards.lease(lease_ms)
        lost: list[str] = self._run(machine.extend_locks, checked, lease_ms)
        return lost

    # Settling a claim.

    def complete(self, job_id: str, token: int) -> None:
        """The job is done: its row goes (script `complete`, native `EMQ.COMPLETE`).

        Raises `JobGone` or `StaleToken`.
        """
        guards.job_id(job_id)
        guards.integer(token, "token")
        self._run(machine.complete, job_id, token)

    def retry(self, job_id: str, token: int, delay_ms: int, max_attempts: int, error: str | bytes) -> Verdict:
        """The job failed (script `retry`, native `EMQ.RETRY`): `SCHEDULED`, parked for `delay_ms`, or `DEAD`,
        buried since `attempts` has reached `max_attempts`. Any integer goes for both numbers.

        Raises `StaleToken`, where the row is missing too.
        """
        guards.job_id(job_id)
        guards.integer(token, "token")
        guards.integer(delay_ms, "delay_ms")
        guards.integer(max_attempts, "max_attempts")
        octets = guards.octets(error, "error")
        verdict: Verdict = self._run(machine.retry, job_id, token, delay_ms, max_attempts, octets)
        return verdict

    def delay(self, job_id: str, token: int, delay_ms: int) -> None:
        """Run the job again in `delay_ms`, any integer; no failure is counted (script `delay`, mode `in`).

        Raises `WrongKind`, `JobGone` or `StaleToken`.
        """
        guards.integer(delay_ms, "delay_ms")
        self._delay(job_id, token, "in", delay_ms)

    def delay_until(self, job_id: str, token: int, run_at_ms: int) -> None:
        """Run the job again at `run_at_ms` (script `delay`, mode `at`); raises as `delay` does."""
        guards.integer(run_at_ms, "run_at_ms")
        self._delay(job_id, token, "at", run_at_ms)

    def _delay(self, job_id: str, token: int, mode: str, value: int) -> None:
        guards.job_id(job_id)
        guards.integer(token, "token")
        self._run(machine.delay, job_id, token, mode, value)

    # What a client has to do now and then.

    def promote(self, batch: int) -> int:
        """Hand over up to `batch` scheduled jobs that are due; gives how many (script `promote`)."""
        guards.count(batch, "batch")
        promoted: int = self._run(machine.promote, batch)
        return promoted

    def reap(self) -> int:
        """Give back up to 100 jobs whose leases lapsed; gives how many (script `reap`)."""
        reaped: int = self._run(machine.reap)
        return reaped

    def sweep_stalled(self, max_stalled: int = 1, limit: int = 100) -> Sweep:
        """Give back or bury up to `limit` jobs whose leases lapsed: a job that stalls for the
        `max_stalled`-th time is buried, any integer (script `sweep_stalled`, native `EMQ.STALLED`)."""
        guards.integer(max_stalled, "max_stalled")
        guards.count(limit, "limit")
        swept: Sweep = self._run(machine.sweep_stalled, max_stalled, limit)
        return swept

    # Operators.

    def reprocess_job(self, job_id: str) -> None:
        """Bring a dead job back to pending (script `reprocess`, native `EMQ.REPROCESS`).

        Raises `JobGone` or `NotDead`.
        """
        guards.job_id(job_id)
        self._run(machine.reprocess, job_id)

    def pause(self) -> None:
        """No more claims until `resume` (script `queue_pause`)."""
        self._run(machine.queue_pause)

    def resume(self) -> None:
        """Claims again (script `queue_resume`)."""
        self._run(machine.queue_resume)

    @property
    def paused(self) -> bool:
        """Whether the queue is paused."""
        paused: bool = self._run(machine.is_paused)
        return paused

    def drain(self, include_schedule: bool = False) -> int:
        """Delete every pending job, scheduled ones too if asked; gives how many (script `drain`)."""
        guards.flag(include_schedule, "include_schedule")
        drained: int = self._run(machine.drain, ("schedule",) if include_schedule else ())
        return drained

    def obliterate(self, force: bool = False, budget: int = 1000) -> bool:
        """Delete a paused queue, `budget` jobs a call (script `obliterate`): True when all is gone, False
        when the budget was spent (call again). `force` deletes leased jobs too.

        Raises `NotPaused` or `ActiveJobs`.
        """
        guards.flag(force, "force")
        guards.count(budget, "budget")
        done: bool = self._run(machine.obliterate, "force" if force else "", budget)
        return done

    def update_data(self, job_id: str, payload: str | bytes) -> None:
        """Replace the payload (script `update_data`); raises `JobGone`."""
        guards.job_id(job_id)
        self._run(machine.update_data, job_id, guards.octets(payload, "payload"))

    def update_progress(self, job_id: str, progress: str | bytes) -> None:
        """Note progress and publish it (script `update_progress`); raises `JobGone`."""
        guards.job_id(job_id)
        self._run(machine.update_progress, job_id, guards.octets(progress, "progress"))

    def add_log(self, job_id: str, line: str | bytes, keep: int = 0) -> int:
        """Append a log line and keep the last `keep`, all for 0; gives how many there are (script `add_log`).

        Raises `JobGone`.
        """
        guards.job_id(job_id)
        octets = guards.octets(line, "line")
        guards.count(keep, "keep", 0)
        kept: int = self._run(machine.add_log, job_id, octets, keep)
        return kept

    def get_job_logs(self, job_id: str) -> list[bytes]:
        """The log lines, oldest first; raises `JobGone` where there is no row."""
        guards.job_id(job_id)
        lines: list[bytes] = self._run(machine.get_job_logs, job_id)
        return lines

    def remove_job(self, job_id: str, dedup_id: str | None = None) -> None:
        """Delete a job, wherever it is, and its dedup key if one is named (script `remove_job`).

        Raises `JobGone` or `JobLocked`.
        """
        guards.job_id(job_id)
        if dedup_id is not None:
            guards.text(dedup_id, "dedup_id")
        self._run(machine.remove_job, job_id, dedup_id or "")

    # Reads.

    def browse(self, n: int) -> list[str]:
        """The `n` newest pending ids, newest first (ZRANGE … BYLEX REV)."""
        guards.count(n, "n")
        ids: list[str] = self._run(machine.browse, n)
        return ids

    def pending_size(self) -> int:
        """How many jobs wait (ZCARD)."""
        size: int = self._run(machine.pending_size)
        return size

    def get_counts(self, *states: str) -> dict[str, int]:
        """How many jobs for each name of `pending active schedule dead completed failed`.

        Raises `ValueError` for a name that is none of them.
        """
        for state in states:
            guards.choice(state, "states", COUNTED)
        counts = self._run(machine.get_counts) if states else {}
        return {state: counts[state] for state in states}

    def get_job(self, job_id: str) -> dict[str, bytes] | None:
        """The row, or `None` (HGETALL)."""
        guards.job_id(job_id)
        row: dict[str, bytes] | None = self._run(machine.get_job, job_id)
        return row

    def get_job_state(self, job_id: str) -> str:
        """The first of `pending active scheduled dead` that holds the id; where none does, `unknown` for a
        row with a state, `awaiting_children` for that state, `absent` without one."""
        guards.job_id(job_id)
        state: str = self._run(machine.get_job_state, job_id)
        return state

    def get_metrics(self, which: str) -> int:
        """The counter `completed` or `failed`; raises `ValueError` for another name."""
        guards.choice(which, "which", COUNTERS)
        count: int = self._run(machine.get_metrics, which)
        return count

    def is_maxed(self) -> bool:
        """Whether as many jobs are leased as `concurrency` allows (script `is_maxed`)."""
        try:
            maxed: bool = self._run(machine.is_maxed)
        except AtCeiling:
            return True
        return maxed

    def get_deduplication_job_id(self, dedup_id: str) -> str | None:
        """The job id parked under a dedup id, or `None` (GET)."""
        guards.text(dedup_id, "dedup_id")
        job_id: str | None = self._run(machine.get_deduplication_job_id, dedup_id)
        return job_id

    # What happened, for tests.

    @cached_property
    def _calls(self) -> Calls:
        from emqsim.history import Calls

        return Calls(self)

    def _keep_history(self) -> None:
        from emqsim.history import History

        self._kept = History(self._watch(), self._now_us)
        self._calls.tell(self._kept)

    def history(self, job_id: str) -> Timeline:
        """Everything that happened to a job, oldest first: a list of events, each with its time, call, answer,
        token and the sets left and entered; as text (`str`), a line each.

        Raises `ValueError` where the queue was not made with `history=True`.
        """
        guards.job_id(job_id)
        return self._kept_history().of(job_id)

    def histories(self) -> list[Timeline]:
        """What happened to every job, a timeline each, in the order of their first events; raises as `history`."""
        kept = self._kept_history()
        return [kept.of(job_id) for job_id in kept.job_ids()]

    def _kept_history(self) -> History:
        if self._kept is None:
            raise ValueError(f"no history is kept of queue {self._name!r}: make it with history=True")
        return self._kept

    def recording(self) -> Recording:
        """Listen for the length of a block: `with queue.recording() as seen:` gives what was `enqueued`,
        `claimed` and `settled` in it, and `seen.save(path)` writes its calls as a trace."""
        from emqsim.history import Recording

        return Recording(self)

    # The state, for tests.

    @property
    def pending(self) -> list[tuple[str, float]]:
        """The set of waiting ids with their scores, which are 0."""
        return self._set("pending")

    @property
    def active(self) -> list[tuple[str, float]]:
        """The set of leased ids with the deadlines of their leases."""
        return self._set("active")

    @property
    def scheduled(self) -> list[tuple[str, float]]:
        """The set of parked ids with the times when they fall due."""
        return self._set("schedule")

    @property
    def dead(self) -> list[tuple[str, float]]:
        """The morgue, with scores, which are 0."""
        return self._set("dead")

    def _set(self, which: str) -> list[tuple[str, float]]:
        members: list[tuple[str, float]] = self._run(machine.read_set, which)
        return members

    @property
    def rows(self) -> Mapping[str, Mapping[str, bytes]]:
        """Every row by id, read-only, as they are now."""
        snapshot, prefix = self.snapshot(), self._keys.job_prefix
        return MappingProxyType(
            {
                key.removeprefix(prefix): MappingProxyType(value)
                for key, value in snapshot.items()
                if key.startswith(prefix) and isinstance(value, dict)
            }
        )

    def violations(self) -> list[Violation]:
        """The broken invariants of the state, each with its name and the ids; empty when all is well."""
        return violations(self.snapshot(), self._keys)

    # Writes by somebody outside, for tests.

    def drop_row(self, job_id: str) -> None:
        """The row vanishes, the sets stay: an eviction, an operator's DEL."""
        guards.job_id(job_id)
        self._run(machine.drop_row, job_id)

    def drop_member(self, which: str, job_id: str) -> None:
        """The entry in a set (`pending active schedule dead`) vanishes, the row stays."""
        guards.choice(which, "which", SETS)
        guards.job_id(job_id)
        self._run(machine.drop_member, which, job_id)

    def hold_lock(self, job_id: str) -> None:
        """Somebody outside marks the job as locked; `remove_job` refuses it from then on."""
        guards.job_id(job_id)
        self._run(machine.hold_lock, job_id)

    def lock_row(self, job_id: str) -> None:
        """Somebody outside marks the job as locked by a field `lock` in its row; `remove_job` refuses it as well."""
        guards.job_id(job_id)
        self._run(machine.lock_row, job_id, "lock")

    def park_dedup(self, job_id: str, dedup_id: str) -> None:
        """A producer parks the job id under its idempotency key."""
        guards.job_id(job_id)
        guards.text(dedup_id, "dedup_id")
        self._run(machine.park_dedup, job_id, dedup_id)

    def configure(self, concurrency: int | None = None, rate_max: int | None = None) -> None:
        """Set the limits `concurrency` and `max` in meta; `None` leaves one alone."""
        limits = {"concurrency": concurrency, "rate_max": rate_max}
        given = {name: value for name, value in limits.items() if value is not None}
        for name, value in given.items():
            guards.integer(value, name)
        for name, value in given.items():
            self._run(machine.configure, "max" if name == "rate_max" else name, value)
