"""The check: random programs on the model and on a real server, until they differ or enough have run."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from hashlib import sha1
from pathlib import Path
from secrets import randbelow, token_hex
from typing import Any

from emqsim import guards, trace
from emqsim.check.divergence import Divergence, Stopped, Trial
from emqsim.check.drawn import programs
from emqsim.check.emit import EMITTED, as_test
from emqsim.check.lockstep import Lockstep
from emqsim.check.model_run import Source, from_bytes, from_steps
from emqsim.check.plan import ALL, Part, Plan
from emqsim.check.processes import in_processes
from emqsim.check.report import Report
from emqsim.check.runner import Runner
from emqsim.check.servertime import ServerTime
from emqsim.check.shrink import shrink
from emqsim.check.target import Target, target
from emqsim.dialect import Dialect, Rules
from emqsim.errors import OutcomeUnknown, ServerError, ServerUnavailable
from emqsim.machine import TRANSITIONS
from emqsim.scripts.bundle import choose
from emqsim.server.address import EMBEDDED, TIMEOUT_S
from emqsim.server.embedded import EmbeddedServer
from emqsim.server.interrupts import raise_remembered, remembered

EXAMPLES, STEPS = 2000, 40
"""Programs of a default run, and the most steps in each."""

MOST_PROCESSES = 256

SHRINK_S = 10.0
"""How long a divergence is made shorter at most."""

CLOCKS: Mapping[str, Callable[[Target, Dialect, Mapping[str, str], Rules | None], Runner]] = {
    "virtual": Lockstep,
    "server": ServerTime,
}
"""Whose time the scripts read, and what runs programs on it."""

LONGEST_S = 10**6
"""The longest time limit, and the longest wait for an answer."""

Progress = Callable[[int, int], None]
"""Told after each program: programs and steps so far."""


def check(
    server: str | EmbeddedServer = "embedded",
    scripts: Mapping[str, str] | None = None,
    dialect: Dialect | str | None = None,
    examples: int = EXAMPLES,
    steps: int = STEPS,
    seed: int | None = None,
    time_limit: float | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
    clock: str = "virtual",
    allow_non_empty: bool = False,
    password: str | None = None,
    timeout: float = TIMEOUT_S,
    emit_test: str | Path | None = None,
    rules: Rules | None = None,
    processes: int = 1,
) -> Report:
    """Run random programs on the model and on a server; compare answers and the whole keyspace at every step.

    `server`: `"embedded"`, a running `EmbeddedServer`, which is emptied, or the URL of a server that is not ours
    (`redis rediss valkey valkeys unix`). There every queue has a name made for it, whose keys are deleted at the end,
    and no command is sent that reaches further; a script that hard-codes the name of a key can. Its database has
    to be empty, unless `allow_non_empty`; `password` is for a URL that holds none, and an answer is waited for
    `timeout` seconds.

    `scripts`: Lua sources by script name, instead of the bundled ones. `dialect`: `wire3` or `wire4`; without it,
    `wire3` where a script `claim` is given and no `claim2`, else `wire4`. `clock`: `"virtual"`, read by a prelude of
    one line, or `"server"`, where the scripts run byte for byte on the server's time. `examples` programs of at most
    `steps` steps, or `time_limit` seconds. `seed` makes a run on the virtual clock the same again. `folder`: where a
    divergence is saved as a trace, and whose saved ones are tried first. `emit_test`: a file to write a divergence
    to as a test for pytest. `rules`: the model's, where the scripts are not to behave as the dialect has it.
    `processes`: how many share the programs, each with a server of its own (not with a running one of ours), or with
    queues of its own on a URL; the first difference ends all, and `progress` is not told.

    Raises `ValueError` for bad arguments and for a script that does not compile, `MissingExtra` without Hypothesis, and
    `ServerUnavailable`, `ServerError` or `OutcomeUnknown` where the server cannot be used from the start.
    """
    given = dict(scripts or {})
    chosen = _dialect(dialect, given)
    guards.choice(clock, "clock", tuple(CLOCKS))
    guards.integer(examples, "examples", 1)
    guards.integer(steps, "steps", 1, 10_000)
    if seed is None:
        seed = randbelow(2**32)
    guards.integer(seed, "seed", 0)
    for name, seconds in (("time_limit", time_limit), ("timeout", timeout)):
        if seconds is not None and not (isinstance(seconds, (int, float)) and 0 < seconds <= LONGEST_S):
            raise ValueError(
                f"{name} must be a number of seconds above 0, at most {LONGEST_S}, not {seconds!r}"
            )
    guards.integer(processes, "processes", 1, MOST_PROCESSES)
    if processes > 1 and isinstance(server, EmbeddedServer):
        raise ValueError(f"processes must be 1 on a running server that is ours, not {processes!r}")
    if emit_test is not None:
        _check_writable(Path(emit_test))
    plan = Plan(
        scripts=given,
        dialect=chosen,
        examples=examples,
        steps=steps,
        seed=seed,
        time_limit=time_limit,
        folder=Path(folder) if folder is not None else None,
        clock=clock,
        emit_test=Path(emit_test) if emit_test is not None else None,
        rules=rules,
    )
    settings: dict[str, Any] = {"password": password, "timeout": timeout}
    report = _somewhere(plan, server, processes, allow_non_empty, settings, progress)
    if report.conforms and report.out_of_time and not report.programs + report.saved:
        report.failure = "there was no time for a program"
    return report


def _somewhere(
    plan: Plan,
    server: str | EmbeddedServer,
    processes: int,
    allow_non_empty: bool,
    settings: dict[str, Any],
    progress: Progress | None,
) -> Report:
    """Run a plan where it is to run, in this process or in several."""
    if processes > 1 and server == EMBEDDED:
        return in_processes(plan, processes, server, settings)
    with target(server, allow_non_empty=allow_non_empty, **settings) as place:
        if processes == 1:
            return run(plan, ALL, place, progress)
        assert isinstance(server, str)
        try:
            report = in_processes(plan, processes, server, settings | {"allow_non_empty": True})
            report.notes += place.notes()
            return report
        finally:
            place.close()


def run(plan: Plan, part: Part, place: Target, progress: Progress | None = None) -> Report:
    """A part of what a check is to do, in a place that is open."""
    report = Report(plan.dialect, plan.seed, place.version, clock=plan.clock)
    used = _sort_scripts(plan.scripts, report)
    runner = CLOCKS[plan.clock](place, plan.dialect, used, plan.rules)
    try:
        _Run(plan, part, report, runner, progress).all()
        report.notes += place.notes()
    except BaseException as ended:
        left = runner.close()
        if left:
            ended.add_note(f"keys that may stay on the server: {', '.join(left)}")
        raise
    report.left = runner.close()
    found = report.divergence
    if found is not None:
        report.failure = found.environment
        if plan.folder is not None:
            _save(report, found, plan.folder)
        if plan.emit_test is not None:
            _emit(report, found, runner, used, plan.emit_test)
    return report


class _Run:
    def __init__(
        self, plan: Plan, part: Part, report: Report, runner: Runner, progress: Progress | None
    ) -> None:
        self.plan = plan
        self.report = report
        self.runner = runner
        self.started = time.monotonic()
        self._part = part
        self._rivals = part.rivals
        self._until = self.started + (plan.time_limit or float("inf"))
        self._progress = progress

    def all(self) -> None:
        """Saved programs, then random ones; the report has the first divergence, or why there was no end."""
        try:
            with remembered():
                found = self._saved() or self._random()
            if found is not None:
                self.report.divergence = self.runner.explain(found)
        except Stopped as stopped:
            self.report.failure, self.report.program = str(stopped), stopped.program
        finally:
            self.report.seconds = time.monotonic() - self.started
            self.report.undecided = self.runner.undecided

    def _saved(self) -> Trial | None:
        """Try the programs that earlier runs saved; the first that shows a difference."""
        folder = self.plan.folder if self._part.number == 0 else None
        for path in sorted(folder.glob("*.jsonl")) if folder is not None else ():
            try:
                programs, _ = trace.read(path)
                for program in programs:
                    if program.dialect is self.report.dialect:
                        self.report.saved += 1
                        trial = self.runner.run(from_steps(program.steps))
                        self.report.steps += trial.steps
                        if trial.difference is not None and self._rivals.win():
                            return trial
            except (OSError, ValueError, TypeError) as unreadable:
                self.report.notes.append(f"left out, no program that can be run: {unreadable}")
        return None

    def _random(self) -> Trial | None:
        """Random programs, the first that shows a difference made shorter."""
        tried: deque[bytes] = deque()

        def sources() -> Iterator[Source]:
            plan, part = self.plan, self._part
            for program in programs(plan.seed, plan.examples, plan.steps, part.number, part.of):
                raise_remembered()
                if self._rivals.over():
                    return
                if time.monotonic() > self._until:
                    self.report.out_of_time = True
                    return
                tried.append(program)
                yield from_bytes(program)

        with closing(self.runner.runs(sources(), self.report.coverage)) as trials:
            for trial in trials:
                program = tried.popleft()
                self.report.programs += 1
                self.report.steps += trial.steps
                if self._progress:
                    self._progress(self.report.programs, self.report.steps)
                if trial.difference is not None:
                    self.report.out_of_time = False
                    break
            else:
                return None
        return self._shortest(program, trial) if self._rivals.win() else None

    def _shortest(self, program: bytes, trial: Trial) -> Trial:
        """The shortest program like this one that shows a difference, as far as there is time to look; one in which
        a script does not end is left as it is."""
        until = time.monotonic() + SHRINK_S
        best = trial
        over = trial.difference is not None and trial.difference.hung

        def fails(shorter: bytes) -> bool:
            nonlocal best, over
            raise_remembered()
            if over or time.monotonic() > until or self._rivals.stopped():
                return False
            try:
                shown = self.runner.run(from_bytes(shorter))
            except Stopped:
                over = True
                return False
            if shown.difference is None or shown.difference.hung:
                over = shown.difference is not None
                return False
            best = shown
            return True

        shrink(program, fails)
        return best


def _dialect(dialect: Dialect | str | None, given: Mapping[str, str]) -> Dialect:
    if dialect is None:
        return Dialect.WIRE3 if "claim" in given and "claim2" not in given else Dialect.WIRE4
    guards.choice(dialect, "dialect", (Dialect.WIRE3, Dialect.WIRE4))
    return Dialect(dialect)


def _sort_scripts(given: Mapping[str, str], report: Report) -> dict[str, str]:
    """The given scripts that the dialect uses; the report says which are whose."""
    used: dict[str, str] = {}
    for row in TRANSITIONS.values():
        name, source, theirs = choose(row, report.dialect, given)
        (report.yours if theirs else report.bundled).append(name)
        if theirs:
            used[name] = source
    report.ignored = [name for name in given if name not in used]
    if given and not used:
        raise ValueError(f"scripts: none of {', '.join(given)} is a script of {report.dialect}")
    return used


def _check_writable(path: Path) -> None:
    """Raises `ValueError` for a path that a test cannot be written to, or should not be."""
    if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
        raise ValueError(f"emit_test: {path} cannot be written: nothing can be written to {path.parent}")
    if not path.parent.is_dir():
        raise ValueError(f"emit_test: {path} cannot be written: there is no folder {path.parent}")
    if path.exists() and not (path.is_file() and EMITTED in path.read_text("utf-8", "replace")):
        raise ValueError(f"emit_test: {path} is there already, and not written by a check")


def _save(report: Report, found: Divergence, folder: Path) -> None:
    """Write the program of a divergence as a trace, with the model's answers."""
    last = found.program.steps[found.step]
    content = "".join(f"{line}\n" for line in trace.lines(found.program))
    same = content if report.clock == "virtual" else "; ".join(map(str, found.program.steps))
    path = folder / f"{report.dialect}-{last.call}-{sha1(same.encode()).hexdigest()[:8]}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as failed:
        report.notes.append(f"the program could not be saved: {failed}")
        return
    report.trace_path = str(path)


