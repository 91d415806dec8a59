"""A check in several processes: each with a server of its own, or queues of its own on another's, and a part of
the programs. The first difference wins: that process shows it, the others stop.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.context import SpawnContext
from threading import Event, Thread
from typing import Any

from emqsim.check.plan import Part, Plan
from emqsim.check.report import Report
from emqsim.check.target import RUNS, target
from emqsim.server.interrupts import withheld

CLEANED_UP_S = 30.0
"""How long a process whose parent was killed may take to clean up."""


class Race:
    """Who found a difference first, and whether everybody is to stop."""

    def __init__(self, context: SpawnContext) -> None:
        self._lock = context.Lock()
        self._won = context.Event()
        self._stopped = context.Event()

    def win(self) -> bool:
        """Whether this process is the first."""
        with self._lock:
            first = not self._won.is_set()
            self._won.set()
            return first

    def over(self) -> bool:
        """Whether there is nothing left to look for."""
        return self._won.is_set() or self._stopped.is_set()

    def stop(self) -> None:
        """Everybody is to stop, the winner too."""
        self._stopped.set()

    def stopped(self) -> bool:
        """Whether everybody is to stop."""
        return self._stopped.is_set()


def in_processes(plan: Plan, processes: int, server: str, settings: Mapping[str, Any]) -> Report:
    """The one report of a check in so many processes, each on the server as `ground` opens it.

    Ctrl-C is the business of this process: it makes the others end what they are at, and clean up.
    """
    started = time.monotonic()
    context = get_context("spawn")
    race = Race(context)
    with ProcessPoolExecutor(processes, context, _enter, (race,)) as pool:
        try:
            with withheld():
                parts = [
                    pool.submit(_part, plan, number, processes, server, dict(settings))
                    for number in range(processes)
                ]
            reports = [part.result() for part in parts]
        except BrokenProcessPool as broken:
            raise ChildProcessError(
                "a process of the check ended before its time; on a server that is not ours, keys of queues whose "
                f"names begin with {RUNS} may stay"
            ) from broken
        except BaseException:
            race.stop()
            raise
    return _merged(reports, time.monotonic() - started)


_race: Race | None = None
"""In a process of the pool, the race it runs in."""

_idle = Event()
"""Set while a process of the pool has no part."""


def _enter(race: Race) -> None:
    global _race
    _race = race
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _idle.set()
    Thread(target=_end_with_parent, args=(race,), daemon=True).start()


def _end_with_parent(race: Race) -> None:
    """Where the process that shares out the parts is killed: let this one clean up, and end."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    race.stop()
    _idle.wait(CLEANED_UP_S)
    os._exit(1)


def _part(plan: Plan, number: int, of: int, server: str, settings: dict[str, Any]) -> Report:
    from emqsim.check.run import run

    assert _race is not None
    _idle.clear()
    try:
        with target(server, **settings) as place:
            return run(plan, Part(number, of, _race), place)
    finally:
        _idle.set()


def _merged(reports: list[Report], seconds: float) -> Report:
    """One report: what the first that has something to show has to show, and the sums of all."""
    telling = [report for report in reports if report.divergence is not None]
    telling += [report for report in reports if report.failure is not None]
    (whole, *_) = telling + reports
    for report in reports:
        if report is not whole:
            whole.programs += report.programs
            whole.steps += report.steps
            whole.saved += report.saved
            whole.undecided += report.undecided
            whole.out_of_time = whole.out_of_time or report.out_of_time
            whole.coverage.merge(report.coverage.outcomes, report.coverage.faults)
            whole.left += report.left
            whole.notes += [note for note in report.notes if note not in whole.notes]
    whole.seconds = seconds
    return whole
