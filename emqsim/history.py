"""What happened to a queue: every call with its answer, and the sets that each job left and entered.

While somebody listens to a queue, it is of a subclass whose calls tell them; with nobody listening it is of its
own class, and a call costs what it did. `Recording` listens for the length of a block,
`History` for the life of a queue.

What a history costs on the model: each call that can change something takes several times as long, and every
event is kept. On a server the four sets are read before and after each such call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from emqsim import trace
from emqsim.errors import OutcomeUnknown, QueueError, ServerError
from emqsim.keys import SETS
from emqsim.machine import OUTSIDE, TRANSITIONS, Machine
from emqsim.replies import UnexpectedReply
from emqsim.results import Claimed, Verdict
from emqsim.text.events import timeline
from emqsim.trace import CALLS, Answer, Program, Step
from emqsim.zset import SortedSet

if TYPE_CHECKING:
    from emqsim.base import BaseQueue

OUTSIDER = "outside"
"""The `call` of an event that was none of this queue's calls: somebody else moved the job on the server."""

_WRITES = tuple(
    name
    for name in (*(method for row in TRANSITIONS.values() for method in row.methods), *OUTSIDE)
    if name in CALLS and name != "is_maxed"
)
"""The calls that can change something."""


class Change(NamedTuple):
    """What a call did to a job's place in one set; `None` for a score: not in the set."""

    which: str
    before: float | None
    after: float | None


Changes = Mapping[str, list[Change]]
"""By job id."""


class Listener(Protocol):
    """Somebody who is told of each call."""

    def before(self) -> None:
        """A call is about to be made."""

    def after(self, step: Step, value: Any) -> None:
        """A call was answered: with a value, or refused, as the step has it."""


class Calls:
    """Who listens to the calls on one queue. While anybody does, the queue is of a class whose calls tell them."""

    def __init__(self, queue: BaseQueue) -> None:
        self._queue = queue
        self._silent = type(queue)
        self.listeners: list[Listener] = []

    def tell(self, listener: Listener) -> None:
        """From now on, tell `listener` too."""
        self.listeners.append(listener)
        self._queue.__class__ = _telling(self._silent)

    def leave(self, listener: Listener) -> None:
        """Tell `listener` no more."""
        self.listeners.remove(listener)
        if not self.listeners:
            self._queue.__class__ = self._silent


@cache
def _telling(silent: type[BaseQueue]) -> type[BaseQueue]:
    """The class with every call that can change something told to the listeners."""
    return type(silent.__name__, (silent,), {name: _told(name, getattr(silent, name)) for name in _WRITES})


