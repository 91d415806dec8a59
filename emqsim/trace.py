"""Traces: programs of calls with their times and answers, as JSON lines.

A file holds one program or more. A program is a line that heads it and a line a step:

    {"emqsim": "trace", "version": 1, "queue": "q", "dialect": "wire4"}
    {"now_us": 1704067200000000, "call": "enqueue", "args": ["JOB00000000000", "hi"], "answer": {"ok": "enqueued"}}
    {"now_us": 1704067200000000, "call": "complete", "args": ["JOB00000000001", 1], "answer": {"refused": "gone"}}

The head may have a `note`, free text. A step's time is the server's clock in microseconds. `call` and `args` are
a method of `emqsim.Queue` and its arguments by position. `answer` is one of

    {"ok": value}        a claim is [id, payload, token] or null, a sweep [recovered, dead], obliterate "done" or "more"
    {"refused": text}    the server's error text, or "gone" where the server answers with a number
    {"error": text}      the server failed in a way that the machine never does

and may be left out. `changed`, which may be left out too, holds the keys whose values changed in this step, with
the new value, or null where the key is gone. Bytes are text, or {"base64": …} where they are not UTF-8.
"""

from __future__ import annotations

import inspect
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emqsim import guards
from emqsim.base import BaseQueue
from emqsim.dialect import Dialect
from emqsim.errors import QueueError, ServerError
from emqsim.keys import Keys
from emqsim.machine import OUTSIDE, READS, TRANSITIONS
from emqsim.replies import UnexpectedReply
from emqsim.text.calls import call_text, program_text

VERSION = 1

Answer = dict[str, Any]
"""A JSON object with one of `ok`, `refused`, `error`."""


class TraceError(ValueError):
    """A trace that cannot be read; the message names the file and the line."""


@dataclass
class Step:
    """One call at one time. `answer` is what was answered, if that was written down."""

    now_us: int
    call: str
    args: tuple[Any, ...]
    answer: Answer | None = None
    changed: dict[str, Any] | None = None
    line: int = 0
    """The line in the file it was read from, or 0."""

    def __str__(self) -> str:
        return call_text(self.call, self.args)


@dataclass
class Program:
    """Calls on one queue that starts empty."""

    steps: list[Step] = field(default_factory=list)
    queue: str = "q"
    dialect: Dialect = Dialect.WIRE4
    note: str = ""

    def __str__(self) -> str:
        return "\n".join(program_text(self.steps))


def _calls() -> Iterator[tuple[str, inspect.Signature]]:
    transitions = (method for row in TRANSITIONS.values() for method in row.methods)
    for name in (*transitions, *READS, *OUTSIDE):
        method = getattr(BaseQueue, name, None)
        if callable(method):
            yield name, inspect.signature(method)


CALLS: Mapping[str, inspect.Signature] = dict(_calls())
"""Every call that a trace can hold, with its signature (as a function of the queue)."""


def perform(queue: BaseQueue, call: str, args: Iterable[Any]) -> Answer:
    """Make a call on any queue and give its answer as a trace has it.

    A bad argument raises as it does in the call itself.
    """
    return answer_of(lambda: getattr(queue, call)(*args), call)


def answer_of(call: Callable[[], Any], name: str = "") -> Answer:
    """The answer of anything that answers, refuses or fails as a queue does; `name` is that of the call."""
    try:
        return answered(name, call())
    except QueueError as refused:
        return refusal(refused)
    except (ServerError, UnexpectedReply) as failed:
        return {"error": str(failed)}


def answered(name: str, value: Any) -> Answer:
    """What a call answered as a trace has it."""
    if name == "obliterate":
        return {"ok": "done" if value else "more"}
    return {"ok": plain(value)}


def refusal(refused: QueueError) -> Answer:
    """A refusal as a trace has it."""
    return {"refused": "gone" if refused.wire is None else refused.wire}


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": b64encode(value).decode()}
    if isinstance(value, bool) or value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, QueueError):
        return refusal(value)
    return [plain(each) for each in value]


