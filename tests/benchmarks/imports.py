"""What `import emqsim` and `emqsim --help` take, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from time import perf_counter_ns
from typing import Any

from emqsim.text.words import aligned

from .rounds import number, ratios, spread

ROUNDS = 25

PROGRAMS = {
    "nothing": ["-c", "pass"],
    "sortedcontainers, dataclasses": ["-c", "import sortedcontainers, dataclasses"],
    "emqsim": ["-c", "import emqsim"],
    "emqsim --help": ["-m", "emqsim", "--help"],
}


def run() -> dict[str, Any]:
    """Milliseconds of each program in each round, all modules compiled before, as after an installation."""
    took: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(ROUNDS + 1):
            for name, arguments in PROGRAMS.items():
                started = perf_counter_ns()
                subprocess.run(
                    [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment
                )
                took[name].append((perf_counter_ns() - started) / 1e6)
    return {"rounds": ROUNDS, "ms": {name: times[1:] for name, times in took.items()}}


def _beyond(results: dict[str, Any], name: str) -> list[float]:
    """Milliseconds beyond those of an interpreter that does nothing."""
    nothing = min(results["ms"]["nothing"])
    return [max(each - nothing, 0.01) for each in results["ms"][name]]


OTHERS = "sortedcontainers, dataclasses"


def table(results: dict[str, Any]) -> Iterator[str]:
    """Times beyond those of an interpreter that does nothing; the whole time for the command."""
    ours, others = _beyond(results, "emqsim"), _beyond(results, OTHERS)
    yield from aligned(
        [
            ("import", "ms, least of all rounds", "times as long"),
            (OTHERS, number(min(others)), "1"),
            (
                "emqsim",
                number(min(ours)),
                f"{min(ours) / min(others):.2f}; each round {spread(ratios(ours, others))}",
            ),
        ]
    )
    yield f"emqsim --help: {number(min(results['ms']['emqsim --help']))} ms in all"


def short(results: dict[str, Any]) -> Iterator[str]:
    """One line, for the README."""
    ours, others = min(_beyond(results, "emqsim")), min(_beyond(results, OTHERS))
    yield (
        f"- `import emqsim` takes {ours / others:.1f} times what `sortedcontainers` and `dataclasses` take, "
        f"`emqsim --help` {number(min(results['ms']['emqsim --help']))} ms (the least of {results['rounds']} rounds)."
    )