def _emit(report: Report, found: Divergence, runner: Runner, scripts: Mapping[str, str], path: Path) -> None:
    """Write a divergence as a test, if a test on the virtual clock can show it."""
    if report.failure is not None:
        report.notes.append(f"no test was written: {report.failure}, which is not the scripts' doing")
        return
    try:
        if report.clock == "server" and not found.hung:
            again = _on_the_virtual_clock(found, runner, scripts)
            if again is None:
                report.notes.append("no test was written: the divergence shows only on the server's own time")
                return
            found = again
        write_whole(path, as_test(found, scripts, report.server, runner.rules))
    except (OSError, Stopped, ServerError, ServerUnavailable, OutcomeUnknown) as failed:
        report.notes.append(f"no test was written: {failed}")
        return
    report.test_path = str(path)


def _on_the_virtual_clock(found: Divergence, runner: Runner, scripts: Mapping[str, str]) -> Divergence | None:
    lockstep = Lockstep(runner.target, runner.dialect, scripts, runner.rules)
    try:
        trial = lockstep.run(from_steps(found.program.steps))
        return None if trial.difference is None else lockstep.explain(trial)
    finally:
        lockstep.close()


def write_whole(path: Path, text: str) -> None:
    """Write a file at once, so that nobody ever sees a part of it."""
    beside = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
