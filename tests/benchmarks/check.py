"""Compared steps a second: the check beside the obvious way, on the same server with the same programs.

The obvious way sends each call, reads the whole state back with a command a key, and compares; it is spared the making
of programs. The lines of the profile are CPU time of this process, and of the server by its own account.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from time import perf_counter, process_time
from typing import Any

from emqsim import Queue, VirtualClock
from emqsim.check import check
from emqsim.check.coverage import Coverage
from emqsim.check.drawn import programs
from emqsim.check.lockstep import Lockstep
from emqsim.check.model_run import ModelRun, from_bytes, run_on_model
from emqsim.check.programs import actions
from emqsim.check.run import EXAMPLES, STEPS
from emqsim.check.target import OwnTarget
from emqsim.dialect import Dialect
from emqsim.server import EmbeddedServer, ServerQueue, embedded_server
from emqsim.server.connection import Connection
from emqsim.text.words import aligned
from emqsim.trace import perform

from .rounds import number, ratios, spread

ROUNDS, PART = 5, 200
DIALECT = Dialect.WIRE4


def obviously(server: EmbeddedServer, plays: list[ModelRun]) -> float:
    """Steps a second, call by call."""
    clock = VirtualClock()
    client = server.client()
    ours = ServerQueue("emqsim-check", client, clock=clock, dialect=DIALECT)
    steps, started = 0, perf_counter()
    for program in plays:
        client.flushall()
        model = Queue("emqsim-check", clock=clock, dialect=DIALECT)
        for played in program.steps:
            step = played.step
            clock.set(now_us=step.now_us)
            assert perform(model, step.call, step.args) == perform(ours, step.call, step.args)
            assert model.snapshot() == ours.snapshot()
            steps += 1
    ours.close()
    return steps / (perf_counter() - started)


def profile(server: EmbeddedServer, count: int) -> dict[str, float]:
    """Microseconds of CPU time a step, by what they are spent on, over so many programs."""
    steps = 0
    started = process_time()
    sources = list(programs(0, count, STEPS))
    drawing = process_time() - started
    took = dict.fromkeys(("decoding", "model", "packing", "reading", "comparing"), 0.0)
    coverage = Coverage()
    runner = Lockstep(OwnTarget(server), DIALECT)
    account = Connection(server.client())
    before = _server_s(account)
    for source in sources:
        times = [process_time()]
        list(actions(source))
        times.append(process_time())
        program = run_on_model(from_bytes(source), DIALECT, coverage)
        times.append(process_time())
        commands = runner._commands(program)
        times.append(process_time())
        taken = runner._taken(program, runner._begun(program, commands))
        times.append(process_time())
        assert runner._compare(program, taken) is None
        times.append(process_time())
        for name, (start, end) in zip(took, pairwise(times), strict=True):
            took[name] += end - start
        steps += len(program.steps)
    took |= {"drawing": drawing, "server": _server_s(account) - before}
    runner.close()
    return {name: seconds / steps * 1e6 for name, seconds in took.items()}


def _server_s(account: Connection) -> float:
    used = account.info("cpu")
    return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


def run() -> dict[str, Any]:
    """Steps a second of each way in each round, of a default run, and the profile."""
    with embedded_server() as server:
        checks, others = [], []
        for seed in range(ROUNDS):
            report = check(server, dialect=DIALECT, examples=PART, seed=seed)
            assert report.conforms
            checks.append(report.steps / report.seconds)
            sources = programs(seed, PART // 4, STEPS)
            others.append(
                obviously(server, [run_on_model(from_bytes(source), DIALECT) for source in sources])
            )
        whole = check(server, dialect=DIALECT, seed=0)
        spent = profile(server, PART)
        version = server.version
    shared = check(dialect=DIALECT, seed=0, processes=2)
    return {
        "server": version,
        "rounds": ROUNDS,
        "steps_a_second": {"check": checks, "obvious": others},
        "default_run": {"programs": EXAMPLES, "steps": whole.steps, "seconds": whole.seconds},
        "two_processes": {"programs": EXAMPLES, "steps": shared.steps, "seconds": shared.seconds},
        "us_a_step": spent,
    }


def table(results: dict[str, Any]) -> Iterator[str]:
    """Steps a second, then where the time goes."""
    ways = results["steps_a_second"]
    whole, shared = (
        f"{results[name]['steps'] / results[name]['seconds']:.0f}"
        for name in ("default_run", "two_processes")
    )
    yield from aligned(
        [
            ("way", "compared steps a second", "times the obvious way"),
            ("emqsim check", spread(ways["check"]), spread(ratios(ways["check"], ways["obvious"]))),
            ("a call and a state at a time", spread(ways["obvious"]), "1"),
        ]
    )
    run = results["default_run"]
    yield f"a default run: {run['programs']} programs, {run['steps']} steps in {run['seconds']:.1f} s, {whole} a second"
    yield f"the same with --processes 2: {results['two_processes']['seconds']:.1f} s, {shared} a second"
    yield "microseconds of CPU a step: " + ", ".join(
        f"{name} {number(us)}" for name, us in results["us_a_step"].items()
    )


def short(results: dict[str, Any]) -> Iterator[str]:
    """Steps a second, for the README."""
    ways, whole, shared = results["steps_a_second"], results["default_run"], results["two_processes"]
    yield "| way | compared steps a second | times the obvious way |"
    yield "|---|--:|--:|"
    yield f"| `emqsim check` | {spread(ways['check'])} | {spread(ratios(ways['check'], ways['obvious']))} |"
    yield f"| a call, then every key, then compare | {spread(ways['obvious'])} | 1 |"
    yield ""
    yield (
        f"A default run, {whole['programs']:,} programs of {whole['steps']:,} steps, took {whole['seconds']:.1f} s, "
        f"with `--processes 2` {shared['seconds']:.1f} s. Microseconds of CPU a step: "
        + ", ".join(f"{name} {number(us)}" for name, us in results["us_a_step"].items())
        + "."
    )
