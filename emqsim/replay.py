"""A trace run again on the model and compared with what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emqsim import trace
from emqsim.clock import VirtualClock
from emqsim.queue import Queue
from emqsim.trace import Program


def model_difference(program: Program, path: str) -> list[str] | None:
    """What the model does otherwise than the trace has it, as lines; `None` where it does the same.

    Raises `TraceError` for a call with arguments that every queue refuses.
    """
    queue = Queue(program.queue, clock=VirtualClock(), dialect=program.dialect)
    before = queue.snapshot()
    for number, step in enumerate(program.steps, 1):
        try:
            queue.clock.set(now_us=step.now_us)
            answer = trace.perform(queue, step.call, step.args)
        except (ValueError, TypeError) as wrong:
            raise trace.TraceError(f"{path}:{step.line}: {step.call}: {wrong}") from None
        where = f"{path}:{step.line}: step {number}, {step}"
        if step.answer is not None and step.answer != answer:
            return [where, f"  the trace  {step.answer}", f"  the model  {answer} ({program.dialect})"]
        if step.changed is not None:
            after = queue.snapshot()
            changed = trace.changes(before, after)
            before = after
            if changed != step.changed:
                return [where, *_changes(step.changed, changed)]
    return None


def _changes(recorded: dict[str, Any], changed: dict[str, Any]) -> Iterator[str]:
    for key in sorted({*recorded, *changed}):
        if recorded.get(key, ...) != changed.get(key, ...):
            yield f"  {key}"
            yield f"    the trace  {recorded.get(key, 'unchanged')}"
            yield f"    the model  {changed.get(key, 'unchanged')}"
