"""What `import emqsim` and `emqsim --help` take, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from time import perf_counter_ns
from typing import Any

from emqsim.words import aligned

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


def table(results: dict[str, Any]) -> Iterator[str]:
    """Times beyond those of an interpreter that does nothing; the whole time for the command."""
    took = results["ms"]
    nothing = min(took["nothing"])
    beyond = {name: [max(each - nothing, 0.01) for each in times] for name, times in took.items()}
    least = {name: min(times) for name, times in beyond.items()}
    yield from aligned(
        [
            ("import", "ms, least of all rounds", "times as long"),
            ("sortedcontainers, dataclasses", number(least["sortedcontainers, dataclasses"]), "1"),
            (
                "emqsim",
                number(least["emqsim"]),
                f"{least['emqsim'] / least['sortedcontainers, dataclasses']:.2f}; round by round "
                + spread(ratios(beyond["emqsim"], beyond["sortedcontainers, dataclasses"])),
            ),
        ]
    )
    yield f"emqsim --help: {number(min(took['emqsim --help']))} ms in all"
