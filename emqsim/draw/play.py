"""A program played on the model, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from emqsim import trace
from emqsim.clock import VirtualClock
from emqsim.history import Event
from emqsim.queue import Queue
from emqsim.trace import Program, Step


def play(program: Program) -> Iterator[tuple[Step, list[Event], Queue]]:
    """Each step with the model's answer, what it did to each job it concerns, and the queue, which is the same
    one throughout.

    Raises `TraceError` for a call with arguments that every queue refuses.
    """
    queue = Queue(program.queue, clock=VirtualClock(), dialect=program.dialect, history=True)
    told: Counter[str] = Counter()
    for number, step in enumerate(program.steps, 1):
        try:
            queue.clock.set(now_us=step.now_us)
            answer = trace.perform(queue, step.call, step.args)
        except (ValueError, TypeError) as wrong:
            raise trace.TraceError(f"step {number}: {step.call}: {wrong}") from None
        news = [event for events in queue.histories() for event in events[told[events[0].job_id] :]]
        told.update(event.job_id for event in news)
        yield Step(step.now_us, step.call, step.args, answer), news, queue
