"""Assertions about a queue, in the words of the field. Each says what there was instead.

They take a `Queue` or a `ServerQueue`. A payload or a due time is given as a value, or as a predicate: a
function of the value that says whether it will do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emqsim import guards
from emqsim.base import BaseQueue
from emqsim.text import queues, times, values, words

_ANY: Any = object()
"""Stands for an argument that was not given."""

STATES = ("pending", "active", "scheduled", "dead", "awaiting_children", "unknown", "absent")
"""What `get_job_state` answers."""

Waiting = tuple[str, bytes | None, float | None]
"""A job that waits: id, payload, and when it falls due, `None` for a pending one."""


def assert_enqueued(
    queue: BaseQueue,
    *,
    payload: str | bytes | Callable[[bytes], object] = _ANY,
    due_ms: int | Callable[[int], object] | None = _ANY,
    job_id: str = _ANY,
) -> str:
    """Some job waits, pending or scheduled, that has all that is given; gives the id of the first.

    `payload` is the whole payload, `due_ms` the time when a scheduled job falls due, in Unix ms (`None`: it is
    pending, due at once). Either can be a predicate.
    """
    __tracebackhide__ = True
    wanted = _wanted(queue, payload, due_ms, job_id)
    waiting = _waiting(queue)
    for job in waiting:
        if _fits(job, payload, due_ms, job_id):
            return job[0]
    raise AssertionError(f"no job waits with {wanted} in {queue!r}{_listed('waiting', queue, waiting)}")


def refute_enqueued(
    queue: BaseQueue,
    *,
    payload: str | bytes | Callable[[bytes], object] = _ANY,
    due_ms: int | Callable[[int], object] | None = _ANY,
    job_id: str = _ANY,
) -> None:
    """No job waits, pending or scheduled, that has all that is given, as in `assert_enqueued`."""
    __tracebackhide__ = True
    wanted = _wanted(queue, payload, due_ms, job_id)
    found = [job for job in _waiting(queue) if _fits(job, payload, due_ms, job_id)]
    if found:
        raise AssertionError(f"jobs wait with {wanted} in {queue!r}{_listed('waiting', queue, found)}")


def assert_job(
    queue: BaseQueue,
    job_id: str,
    *,
    state: str = _ANY,
    attempts: int = _ANY,
    payload: str | bytes | Callable[[bytes], object] = _ANY,
    last_error: str | bytes | Callable[[bytes], object] = _ANY,
) -> None:
    """The job is as given. `state` is what `get_job_state` answers (a completed job is `absent`), `attempts` how
    often it was claimed; `payload` and `last_error` are values or predicates."""
    __tracebackhide__ = True
    _check_queue(queue)
    given = {"state": state, "attempts": attempts, "payload": payload, "last_error": last_error}
    given = {name: value for name, value in given.items() if value is not _ANY}
    if not given:
        raise TypeError("assert_job needs one of state, attempts, payload, last_error")
    if state is not _ANY:
        if state == "completed":
            raise ValueError("state must be 'absent' for a completed job, whose row is gone, not 'completed'")
        guards.choice(state, "state", STATES)
    if attempts is not _ANY:
        guards.integer(attempts, "attempts")
    row = queue.get_job(job_id) or {}
    found: dict[str, Any] = {name: row.get(name) for name in ("payload", "last_error")}
    found["state"] = queue.get_job_state(job_id)
    found["attempts"] = int(row["attempts"]) if "attempts" in row else None
    wrong = [name for name, value in given.items() if not _matches(found[name], value)]
    if wrong:
        told = "; ".join(f"{name} is {_shown(found[name])}, not {_shown(given[name])}" for name in wrong)
        raise AssertionError(f"{job_id} in {queue!r}: {told}{_story(queue, job_id)}")


def assert_empty(queue: BaseQueue) -> None:
    """No job is left: nothing in the four sets, and no row. Counters, limits and log lines may stay."""
    __tracebackhide__ = True
    _check_queue(queue)
    if queue.pending or queue.active or queue.scheduled or queue.dead or queue.rows:
        raise AssertionError(f"the queue is not empty:\n{queues.queue(queue)}")


def _check_queue(queue: Any) -> None:
    if not isinstance(queue, BaseQueue):
        raise TypeError(f"queue must be a Queue or a ServerQueue, not {queue!r}")


def _wanted(queue: Any, payload: Any, due_ms: Any, job_id: Any) -> str:
    """The conditions in words; raises for one that can be none."""
    _check_queue(queue)
    given = {"payload": payload, "due_ms": due_ms, "job_id": job_id}
    given = {name: value for name, value in given.items() if value is not _ANY}
    if not (callable(given.get("payload", b"")) or isinstance(given.get("payload", b""), (str, bytes))):
        raise TypeError(f"payload must be a str, bytes or a predicate, not {payload!r}")
    if given.get("due_ms") is not None and not callable(due_ms):
        guards.integer(due_ms, "due_ms")
    if "job_id" in given:
        guards.job_id(job_id)
    return " and ".join(f"{name} {_shown(value)}" for name, value in given.items()) or "any payload"


def _waiting(queue: BaseQueue) -> list[Waiting]:
    """The pending jobs, then the scheduled ones, each in the order of its set."""
    rows = queue.rows
    pending: list[Waiting] = [
        (job_id, rows.get(job_id, {}).get("payload"), None) for job_id, _ in queue.pending
    ]
    return pending + [(job_id, rows.get(job_id, {}).get("payload"), due) for job_id, due in queue.scheduled]


def _fits(job: Waiting, payload: Any, due_ms: Any, job_id: Any) -> bool:
    return (
        (job_id is _ANY or job[0] == job_id)
        and (payload is _ANY or _matches(job[1], payload))
        and (due_ms is _ANY or _matches(job[2], due_ms))
    )


def _matches(found: Any, wanted: Any) -> bool:
    """Whether a value is the one wanted, or passes the predicate; nothing passes one."""
    if callable(wanted):
        return found is not None and bool(wanted(found))
    if isinstance(wanted, str) and isinstance(found, bytes):
        wanted = wanted.encode()
    return bool(found == wanted)


def _shown(value: Any) -> str:
    if callable(value):
        return f"that passes {getattr(value, '__name__', repr(value))}"
    return values.value(value) if isinstance(value, bytes) else repr(value)


def _listed(word: str, queue: BaseQueue, jobs: list[Waiting]) -> str:
    if not jobs:
        return f"; none is {word}"
    now_ms = queue._now_us() // 1000
    lines = []
    for job_id, payload, due_ms in jobs:
        when = "" if due_ms is None else f", due_ms {due_ms:.0f}, {times.due(due_ms - now_ms)}"
        lines.append(f"  {job_id}  {values.value(payload)}{when}")
    return "\n".join([f"; {word}:", *words.cut(lines)])


def _story(queue: BaseQueue, job_id: str) -> str:
    """What happened to the job, where a history is kept."""
    return "" if queue._kept is None else f"\n{queue.history(job_id)}"
