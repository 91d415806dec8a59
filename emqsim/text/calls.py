"""A call, its answer and its time in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol


class Made(Protocol):
    """A call that was made: a step of a trace."""

    @property
    def now_us(self) -> int: ...
    @property
    def call(self) -> str: ...
    @property
    def args(self) -> tuple[Any, ...]: ...
    @property
    def answer(self) -> Mapping[str, Any] | None: ...


def call_text(call: str, args: Sequence[Any]) -> str:
    """A call as people write it."""
    return f"{call}({', '.join(map(argument_text, args))})"


def argument_text(value: Any) -> str:
    """An argument as people write it: text where bytes are text."""
    if isinstance(value, bytes):
        try:
            return repr(value.decode())
        except UnicodeDecodeError:
            return repr(value)
    if isinstance(value, (list, tuple)) and len(value) > 6:
        return f"[{argument_text(value[0])}, … {len(value)} in all … {argument_text(value[-1])}]"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(argument_text, value))}]"
    return repr(value)


def program_text(steps: Sequence[Made]) -> Iterator[str]:
    """Steps, numbered, with the time since the first and the model's answers."""
    if not steps:
        return
    start = steps[0].now_us
    times = [time_text(step.now_us - start) for step in steps]
    width = max(map(len, times))
    texts = [call_text(step.call, step.args) for step in steps]
    calls = min(max(map(len, texts)), 72)
    for number, (step, when, text) in enumerate(zip(steps, times, texts, strict=True), 1):
        answer = "" if step.answer is None else answer_text(step.answer)
        yield f"  {number:3}  {when:>{width}}  {text:{calls}}  {answer}".rstrip()


def time_text(us: int) -> str:
    """Microseconds as milliseconds: `+10 ms`, `-0.001 ms`."""
    ms = f"{us / 1000:+.3f}".rstrip("0").rstrip(".") if us % 1000 else f"{us // 1000:+d}"
    return f"{ms} ms"


def answer_text(answer: Mapping[str, Any]) -> str:
    """An answer of a trace in one line."""
    ((kind, value),) = answer.items()
    if kind == "ok":
        return "ok" if value is None else json.dumps(value, ensure_ascii=False)
    return f"{kind}: {value}"
