"""Programs on the server's own time: the scripts run byte for byte, and the model tries every millisecond.

Each step goes to the server between two TIMEs, in one pipeline. The script has read its clock somewhere between
them, so the model takes the step once for each millisecond from the one to the other, mostly one or two: if one
of them gives the server's answer and state, the step is right, and if none does, it is a divergence.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from emqsim import VirtualClock
from emqsim.check.coverage import Coverage
from emqsim.check.divergence import Difference, Divergence, Trial
from emqsim.check.model_run import ModelRunner, Source, possible
from emqsim.check.picture import picture
from emqsim.check.programs import SERVER
from emqsim.check.recorder import OperationResult, Sent, outcome
from emqsim.check.runner import ATTEMPTS, Runner, answered, parsed
from emqsim.check.target import QUEUE
from emqsim.errors import OutcomeUnknown, ServerError, ServerUnavailable
from emqsim.keys import Keys
from emqsim.machine import Machine
from emqsim.operation import Transition
from emqsim.server import wire
from emqsim.server.connection import Command

WIDEST_MS = 50
"""A step whose time is known less well than this is not judged."""

_TIME: Command = ("TIME",)


class ServerTime(Runner):
    """Programs step by step on the server's time. None of them waits: leases and delays are short instead."""

    def run(self, source: Source, coverage: Coverage | None = None) -> Trial:
        for attempt in range(1, ATTEMPTS + 1):
            on_model = ModelRunner(self.dialect, coverage, SERVER, self.rules)
            try:
                found = self._difference(source, on_model)
            except (OutcomeUnknown, ServerUnavailable, ServerError) as failed:
                words = self.lost(failed, on_model.model_run.program(), attempt == ATTEMPTS)
                if words is None:
                    continue
                found = self.hang(on_model.model_run, len(on_model.model_run.steps) - 1, words)
            if found is None:
                return Trial(on_model.model_run, None, len(on_model.model_run.steps))
            seen = Difference(found.step, found.what, found.model, found.server, found.hung, found)
            return Trial(on_model.model_run, seen, len(on_model.model_run.steps))
        raise AssertionError("unreachable")

    def explain(self, trial: Trial) -> Divergence:
        """The divergence, which was looked at when it came up: the time does not come back."""
        assert trial.difference is not None
        assert trial.difference.divergence is not None
        return trial.difference.divergence

    def _difference(self, source: Source, on_model: ModelRunner) -> Divergence | None:
        clock = on_model.queue.clock
        sent: list[Sent] = []
        could_exist: list[bytes] = []
        whole = True
        self.begin(could_exist)
        now_us = _us(self._connection.exchange([*self.target.first(), _TIME])[-1])
        clock.set(now_us=now_us)
        for call, args in source(on_model.known):
            clock.set(now_us=now_us)
            operations = on_model.queue.foreseen(call, args)
            sent += operations
            could_exist = possible(sent)
            self.target.begins(self.queue, could_exist)
            try:
                then_us, now_us, got = self._take(operations)
            except OutcomeUnknown:
                on_model.act(call, args)
                raise
            bracket = range(then_us // 1000, now_us // 1000 + 1)
            if not 0 < len(bracket) <= WIDEST_MS + 1:
                self.undecided += 1
                whole = False
                break
            tried = [_Candidate(on_model.queue.machine, operations, now_ms) for now_ms in bracket]
            agreeing = [each for each in tried if each.agrees(operations, got)]
            match = self._match(agreeing, could_exist)
            took = match or (agreeing or tried)[0]
            before = on_model.queue.snapshot()
            clock.set(now_us=max(took.now_ms * 1000, then_us))
            played = on_model.act(call, args)
            if match is None:
                found = self._divergence(on_model, took, got, before)
                found.calls = self.calls(played)
                found.note = (
                    f"on the server's own time: its clock was between {bracket[0]} and {bracket[-1]} ms, and the model "
                    "does this at none of them"
                )
                self.target.ends(self.queue, could_exist)
                return found
        return self._at_end(
            on_model, self.target.ends(self.queue, could_exist), self.heard() if whole else None
        )

    def _take(self, operations: list[Sent]) -> tuple[int, int, list[OperationResult]]:
        """Send the operations of a step between two TIMEs: both, in microseconds, and how the operations ended."""
        commands: list[Command] = [_TIME]
        for operation, args, _ in operations:
            commands += self.queue.commands(operation, *args)
        commands.append(_TIME)
        answers = self.answers(commands)
        got = [
            outcome(partial(wire.meaning, operation, answer))
            for (operation, _, _), answer in zip(operations, answers[1:-1], strict=True)
        ]
        return _us(answers[0]), _us(answers[-1]), got

    def _match(self, agreeing: list[_Candidate], could_exist: list[bytes]) -> _Candidate | None:
        """The first candidate whose state is the server's."""
        for candidate in {each.state: each for each in reversed(agreeing)}.values():
            (seen,) = self.answers([self.pictured(candidate.keys, could_exist)])
            if isinstance(seen, ServerError):
                raise seen
            if self.target.shows(seen, candidate.state):
                return candidate
        return None

    def _divergence(
        self, on_model: ModelRunner, took: _Candidate, got: list[OperationResult], before: dict[str, Any]
    ) -> Divergence:
        program = on_model.model_run.program()
        step = program.steps[-1]
        model = step.answer or {}
        unlike = [(ours, theirs) for ours, theirs in took.pairs(got) if ours != theirs]
        expected, found = self._named(took.machine.keyspace()), self.target.snapshot(self.queue)
        return Divergence(
            program=program,
            step=len(program.steps) - 1,
            what=["answer"] * bool(unlike) + ["state"] * (expected != found),
            model=answered(unlike[0][0]) if unlike else model,
            server=answered(unlike[0][1]) if unlike else model,
            before=self._named(before),
            after_model=expected,
            after_server=found,
            events_model=[],
            events_server=[],
            calls=[],
        )

    def _named(self, keyspace: dict[str, Any]) -> dict[str, Any]:
        """A state of the model with the names of the queue on the server."""
        base = Keys(QUEUE).base
        return {self.queue.keys.base + key.removeprefix(base): value for key, value in keyspace.items()}

    def _at_end(self, on_model: ModelRunner, others: list[str], heard: list[Any] | None) -> Divergence | None:
        """What differs when the program has run: keys that no step can make, and what was published."""
        published = parsed(on_model.end().messages)
        what = ["state"] * bool(others) + ["events"] * (heard is not None and heard != published)
        if not what or not on_model.model_run.steps:
            return None
        last = len(on_model.model_run.steps) - 1
        answer = on_model.model_run.steps[last].step.answer or {}
        found = self.as_seen(Trial(on_model.model_run, Difference(last, what, answer, answer)), "")
        found.events_model, found.events_server = published, heard or []
        found.note = "seen when the program had run" + (
            f"; keys that it cannot have: {', '.join(others)}" if others else ""
        )
        return found


class _Candidate:
    """The model after a step, had it been taken at a certain millisecond."""

    def __init__(self, machine: Machine, operations: list[Sent], now_ms: int) -> None:
        self.now_ms = now_ms
        self.machine = machine.copy(VirtualClock(now_ms=now_ms))
        self.outcomes = [
            outcome(partial(operation.apply, self.machine, *args)) for operation, args, _ in operations
        ]
        self.keys, self.state = picture(self.machine)

    def pairs(self, got: list[OperationResult]) -> Iterator[tuple[OperationResult, OperationResult]]:
        """How each operation ended here, and how it ended there."""
        return zip(self.outcomes, got, strict=True)

    def agrees(self, operations: list[Sent], got: list[OperationResult]) -> bool:
        """Whether all transitions ended as on the server."""
        return all(
            ours == theirs
            for (operation, _, _), (ours, theirs) in zip(operations, self.pairs(got), strict=True)
            if isinstance(operation, Transition)
        )


def _us(time: Any) -> int:
    """An answer of TIME in microseconds; raises `ServerError` for one that is none."""
    if isinstance(time, ServerError):
        raise time
    seconds, micros = time
    return int(seconds) * 1_000_000 + int(micros)
