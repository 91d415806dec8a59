"""Runs something on a faulty model: `faulty.py MODULE replay|test ARGUMENT… < SOURCE`.

The source stands in the place of the module of the package. The exit status is not 0 where the fault shows: in a
recorded trace that goes another way, or in a test that fails.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class InItsPlace(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a source where a module is asked for. To be used before the package is imported."""

    def __init__(self, module: str, source: str) -> None:
        self._name = f"emqsim.{module}"
        self._source = source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(name, self) if name == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._source, f"<faulty {self._name}>", "exec"), module.__dict__)


def replay(paths: list[str]) -> int:
    """1 where a trace shows the fault."""
    from emqsim import trace
    from emqsim.replay import model_difference

    programs = [(path, program) for path in paths for program in trace.read(path)[0]]
    return int(any(model_difference(program, path) is not None for path, program in programs))


def test(arguments: list[str]) -> int:
    """What pytest ends with. It would import the modules of a plugin itself, to rewrite their assertions."""
    import pytest

    return pytest.main(["--assert=plain", *arguments])


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[2])
    sys.meta_path.insert(0, InItsPlace(sys.argv[1], sys.stdin.read()))
    sys.exit({"replay": replay, "test": test}[sys.argv[2]](sys.argv[3:]))
