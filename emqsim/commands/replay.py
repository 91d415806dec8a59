"""`emqsim replay`: run a trace again, on the model, or on the model and a server, and compare."""

from __future__ import annotations

import argparse
import sys

from emqsim import trace
from emqsim.commands.options import server_options, server_settings
from emqsim.commands.status import CONFORMS, DIVERGES
from emqsim.dialect import Dialect
from emqsim.replay import model_difference
from emqsim.text.words import counted
from emqsim.trace import Program


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


def _server_difference(programs: list[Program], options: argparse.Namespace) -> tuple[str, list[str] | None]:
    """Which server the programs ran on beside the model, and the first difference, as lines."""
    from contextlib import ExitStack

    from emqsim.check.divergence import Stopped
    from emqsim.check.lockstep import Lockstep
    from emqsim.check.model_run import from_steps
    from emqsim.check.target import target
    from emqsim.check.text import divergence_text
    from emqsim.errors import OutcomeUnknown
    from emqsim.server import embedded_server
    from emqsim.sources import load_all

    scripts = load_all(options.scripts)
    with ExitStack() as stack:
        server = options.server
        if server == "embedded":
            server = stack.enter_context(embedded_server())
        for program in programs:
            place = stack.enter_context(target(server, name=program.queue, **server_settings(options)))
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
