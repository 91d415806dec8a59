"""`emqsim explore`: the exploration from the command line."""

from __future__ import annotations

import argparse
import json
import math

from emqsim import trace
from emqsim.commands.status import CONFORMS, DIVERGES, INTERRUPTED
from emqsim.dialect import Dialect
from emqsim.explore.clients import Clients
from emqsim.explore.fixes import FIXES, fixed_rules
from emqsim.explore.graph import suffix
from emqsim.explore.search import CTRL_C, explore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many jobs (1)")
    parser.add_argument(
        "--max-claims", type=int, default=3, metavar="N", help="how often a job is claimed at most (3)"
    )
    parser.add_argument(
        "--max-attempts", type=int, default=3, metavar="N", help="max_attempts of every retry (3)"
    )
    parser.add_argument(
        "--dialect",
        choices=[str(each) for each in Dialect],
        default=Dialect.WIRE4,
        help="the dialect (wire4)",
    )
    parser.add_argument(
        "--clients",
        choices=[str(each) for each in Clients],
        default=Clients.FAITHFUL,
        help="who calls (faithful)",
    )
    parser.add_argument(
        "--faults", action="store_true", help="rows and set entries vanish, somebody outside locks a job"
    )
    parser.add_argument(
        "--without", action="append", default=[], metavar="NAME", help="a method or transition nobody calls"
    )
    parser.add_argument("--depth", type=int, metavar="N", help="the longest program, in steps")
    parser.add_argument("--time-limit", type=_seconds, metavar="S", help="seconds")
    parser.add_argument(
        "--fix",
        action="append",
        default=[],
        choices=["all", *FIXES],
        help="explore the model under the one-line fix of a script, or all of them",
    )
    parser.add_argument("--graph", metavar="FILE", help="draw the life of one job: .dot, .mmd, .svg or .json")
    parser.add_argument(
        "--trace", metavar="FILE", help="write the shortest programs of what is broken, to be replayed"
    )
    parser.add_argument("--json", action="store_true", help="the report as JSON")


def main(options: argparse.Namespace) -> int:
    """Explore and report: 0 where everything holds, 1 where a property is broken or never happens, 130 where
    Ctrl-C ended the search (what was covered is reported all the same)."""
    if options.graph is not None:
        suffix(options.graph)
        if options.jobs != 1:
            raise ValueError(f"--graph draws the life of one job, not of {options.jobs}")
    fixes = tuple(FIXES) if "all" in options.fix else tuple(options.fix)
    found = explore(
        jobs=options.jobs,
        max_claims=options.max_claims,
        max_attempts=options.max_attempts,
        dialect=options.dialect,
        clients=options.clients,
        faults=options.faults,
        without=options.without,
        depth=options.depth,
        time_limit=options.time_limit,
        rules=fixed_rules(options.dialect, fixes),
    )
    print(json.dumps(found.as_json(), indent=1) if options.json else found)
    if options.graph is not None and found.graph is not None:
        found.graph.write(options.graph)
    if options.trace is not None:
        trace.write(options.trace, found.programs)
    if found.stopped == CTRL_C:
        return INTERRUPTED
    return CONFORMS if found.holds else DIVERGES


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
    return value
