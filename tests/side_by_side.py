"""A program on the model and on a server, side by side."""

from __future__ import annotations

from emqsim import Queue, VirtualClock, trace
from emqsim.server import ServerQueue


def on_both(program: trace.Program, server, **more: object) -> None:  # type: ignore[no-untyped-def]
    """Run a program on the model and on a server; answers and keys have to be the same after each step."""
    clocks = VirtualClock(), VirtualClock()
    model = Queue(program.queue, clock=clocks[0], dialect=program.dialect)
    client = server.client()
    client.flushall()
    real = ServerQueue(program.queue, client, clock=clocks[1], dialect=program.dialect)
    for step in program.steps:
        for clock in clocks:
            clock.set(now_us=step.now_us)
        answers = [trace.perform(queue, step.call, step.args) for queue in (model, real)]
        assert answers == [step.answer, step.answer], step
        assert model.snapshot() == real.snapshot(), step
    real.close()
    client.close()
