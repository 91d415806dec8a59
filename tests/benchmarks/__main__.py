"""`python -m tests.benchmarks [--show] [NAME]…`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

NAMES = ("calls", "growth", "imports", "check", "worker")
FOLDER = Path(__file__).with_name("results")


def benchmark(name: str) -> Any:
    """The module, which has `run`, `table` of its results, and `short`, a form for the README."""
    return importlib.import_module(f"{__package__}.{name}")


def saved(name: str) -> dict[str, Any]:
    """The raw results that were kept."""
    found: dict[str, Any] = json.loads(FOLDER.joinpath(f"{name}.json").read_text("utf-8"))
    return found


def measured(name: str) -> dict[str, Any]:
    """New results, which are kept."""
    machine = {"python": platform.python_version(), "platform": platform.platform(), "cores": os.cpu_count()}
    results = machine | benchmark(name).run()
    FOLDER.joinpath(f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return saved(name)


def main() -> int:
    """Run benchmarks, keep `results/NAME.json`, print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default all")
    parser.add_argument("--show", action="store_true", help="only print what was kept")
    options = parser.parse_args()
    for name in options.names or NAMES:
        if name not in NAMES:
            parser.error(f"{name!r} is no benchmark; there are {', '.join(NAMES)}")
        print(f"{name}: {benchmark(name).__doc__.splitlines()[0]}", flush=True)
        for line in benchmark(name).table(saved(name) if options.show else measured(name)):
            print(f"  {line}", flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
