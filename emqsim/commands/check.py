"""`emqsim check`."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory

from emqsim.check.run import CLOCKS, EXAMPLES, STEPS, check
from emqsim.check.text import report_json, report_text
from emqsim.commands.options import server_options, server_settings
from emqsim.commands.status import CONFORMS, COULD_NOT, COULD_NOT_RUN, DIVERGES
from emqsim.dialect import Dialect
from emqsim.server.address import EMBEDDED, TIMEOUT_S, without_password
from emqsim.server.interrupts import uninterrupted
from emqsim.sources import load_all

HYPOTHESIS_FOLDER = "HYPOTHESIS_STORAGE_DIRECTORY"

FOLDER = ".emqsim"
"""Where divergences are saved, in the working directory."""


DEFAULTS = {
    "examples": EXAMPLES,
    "steps": STEPS,
    "clock": "virtual",
    "server": EMBEDDED,
    "timeout": TIMEOUT_S,
    "processes": 1,
}
"""Options that a run is made the same by, if they are not these."""

REACH_OF_OURS = (
    "on a server that is not ours: keys of queues named emqsim-… are written, and deleted at the end"
)
REACH = f"""{REACH_OF_OURS}
your scripts run there too: one that hard-codes the name of a key can write elsewhere, and no check can undo that"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--scripts",
        action="append",
        default=[],
        metavar="PATH",
        help="a .lua file named after its script, an Elixir source with Script.new(:name, …), or a folder of "
        "either; may be given more than once",
    )
    parser.add_argument(
        "--dialect",
        choices=[str(Dialect.WIRE3), str(Dialect.WIRE4)],
        help="default: wire3 where a script claim is given and no claim2, else wire4",
    )
    parser.add_argument(
        "--examples", type=int, default=EXAMPLES, metavar="N", help=f"programs (default {EXAMPLES})"
    )
    parser.add_argument(
        "--steps", type=int, default=STEPS, metavar="N", help=f"most steps in a program (default {STEPS})"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="makes a run the same again")
    parser.add_argument(
        "--time-limit", type=float, metavar="S", help="seconds after which no program is begun"
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        metavar="N",
        help="how many processes share the programs, each with a server or queues of its own (default 1)",
    )
    parser.add_argument(
        "--clock",
        choices=list(CLOCKS),
        default="virtual",
        help="virtual (default): scripts read a clock of ours; server: they run byte for byte on the server's time",
    )
    server_options(parser, default=EMBEDDED, otherwise=f"default {EMBEDDED}")
    parser.add_argument("--emit-test", metavar="FILE", help="write a divergence as a test for pytest")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")


def main(options: argparse.Namespace) -> int:
    """Run the check, print its report; 0 conforms, 1 diverges."""
    try:
        return _check(options)
    except COULD_NOT as failed:
        if options.json:
            print(
                json.dumps({"conforms": False, "failure": without_password(str(failed))}, ensure_ascii=False)
            )
        raise


def _check(options: argparse.Namespace) -> int:
    scripts = load_all(options.scripts)
    progress = _progress if sys.stderr.isatty() else None
    if options.server != EMBEDDED:
        print(REACH if scripts else REACH_OF_OURS, file=sys.stderr)
    with _scratch():
        report = check(
            server=options.server,
            scripts=scripts,
            dialect=options.dialect,
            examples=options.examples,
            steps=options.steps,
            seed=options.seed,
            time_limit=options.time_limit,
            folder=FOLDER,
            progress=progress,
            clock=options.clock,
            processes=options.processes,
            emit_test=options.emit_test,
            **server_settings(options),
        )
    if progress:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(report_json(report), ensure_ascii=False))
    else:
        for line in report_text(report, _again(options, report.seed), _replay(options)):
            print(line)
    if report.failure is not None:
        return COULD_NOT_RUN
    return CONFORMS if report.conforms else DIVERGES


@contextmanager
def _scratch() -> Iterator[None]:
    """Where Hypothesis may keep its notes, so that it leaves no folder in the working directory."""
    if HYPOTHESIS_FOLDER in os.environ:
        yield
        return
    with ExitStack() as undo:
        with uninterrupted():
            scratch = TemporaryDirectory(prefix="emqsim-", ignore_cleanup_errors=True)
            os.environ[HYPOTHESIS_FOLDER] = undo.enter_context(scratch)
            undo.callback(os.environ.pop, HYPOTHESIS_FOLDER)
        yield


def _progress(programs: int, steps: int) -> None:
    if programs % 20 == 0:
        print(f"\r{programs} programs, {steps} steps", end="", file=sys.stderr, flush=True)


def _replay(options: argparse.Namespace) -> str:
    """The command that replays a trace as this run did, but for the trace."""
    words = ["emqsim", "replay", "--server", without_password(str(options.server))]
    for path in options.scripts:
        words += ["--scripts", path]
    return shlex.join(words)


def _again(options: argparse.Namespace, seed: int) -> str:
    """The command that makes the same run."""
    words = ["emqsim", "check"]
    for path in options.scripts:
        words += ["--scripts", path]
    if options.dialect:
        words += ["--dialect", options.dialect]
    for name, default in DEFAULTS.items():
        if getattr(options, name) != default:
            words += [f"--{name}", without_password(str(getattr(options, name)))]
    if options.allow_non_empty:
        words.append("--allow-non-empty")
    return shlex.join([*words, "--seed", str(seed)])
