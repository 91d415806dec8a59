"""`emqsim check`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys

from emqsim.check.run import EXAMPLES, STEPS, check
from emqsim.check.show import report_json, report_text
from emqsim.cli import CONFORMS, DIVERGES
from emqsim.dialect import Dialect
from emqsim.sources import load_scripts

FOLDER = ".emqsim"
"""Where divergences are saved, in the working directory."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--scripts",
        action="append",
        default=[],
        metavar="PATH",
        help="a .lua file named after its script, or a folder of them; may be given more than once",
    )
    parser.add_argument(
        "--dialect",
        choices=[Dialect.WIRE3, Dialect.WIRE4],
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
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")


def main(options: argparse.Namespace) -> int:
    """Run the check, print its report; 0 conforms, 1 diverges."""
    scripts: dict[str, str] = {}
    for path in options.scripts:
        scripts |= load_scripts(path)
    progress = _progress if sys.stderr.isatty() else None
    report = check(
        scripts=scripts,
        dialect=options.dialect,
        examples=options.examples,
        steps=options.steps,
        seed=options.seed,
        time_limit=options.time_limit,
        folder=FOLDER,
        progress=progress,
    )
    if progress:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(report_json(report), ensure_ascii=False))
    else:
        for line in report_text(report, _again(options, report.seed)):
            print(line)
    return CONFORMS if report.conforms else DIVERGES


def _progress(programs: int, steps: int) -> None:
    if programs % 20 == 0:
        print(f"\r{programs} programs, {steps} steps", end="", file=sys.stderr, flush=True)


def _again(options: argparse.Namespace, seed: int) -> str:
    """The command that makes the same run."""
    words = ["emqsim", "check"]
    for path in options.scripts:
        words += ["--scripts", path]
    if options.dialect:
        words += ["--dialect", options.dialect]
    for name, default in (("examples", EXAMPLES), ("steps", STEPS)):
        if getattr(options, name) != default:
            words += [f"--{name}", str(getattr(options, name))]
    return shlex.join([*words, "--seed", str(seed)])
