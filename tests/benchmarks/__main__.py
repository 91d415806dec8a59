"""`python -m tests.benchmarks [--save|--show] [NAME]…`."""

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


def measured(name: str, save: bool) -> dict[str, Any]:
    """New results, which may be kept."""
    machine = {"python": platform.python_version(), "platform": platform.platform(), "cores": os.cpu_count()}
    text = json.dumps(machine | benchmark(name).run(), indent=1)
    if save:
        FOLDER.joinpath(f"{name}.json").write_text(text + "\n", "utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def main() -> int:
    """Run benchmarks and print their tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=main.__doc__)
    parser.add_argument("--save", action="store_true", help="put the raw results into results/NAME.json")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default all")
    parser.add_argument("--show", action="store_true", help="only print what was kept")
    options = parser.parse_args()
    for name in options.names or NAMES:
        if name not in NAMES:
            parser.error(f"{name!r} is no benchmark; there are {', '.join(NAMES)}")
        print(f"{name}: {benchmark(name).__doc__.splitlines()[0]}", flush=True)
        for line in benchmark(name).table(saved(name) if options.show else measured(name, options.save)):
            print(f"  {line}", flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