def restored(value: Any) -> Any:
    """An argument from JSON as a call takes it: {"base64": …} is bytes, text stays text."""
    if isinstance(value, dict):
        if set(value) != {"base64"} or not isinstance(value["base64"], str):
            raise ValueError(f'an object that is not {{"base64": …}}: {value!r}')
        return b64decode(value["base64"], validate=True)
    if isinstance(value, list):
        return [restored(each) for each in value]
    return value


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The keys whose values differ between two snapshots, with the value after, as a trace has them."""
    return {
        key: plain(after.get(key)) for key in sorted({*before, *after}) if before.get(key) != after.get(key)
    }


def write(path: str | Path, programs: Iterable[Program]) -> None:
    """Write programs as a trace file."""
    with open(path, "w", encoding="utf-8") as file:
        for program in programs:
            for line in lines(program):
                file.write(line + "\n")


def lines(program: Program) -> Iterator[str]:
    """A program as the lines of a trace."""
    head = {"emqsim": "trace", "version": VERSION, "queue": program.queue, "dialect": str(program.dialect)}
    yield _json(head | ({"note": program.note} if program.note else {}))
    for step in program.steps:
        line: dict[str, Any] = {"now_us": step.now_us, "call": step.call, "args": plain(step.args)}
        if step.answer is not None:
            line["answer"] = step.answer
        if step.changed is not None:
            line["changed"] = step.changed
        yield _json(line)


def _json(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False, separators=(", ", ": "))


def read(path: str | Path) -> tuple[list[Program], str | None]:
    """The programs of a trace file, and a word about a last line that was cut off, if it was.

    Raises `TraceError` for anything it does not know, and `OSError`.
    """
    content = Path(path).read_bytes()
    whole, _, rest = content.rpartition(b"\n")
    cut = None
    programs: list[Program] = []
    numbered = list(enumerate(whole.split(b"\n") if whole else [], 1))
    if rest.strip():
        try:
            json.loads(rest)
            numbered.append((len(numbered) + 1, rest))
        except (ValueError, RecursionError):
            cut = f"{path}:{len(numbered) + 1}: cut off in the middle of the line; it is left out"
    for number, line in numbered:
        if line.strip():
            try:
                _line(json.loads(line, object_pairs_hook=_once), number, programs)
            except (ValueError, TypeError, RecursionError) as wrong:
                raise TraceError(f"{path}:{number}: {wrong}") from None
    if not programs:
        raise TraceError(f"{path}:1: not a trace: no head")
    return programs, cut


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which no name stands twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a name stands twice in one object: {[name for name, _ in pairs]!r}")
    return found


def _line(line: Any, number: int, programs: list[Program]) -> None:
    """Take one line of a trace: the head of a program, or a step of the last one."""
    if not isinstance(line, dict):
        raise ValueError(f"not a JSON object: {line!r}")
    if "emqsim" in line:
        programs.append(_head(line))
    elif not programs:
        raise ValueError("a step before the head of a program")
    else:
        programs[-1].steps.append(_step(line, number))


def _head(line: dict[str, Any]) -> Program:
    _known(line, ("emqsim", "version", "queue", "dialect"), ("note",))
    if line["emqsim"] != "trace":
        raise ValueError(f"emqsim must be 'trace', not {line['emqsim']!r}")
    if type(line["version"]) is not int or line["version"] != VERSION:
        raise ValueError(f"version must be {VERSION}, not {line['version']!r}")
    guards.choice(line["dialect"], "dialect", tuple(Dialect))
    Keys(line["queue"])
    note = line.get("note", "")
    guards.text(note, "note")
    return Program(queue=line["queue"], dialect=Dialect(line["dialect"]), note=note)


def _step(line: dict[str, Any], number: int) -> Step:
    _known(line, ("now_us", "call", "args"), ("answer", "changed"))
    guards.integer(line["now_us"], "now_us", 0)
    call, args, answer = line["call"], line["args"], line.get("answer")
    guards.choice(call, "call", tuple(CALLS))
    if not isinstance(args, list):
        raise ValueError(f"args must be a list, not {args!r}")
    CALLS[call].bind(None, *args)
    if answer is not None and not (
        isinstance(answer, dict) and len(answer) == 1 and {*answer} <= {"ok", "refused", "error"}
    ):
        raise ValueError(f"answer must be one of ok, refused, error, not {answer!r}")
    changed = line.get("changed")
    if changed is not None and not isinstance(changed, dict):
        raise ValueError(f"changed must be an object, not {changed!r}")
    return Step(line["now_us"], call, tuple(restored(args)), answer, changed, number)


def _known(line: dict[str, Any], needed: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    missing = [name for name in needed if name not in line]
    unknown = [name for name in line if name not in (*needed, *allowed)]
    if missing or unknown:
        raise ValueError(
            "; ".join(
                f"{what} {', '.join(names)}"
                for what, names in (("missing", missing), ("unknown", unknown))
                if names
            )
        )
