"""`emqsim draw`: pictures and pages as files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from emqsim import trace
from emqsim.commands.status import CONFORMS
from emqsim.draw import lifecycle_map, map_page, stepper_page, timeline
from emqsim.trace import Program

SVG, HTML = ".svg", ".html"

ENDINGS = {"map": (SVG, HTML), "timeline": (SVG,), "stepper": (HTML,)}
"""What each subject is written as: a picture, or a page with buttons and keys."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "subject", choices=list(ENDINGS), help="the lifecycle map, or a trace over time or by steps"
    )
    parser.add_argument(
        "trace", nargs="?", metavar="TRACE", help="a file of JSON lines; for timeline and stepper"
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="map: .svg or .html; timeline: .svg; stepper: .html",
    )
    parser.add_argument("--move", metavar="NAME", help="the move that is lit on the map, for .svg")
    parser.add_argument("--program", type=int, default=1, metavar="N", help="which program of the trace (1)")


def main(options: argparse.Namespace) -> int:
    """Write one picture or page."""
    path = Path(options.output)
    if path.suffix not in ENDINGS[options.subject]:
        endings = " or ".join(ENDINGS[options.subject])
        raise ValueError(f"--output: a {options.subject} is written as {endings}, not {options.output!r}")
    if (options.trace is None) is not (options.subject == "map"):
        raise ValueError("TRACE: timeline and stepper need one, the map has none")
    if options.move is not None and (options.subject, path.suffix) != ("map", SVG):
        raise ValueError("--move: only a map that is written as .svg has a lit move")
    path.write_text(_drawn(options, path.suffix) + "\n", encoding="utf-8")
    return CONFORMS


def _drawn(options: argparse.Namespace, ending: str) -> str:
    if options.subject == "map":
        return map_page() if ending == HTML else lifecycle_map(options.move).svg
    program = _program(options.trace, options.program)
    return stepper_page(program) if options.subject == "stepper" else timeline(program).svg


def _program(path: str, number: int) -> Program:
    programs, cut = trace.read(path)
    if cut:
        print(cut, file=sys.stderr)
    if not 1 <= number <= len(programs):
        raise ValueError(f"--program must be within 1..{len(programs)}, not {number}")
    return programs[number - 1]
