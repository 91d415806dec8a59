"""The shortest program that leads somewhere: made again on a fresh queue, with times that people can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emqsim.clock import VirtualClock
from emqsim.explore.clients import TIME, Call
from emqsim.explore.space import UNIT
from emqsim.queue import Queue
from emqsim.trace import Program, Step, perform

LEASE_MS = 60_000
"""How far a deadline lies behind the one before it, where nothing has to come between them."""


def replayed(explored: Queue, path: Sequence[Call], note: str, *, hangs: bool = False) -> Program:
    """The program of a path, as a trace with its answers; where the last call hangs, it is not made."""
    queue = Queue(explored.name, clock=VirtualClock(), dialect=explored.dialect, rules=explored.rules)
    program = Program(queue=queue.name, dialect=queue.dialect, note=note)
    for left, call in zip(range(len(path))[::-1], path, strict=True):
        ahead = _to_come(queue)
        if call.method == TIME:
            queue.clock.set(now_ms=ahead[0])
            continue
        args = list(call.args)
        if call.term is not None:
            earlier = [queue.clock.now_ms, *ahead][args[call.term] // UNIT]
            later = min((at for at in ahead if at > earlier), default=earlier + 2 * LEASE_MS)
            args[call.term] = (earlier + later) // 2 - queue.clock.now_ms
        answer = None if hangs and not left else perform(queue, call.method, args)
        program.steps.append(Step(queue.clock.now_us, call.method, tuple(args), answer))
    return program


def _to_come(queue: Queue) -> list[int]:
    """The deadlines that have not passed, in order."""
    deadlines = {int(at) for members in (queue.active, queue.scheduled) for _, at in members}
    return sorted(at for at in deadlines if at > queue.clock.now_ms)


def shown(program: Program) -> Iterator[str]:
    """The program for people, a step a line: how much time has passed, the call, the answer."""
    start = program.steps[0].now_us if program.steps else 0
    for step in program.steps:
        ((word, value),) = (step.answer or {"": "…"}).items()
        answer = f"refused: {value}" if word == "refused" else _answer(value)
        yield f"{(step.now_us - start) / 1e6:>6g} s  {step}  → {answer}"


def _answer(value: object) -> str:
    return "ok" if value is None else str(value)
