"""`emqsim hazards`: known bugs of job queues, and what this machine does with each."""

from __future__ import annotations

import argparse

from emqsim.commands.status import CONFORMS
from emqsim.dialect import Dialect
from emqsim.hazards.text import find, hazard_text, table_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a hazard, to be played step by step")
    parser.add_argument(
        "--dialect",
        choices=list(Dialect),
        default=Dialect.WIRE4,
        help="in which NAME is played (default wire4)",
    )


def main(options: argparse.Namespace) -> int:
    """Print the table, or play one hazard."""
    lines = table_text() if options.name is None else hazard_text(find(options.name), options.dialect)
    for line in lines:
        print(line)
    return CONFORMS
