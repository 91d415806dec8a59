"""`emqsim replay`: run a trace again, on the model, or on the model and a server, and compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from emqsim import Queue, VirtualClock, trace
from emqsim.cli import CONFORMS, DIVERGES
from emqsim.dialect import Dialect
from emqsim.server.errors import OutcomeUnknown
from emqsim.server.options import server_options, server_settings
from emqsim.trace import Program
from emqsim.words import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("trace", metavar="TRACE", help="a file of JSON lines, as emqsim check saves them")
    server_options(parser, default=None, otherwise="without it, on the model alone")
    parser.add_argument(
        "--scripts", action="append", default=[], metavar="PATH", help="as for emqsim check; for --server"
    )
    parser.add_argument(
        "--dialect",
        choices=list(Dialect),
        help="instead of the dialect that the trace names (wire6: model alone)",
    )


def main(options: argparse.Namespace) -> int:
    """Replay every program of the trace up to the first difference; 0 the same, 1 different."""
    programs, cut = trace.read(options.trace)
    if options.scripts and not options.server:
        raise ValueError("--scripts needs --server, where they would run")
    if options.server and Dialect.WIRE6 in {options.dialect or program.dialect for program in programs}:
        raise ValueError(
            "--server: dialect wire6 needs the server module; replay it on the model, or as wire4"
        )
    if cut:
        print(cut, file=sys.stderr)
    for program in programs:
        program.dialect = Dialect(options.dialect or program.dialect)
    where, different = (
        "the model",
        next(filter(None, (model_difference(p, options.trace) for p in programs)), None),
    )
    if different is None and options.server:
        where, different = _server_difference(programs, options)
    if different is not None:
        print("\n".join(different))
        return DIVERGES
    dialects = ", ".join(dict.fromkeys(program.dialect for program in programs))
    steps = sum(len(program.steps) for program in programs)
    whose = "" if not options.server else ", scripts given" if options.scripts else ", bundled scripts"
    print(
        f"SAME: {counted(len(programs), 'program')}, {counted(steps, 'step')} on {where}, {dialects}{whose}"
    )
    return CONFORMS


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


def _server_difference(programs: list[Program], options: argparse.Namespace) -> tuple[str, list[str] | None]:
    """Which server the programs ran on beside the model, and the first difference, as lines."""
    from emqsim.check.divergence import Stopped
    from emqsim.check.ground import ground
    from emqsim.check.lockstep import Lockstep
    from emqsim.check.play import from_steps
    from emqsim.check.show import divergence_text
    from emqsim.server import embedded_server
    from emqsim.sources import load_all

    scripts = load_all(options.scripts)
    with ExitStack() as stack:
        server = options.server
        if server == "embedded":
            server = stack.enter_context(embedded_server())
        for program in programs:
            place = stack.enter_context(ground(server, name=program.queue, **server_settings(options)))
            where = f"the model and {place.version}"
            lockstep = Lockstep(place, program.dialect, scripts)
            try:
                trial = lockstep.run(from_steps(program.steps))
                if trial.difference is not None:
                    return where, list(divergence_text(lockstep.explain(trial)))
            except Stopped as stopped:
                raise OutcomeUnknown(f"{stopped}; in step {len(stopped.program.steps)}") from None
            finally:
                lockstep.close()
    return where, None