def _told(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with the listeners told. A bad argument is no call: nothing was read or changed."""

    @wraps(method)
    def told(queue: BaseQueue, *args: Any, **named: Any) -> Any:
        args = tuple(map(_held, args))
        named = {word: _held(arg) for word, arg in named.items()}
        listeners = queue._calls.listeners
        now_us = queue._now_us()
        for listener in listeners:
            listener.before()
        value, answer = None, None
        try:
            value = method(queue, *args, **named)
            answer = trace.answered(name, value)
        except QueueError as refused:
            answer = trace.refusal(refused)
            raise
        except (ServerError, UnexpectedReply, OutcomeUnknown) as failed:
            answer = {"error": str(failed)}
            raise
        finally:
            if answer is not None:
                step = Step(now_us, name, _by_position(name, args, named), answer)
                for listener in listeners:
                    listener.after(step, value)
        return value

    return told


def _held(arg: Any) -> Any:
    """An argument that can be read twice, and that nobody changes later."""
    return list(arg) if isinstance(arg, (Iterator, list)) else arg


def _by_position(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    if not named:
        return args
    bound = CALLS[name].bind(None, *args, **named)
    bound.apply_defaults()
    return bound.args[1:]


# Which jobs a call moved.


class Watch(Protocol):
    """Tells which jobs changed their places in the four sets."""

    def outside(self) -> Changes:
        """What somebody else changed since the last call."""

    def inside(self) -> Changes:
        """What the call changed."""

    def holding(self, job_id: str) -> tuple[str, ...]:
        """The sets that hold the job now."""


class _NotedSet(SortedSet):
    """A sorted set that notes the score each member had before it was first touched."""

    __slots__ = ("touched",)

    def __init__(self, members: SortedSet) -> None:
        twin = members.copy()
        self._scores, self._order = twin._scores, twin._order
        self.touched: dict[str, float | None] = {}

    def add(self, member: str, score: float) -> None:
        self.touched.setdefault(member, self.score(member))
        super().add(member, score)

    def remove(self, member: str) -> bool:
        self.touched.setdefault(member, self.score(member))
        return super().remove(member)

    def pop_min(self) -> str:
        score, member = next(iter(self))
        self.touched.setdefault(member, score)
        return super().pop_min()

    def pop_due(self, now: float, limit: int) -> list[str]:
        for member in self.due(now, limit):
            self.touched.setdefault(member, self.score(member))
        return super().pop_due(now, limit)

    def clear(self) -> None:
        for score, member in self:
            self.touched.setdefault(member, score)
        super().clear()


class MachineWatch:
    """A watch on the model: its sets note what is done to them."""

    def __init__(self, machine: Machine) -> None:
        self._sets = {which: _NotedSet(members) for which, members in machine.sets.items()}
        machine.sets = {**self._sets}
        machine.pending, machine.active = machine.sets["pending"], machine.sets["active"]

    def outside(self) -> Changes:
        return {}

    def inside(self) -> Changes:
        changes: dict[str, list[Change]] = {}
        for which, members in self._sets.items():
            if members.touched:
                for job_id, before in members.touched.items():
                    after = members.score(job_id)
                    if before != after:
                        changes.setdefault(job_id, []).append(Change(which, before, after))
                members.touched.clear()
        return changes

    def holding(self, job_id: str) -> tuple[str, ...]:
        return tuple(which for which, members in self._sets.items() if job_id in members)


class ReadingWatch:
    """A watch on a queue that others can change: it reads the four sets before and after each call."""

    def __init__(self, read: Callable[[], dict[str, dict[str, float]]]) -> None:
        self._read = read
        self._seen = read()

    def outside(self) -> Changes:
        return self.inside()

    def inside(self) -> Changes:
        seen, self._seen = self._seen, self._read()
        changes: dict[str, list[Change]] = {}
        for which in SETS:
            before, after = seen[which], self._seen[which]
            for job_id in sorted({*before, *after}):
                if before.get(job_id) != after.get(job_id):
                    change = Change(which, before.get(job_id), after.get(job_id))
                    changes.setdefault(job_id, []).append(change)
        return changes

    def holding(self, job_id: str) -> tuple[str, ...]:
        return tuple(which for which, members in self._seen.items() if job_id in members)


# The history of a job.


class Event(NamedTuple):
    """One thing that happened to one job."""

    job_id: str
    now_us: int
    """The time of the call, Unix microseconds."""
    call: str
    """The method of the queue, or `outside`."""
    args: tuple[Any, ...]
    answer: Answer
    """As a trace has it: `{"ok": …}`, `{"refused": …}` or `{"error": …}`."""
    token: int | None
    """The fencing token that the call gave out or was made with."""
    changes: tuple[Change, ...]
    held_by: tuple[str, ...]
    """The sets that hold the job afterwards."""
    number: int
    """Which of the queue's calls it was, from 1; the same for every job that one call concerns."""

    @property
    def now_ms(self) -> int:
        """The time of the call, Unix milliseconds."""
        return self.now_us // 1000

    @property
    def named(self) -> dict[str, Any] | None:
        """The arguments by name; `None` where it was none of this queue's calls."""
        if self.call == OUTSIDER:
            return None
        return arguments(Step(self.now_us, self.call, self.args))

    @property
    def left(self) -> tuple[str, ...]:
        """The sets that the job left."""
        return tuple(change.which for change in self.changes if change.after is None)

    @property
    def entered(self) -> tuple[str, ...]:
        """The sets that the job entered."""
        return tuple(change.which for change in self.changes if change.before is None)


class Timeline(list[Event]):
    """The events of a job, oldest first; as text, a line each."""

    def __str__(self) -> str:
        return timeline(self)


class History:
    """Every event of every job of a queue, from now on."""

    def __init__(self, watch: Watch, now_us: Callable[[], int]) -> None:
        self._watch = watch
        self._now_us = now_us
        self._events: dict[str, list[Event]] = {}
        self._number = 0

    def of(self, job_id: str) -> Timeline:
        """The events of one job; none for one that is not known."""
        return Timeline(self._events.get(job_id, ()))

    def job_ids(self) -> list[str]:
        """The jobs that something happened to, in the order of their first events."""
        return list(self._events)

    def before(self) -> None:
        self._somebody_else()

    def after(self, step: Step, value: Any) -> None:
        changes = self._watch.inside()
        self._number += 1
        tokens = _tokens(step, value)
        for job_id in dict.fromkeys((*tokens, *changes)):
            answer = _answer(step, job_id)
            self._enter(step.now_us, step.call, step.args, answer, job_id, tokens.get(job_id), changes)

    def _somebody_else(self) -> None:
        changes = self._watch.outside()
        self._number += bool(changes)
        for job_id in changes:
            self._enter(self._now_us(), OUTSIDER, (), {"ok": None}, job_id, None, changes)

    def _enter(
        self,
        now_us: int,
        call: str,
        args: tuple[Any, ...],
        answer: Answer,
        job_id: str,
        token: int | None,
        changes: Changes,
    ) -> None:
        moved, held_by = tuple(changes.get(job_id, ())), self._watch.holding(job_id)
        event = Event(job_id, now_us, call, args, answer, token, moved, held_by, self._number)
        self._events.setdefault(job_id, []).append(event)


_NAMES = {call: tuple(signature.parameters)[1:] for call, signature in CALLS.items()}


def arguments(step: Step) -> dict[str, Any]:
    """The arguments of a step by name."""
    return dict(zip(_NAMES[step.call], step.args, strict=False))


def _tokens(step: Step, value: Any) -> dict[str, int | None]:
    """The jobs that a call names or serves, each with its token."""
    named = arguments(step)
    if "held" in named:
        return dict(named["held"])
    if "pairs" in named:
        return dict.fromkeys(job_id for job_id, _ in named["pairs"])
    if "job_id" in named:
        return {named["job_id"]: named.get("token")}
    return {job.job_id: job.token for job in _claims(value)}


def _claims(value: Any) -> list[Claimed]:
    each = value if isinstance(value, list) else [value]
    return [job for job in each if isinstance(job, Claimed)]


def _answer(step: Step, job_id: str) -> Answer:
    """The answer to one job of `enqueue_many`, or the whole answer."""
    assert step.answer is not None
    if step.call == "enqueue_many" and "ok" in step.answer:
        for (each, _), outcome in zip(arguments(step)["pairs"], step.answer["ok"], strict=True):
            if each == job_id:
                return outcome if isinstance(outcome, dict) else {"ok": outcome}
    return step.answer


# A block of calls.


class Enqueued(NamedTuple):
    """A job that was admitted."""

    job_id: str
    payload: bytes
    due_ms: int | None
    """When it falls due, Unix ms; `None` where it was enqueued at once."""


class Settled(NamedTuple):
    """A claim that was settled."""

    job_id: str
    token: int
    outcome: str
    """`completed`, `scheduled` or `dead` (by retry), or `delayed`."""


class Recording:
    """The calls on a queue inside a block; made by `queue.recording()`."""

    def __init__(self, queue: BaseQueue) -> None:
        self._queue = queue
        self._note = ""
        self.steps: list[Step] = []
        """The calls that can change something, as a trace has them."""
        self.enqueued: list[Enqueued] = []
        """The jobs that were admitted; no duplicates."""
        self.claimed: list[Claimed] = []
        """The claims that were served."""
        self.settled: list[Settled] = []
        """The claims that were completed, retried, buried or delayed."""

    def __enter__(self) -> Recording:
        if any(self._queue._set(which) for which in SETS):
            self._note = "recorded on a queue that was not empty when it began"
        self._queue._calls.tell(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._queue._calls.leave(self)

    def before(self) -> None:
        """Nothing to prepare."""

    def after(self, step: Step, value: Any) -> None:
        self.steps.append(step)
        named = arguments(step)
        self.claimed += _claims(value)
        if step.call.startswith("enqueue"):
            self._admissions(step, named, value)
        elif "ok" in (step.answer or {}) and step.call in _SETTLES:
            outcome = str(value) if step.call == "retry" else _SETTLES[step.call]
            self.settled.append(Settled(named["job_id"], named["token"], outcome))

    def _admissions(self, step: Step, named: dict[str, Any], value: Any) -> None:
        many = step.call == "enqueue_many"
        pairs = named["pairs"] if many else [(named["job_id"], named["payload"])]
        due_ms = named.get("run_at_ms")
        if "delay_ms" in named:
            due_ms = step.now_us // 1000 + named["delay_ms"]
        for (job_id, payload), verdict in zip(pairs, value if many else [value], strict=False):
            if verdict in (Verdict.ENQUEUED, Verdict.SCHEDULED):
                octets = payload.encode() if isinstance(payload, str) else payload
                self.enqueued.append(Enqueued(job_id, octets, due_ms))

    def program(self) -> Program:
        """The calls as the program of a trace, which starts from an empty queue; where this one was not empty,
        the note says so."""
        return Program(self.steps, self._queue.name, self._queue.dialect, self._note)

    def save(self, path: str | Path) -> None:
        """Write the calls as a trace file, with their times and answers."""
        trace.write(path, [self.program()])

    def __repr__(self) -> str:
        return (
            f"<Recording of {self._queue.name!r}: {len(self.steps)} calls, {len(self.enqueued)} enqueued, "
            f"{len(self.claimed)} claimed, {len(self.settled)} settled>"
        )


_SETTLES = {"complete": "completed", "retry": "", "delay": "delayed", "delay_until": "delayed"}
