"""`python -m tests.benchmarks [NAME]…`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path

NAMES = ("calls", "growth", "check", "imports", "worker")
FOLDER = Path(__file__).with_name("results")


def main() -> int:
    """Run benchmarks and write `results/NAME.json`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default all")
    options = parser.parse_args()
    for name in options.names or NAMES:
        if name not in NAMES:
            parser.error(f"{name!r} is no benchmark; there are {', '.join(NAMES)}")
        benchmark = importlib.import_module(f"{__package__}.{name}")
        print(f"{name}: {benchmark.__doc__.splitlines()[0]}", flush=True)
        results = benchmark.run()
        for line in benchmark.table(results):
            print(f"  {line}", flush=True)
        print()
        machine = {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cores": os.cpu_count(),
            "load_average": os.getloadavg(),
        }
        (FOLDER / f"{name}.json").write_text(json.dumps(machine | results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
