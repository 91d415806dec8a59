"""The command line: `emqsim COMMAND …`. Each command is a module that is imported only when it is called."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from emqsim.commands.status import COULD_NOT, COULD_NOT_RUN, INTERRUPTED
from emqsim.server.address import without_password
from emqsim.server.interrupts import ANY, remembered

COMMANDS = {
    "check": ("emqsim.commands.check", "run random programs on the model and on a real server and compare"),
    "explore": ("emqsim.commands.explore", "visit every state of a small queue and judge each"),
    "draw": ("emqsim.commands.draw", "write the lifecycle map, a timeline or a stepper as a file"),
    "hazards": ("emqsim.commands.hazards", "print what known bugs of job queues do here, or play one"),
    "replay": ("emqsim.commands.replay", "run a trace again, on the model or on both, and compare"),
    "table": ("emqsim.commands.table", "print the transition table, or one transition with its script"),
}
"""Each command: the module with its `add_arguments` and `main`, and a line of help."""


class _Parser(argparse.ArgumentParser):
    """One that repeats no password where it quotes what it was given."""

    def error(self, message: str) -> NoReturn:
        super().error(without_password(message))


class _Version(argparse.Action):
    """Prints the version, which is looked up only where it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"emqsim {version('emqsim')}")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with remembered(ANY):
            status = _run(list(sys.argv[1:] if argv is None else argv))
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        print("; ".join(["interrupted", *getattr(interrupt, "__notes__", ())]), file=sys.stderr)
        return 128 + interrupt.args[0] if interrupt.args else INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return COULD_NOT_RUN
    except COULD_NOT as failed:
        print(f"emqsim: {without_password(str(failed))}", file=sys.stderr)
        return COULD_NOT_RUN
    except Exception:
        traceback.print_exc()
        return COULD_NOT_RUN
    return status


def _run(arguments: list[str]) -> int:
    parser = _Parser(
        prog="emqsim",
        description="EchoMQ's job queue as an exact model, and the check of scripts against it.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    called = next((word for word in arguments if not word.startswith("-")), None)
    for name, (module, words) in COMMANDS.items():
        command = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        if name == called:
            importlib.import_module(module).add_arguments(command)
    options = parser.parse_args(arguments)
    status: int = importlib.import_module(COMMANDS[options.command][0]).main(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
