"""Times in rounds, and the ratios of two lists of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter_ns
from typing import Any


def each_us(calls: Sequence[Callable[[], Any]]) -> float:
    """Microseconds that one of many calls takes, all in one go."""
    started = perf_counter_ns()
    for call in calls:
        call()
    return (perf_counter_ns() - started) / len(calls) / 1000


def spread(values: Sequence[float]) -> str:
    """The middle one, and the least and the most."""
    return f"{number(median(values))} ({number(min(values))} to {number(max(values))})"


def ratios(those: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Round by round, how many times ours goes into theirs."""
    return [a / b for a, b in zip(those, ours, strict=True)]


def number(value: float) -> str:
    """With two digits that count, or none after the point."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"
