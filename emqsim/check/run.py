"""The check: random programs on the model and on a real server, until they differ or enough have run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path
from secrets import randbelow

from emqsim import guards, trace
from emqsim.check.coverage import Coverage
from emqsim.check.lockstep import Divergence, Lockstep, Play, play_bytes, play_steps
from emqsim.check.programs import length
from emqsim.check.shrink import shrink
from emqsim.dialect import Dialect, Rules
from emqsim.machine import TRANSITIONS
from emqsim.server.embedded import EmbeddedServer, embedded_server
from emqsim.server.errors import MissingExtra
from emqsim.server.scripts import choose

EXAMPLES, STEPS = 1000, 40
"""Programs of a default run, and the most steps in each."""

SHRINK_S = 10.0
"""How long a divergence is made shorter at most."""

Progress = Callable[[int, int], None]
"""Told after each program: programs and steps so far."""


@dataclass
class Report:
    """What a check did and found."""

    dialect: Dialect
    seed: int
    server: str = ""
    yours: list[str] = field(default_factory=list)
    """Names of the given scripts that were checked."""
    bundled: list[str] = field(default_factory=list)
    """Names of the bundled scripts that stood in for those not given."""
    ignored: list[str] = field(default_factory=list)
    """Names given that are no script of the dialect."""
    programs: int = 0
    steps: int = 0
    saved: int = 0
    """Programs saved by an earlier run that were tried first."""
    seconds: float = 0.0
    out_of_time: bool = False
    coverage: Coverage = field(default_factory=Coverage)
    divergence: Divergence | None = None
    trace_path: str | None = None

    @property
    def conforms(self) -> bool:
        """Whether the server did what the model does, in every step."""
        return self.divergence is None


class _Diverged(BaseException):
    """A program went another way on the server. Passes through Hypothesis, which would run it again."""

    def __init__(self, program: bytes) -> None:
        self.program = program


class _OutOfTime(BaseException):
    """The time limit has passed."""


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
    rules: Rules | None = None,
) -> Report:
    """Run random programs on the model and on a server; compare answers and the whole keyspace at every step.

    `server`: `"embedded"`, or a running `EmbeddedServer`. `scripts`: Lua sources by script name, instead of the
    bundled ones. `dialect`: `wire3` or `wire4`; without it, `wire3` where a script `claim` is given and no
    `claim2`, else `wire4`. `examples` programs of at most `steps` steps, or `time_limit` seconds. `seed` makes a run
    the same again. `folder`: where a divergence is saved as a trace, and whose saved ones are tried first.
    `rules`: the model's, where the scripts are not to behave as the dialect has it.

    Raises `ValueError` for bad arguments and for a script that does not compile, `MissingExtra` without Hypothesis.
    """
    given = dict(scripts or {})
    chosen = _dialect(dialect, given)
    guards.integer(examples, "examples", 1)
    guards.integer(steps, "steps", 1, 10_000)
    if seed is None:
        seed = randbelow(2**32)
    guards.integer(seed, "seed", 0)
    if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit > 0):
        raise ValueError(f"time_limit must be a number of seconds above 0, not {time_limit!r}")
    report = Report(chosen, seed)
    used = _sort_scripts(given, report)
    with _running(server) as running:
        report.server = running.version
        run = _Run(report, Lockstep(running.client(), chosen, used), time_limit, progress, rules)
        try:
            play = run.saved(folder) or run.random(examples, steps)
        finally:
            report.seconds = time.monotonic() - run.started
        if play is not None:
            report.divergence = run.lockstep.explain(play)
            if report.divergence is not None and folder is not None:
                report.trace_path = _save(report, report.divergence, Path(folder))
    return report


class _Run:
    def __init__(
        self,
        report: Report,
        lockstep: Lockstep,
        time_limit: float | None,
        progress: Progress | None,
        rules: Rules | None,
    ) -> None:
        self.report = report
        self.rules = rules
        self.lockstep = lockstep
        self.started = time.monotonic()
        self._until = self.started + time_limit if time_limit is not None else float("inf")
        self._progress = progress

    def saved(self, folder: str | Path | None) -> Play | None:
        """Try the programs that earlier runs saved; the first that shows a difference."""
        for path in sorted(Path(folder).glob("*.jsonl")) if folder is not None else ():
            try:
                programs, _ = trace.read(path)
            except trace.TraceError:
                continue
            for program in programs:
                if program.dialect is self.report.dialect:
                    self.report.saved += 1
                    play = self._cut(play_steps(program.steps, program.dialect, rules=self.rules))
                    if play is not None:
                        return play
        return None

    def random(self, examples: int, steps: int) -> Play | None:
        """Let Hypothesis make programs, and shorten the first that shows a difference."""
        try:
            import hypothesis
            from hypothesis import strategies
        except ImportError:
            raise MissingExtra("hypothesis", "check") from None

        size = length(steps)

        @hypothesis.seed(self.report.seed)
        @hypothesis.settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=(hypothesis.Phase.generate,),
            suppress_health_check=list(hypothesis.HealthCheck),
            report_multiple_bugs=False,
            verbosity=hypothesis.Verbosity.quiet,
        )
        @hypothesis.given(strategies.binary(min_size=size, max_size=size))
        def programs(program: bytes) -> None:
            self._try(program)

        try:
            programs()
        except _Diverged as diverged:
            return self._shortest(diverged.program)
        except _OutOfTime:
            self.report.out_of_time = True
        return None

    def _try(self, program: bytes) -> None:
        if time.monotonic() > self._until:
            raise _OutOfTime
        play = play_bytes(program, self.report.dialect, self.report.coverage, self.rules)
        self.report.programs += 1
        self.report.steps += len(play.steps)
        if self._progress:
            self._progress(self.report.programs, self.report.steps)
        if self._cut(play) is not None:
            raise _Diverged(program)

    def _shortest(self, program: bytes) -> Play | None:
        """The shortest program like this one that shows a difference, as far as there is time to look."""
        until = time.monotonic() + SHRINK_S
        best = play_bytes(program, self.report.dialect, rules=self.rules)

        def fails(shorter: bytes) -> bool:
            nonlocal best
            if time.monotonic() > until:
                return False
            shown = self._cut(play_bytes(shorter, self.report.dialect, rules=self.rules))
            if shown is not None:
                best = shown
            return shown is not None

        shrink(program, fails)
        return best

    def _cut(self, play: Play) -> Play | None:
        """The program up to its first difference, or `None` where there is none."""
        step = self.lockstep.first_difference(play)
        if step is None:
            return None
        del play.steps[step + 1 :]
        return play


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
    return used


@contextmanager
def _running(server: str | EmbeddedServer) -> Iterator[EmbeddedServer]:
    if isinstance(server, EmbeddedServer):
        yield server
    elif server == "embedded":
        with embedded_server() as running:
            yield running
    else:
        raise ValueError(f"server must be 'embedded' or an EmbeddedServer, not {server!r}")


def _save(report: Report, divergence: Divergence, folder: Path) -> str:
    """Write the program of a divergence as a trace, with the model's answers."""
    folder.mkdir(parents=True, exist_ok=True)
    last = divergence.program.steps[divergence.step]
    content = "\n".join(trace.lines(divergence.program))
    path = folder / f"{report.dialect}-{last.call}-{sha1(content.encode()).hexdigest()[:8]}.jsonl"
    trace.write(path, [divergence.program])
    return str(path)
