"""What a check is to do, and which part of it a process does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from emqsim.dialect import Dialect, Rules


@dataclass(frozen=True)
class Plan:
    """What a check is to do, all of it checked and settled; see `emqsim.check.check`."""

    scripts: Mapping[str, str]
    dialect: Dialect
    examples: int
    steps: int
    seed: int
    time_limit: float | None
    folder: Path | None
    clock: str
    emit_test: Path | None
    rules: Rules | None


class Rivals(Protocol):
    """The other processes that share the programs of a run."""

    def win(self) -> bool:
        """Whether a difference found here is the first."""

    def over(self) -> bool:
        """Whether there is nothing left to look for."""

    def stopped(self) -> bool:
        """Whether everything is to stop at once."""


class Nobody:
    """No other processes."""

    def win(self) -> bool:
        return True

    def over(self) -> bool:
        return False

    def stopped(self) -> bool:
        return False


@dataclass(frozen=True)
class Part:
    """Every `of`-th program of a run, from the one numbered `number` on, counted from 0."""

    number: int
    of: int
    rivals: Rivals


ALL = Part(0, 1, Nobody())
