"""One program on the model and on a server: the answer and the whole state compared after every step.

The model needs no server, so a whole program runs on it first; then its operations go to the server, all at once
where it is ours, a picture of the keyspace behind each step. Only where something differs is the program run once
more, step by step with full snapshots, to show what.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from emqsim import VirtualClock
from emqsim.check.coverage import Coverage
from emqsim.check.divergence import Difference, Divergence, Stopped, Trial
from emqsim.check.ground import Ground
from emqsim.check.play import Play, Source, play
from emqsim.check.recorder import Recorder, outcome
from emqsim.check.rig import ATTEMPTS, Rig, answered, parsed
from emqsim.dialect import Dialect, Rules
from emqsim.operation import Transition
from emqsim.server import wire
from emqsim.server.connection import Command
from emqsim.server.errors import OutcomeUnknown, ServerError, ServerUnavailable
from emqsim.trace import perform

WALKS = 3
"""How often a difference is looked for again, before it is shown as it was seen."""


class Lockstep(Rig):
    """Programs on the virtual clock, which the scripts read by a prelude of one line."""

    _clock: VirtualClock

    def __init__(
        self,
        ground: Ground,
        dialect: Dialect,
        scripts: Mapping[str, str] | None = None,
        rules: Rules | None = None,
    ) -> None:
        super().__init__(ground, dialect, scripts, rules, VirtualClock())

    def run(self, source: Source, coverage: Coverage | None = None) -> Trial:
        played = play(source, self.dialect, coverage, self.rules)
        steps = len(played.steps)
        difference = self._difference(played)
        if difference is not None:
            del played.steps[difference.step + 1 :]
        return Trial(played, difference, steps)

    def _difference(self, program: Play) -> Difference | None:
        for attempt in range(1, ATTEMPTS + 1) if program.steps else ():
            try:
                return self._compare(program)
            except (OutcomeUnknown, ServerUnavailable, ServerError) as failed:
                step = len(program.steps) - 1 if self._at is None else self._at
                so_far = program.program()
                del so_far.steps[step + 1 :]
                words = self.lost(failed, so_far, attempt == ATTEMPTS)
                if words is not None:
                    model = program.steps[step].step.answer or {}
                    return Difference(step, ["answer"], model, {"error": words}, hung=True)
        return None

    def _compare(self, program: Play) -> Difference | None:
        answers = self._send(program)
        others = self.ground.ends(self.queue, program.possible)
        heard = self.heard()
        replies = iter(answers)
        for index, played in enumerate(program.steps):
            for operation, _, expected in played.sent:
                got = outcome(partial(wire.meaning, operation, next(replies)))
                if isinstance(operation, Transition) and got != expected:
                    return Difference(index, ["answer"], answered(expected), answered(got))
            seen = next(replies)
            if isinstance(seen, ServerError):
                raise seen
            state, beside = seen
            if state != played.state or self.ground.strange(beside):
                return self._unlike(program, index, "state")
        if others:
            return self._unlike(program, len(program.steps) - 1, "state")
        if heard != parsed(program.messages):
            return self._unlike(program, len(program.steps) - 1, "events")
        return None

    def _unlike(self, program: Play, step: int, what: str) -> Difference:
        answer = program.steps[step].step.answer or {}
        return Difference(step, [what], answer, answer)

    def _send(self, program: Play) -> list[Any]:
        """The answers to all operations of a program in a new queue, and after each step a picture."""
        self.begin(program.possible)
        at_once: list[Command | bytes] = []
        answers: list[Any] = []
        first = self.ground.first()
        self._at = None if self.ground.at_once else 0
        for index, played in enumerate(program.steps):
            self._clock.set(now_us=played.step.now_us)
            commands: list[Command | bytes] = []
            for operation, args, _ in played.sent:
                commands += self.queue.commands(operation, *args)
            commands.append(self.pictured(played.keys, program.possible))
            if self.ground.at_once:
                at_once += commands
            else:
                self._at = index
                answers += self.answers(commands)
        if self.ground.at_once:
            answers = self.answers([*first, *at_once])[len(first) :]
        return answers

    def explain(self, trial: Trial) -> Divergence:
        """Run the program step by step and give the first difference with all there is to see.

        One that does not show again is given as it was seen; another's server is not made to hang twice.
        """
        assert trial.difference is not None
        hung = trial.difference.hung
        for _ in range(0 if hung and not self.ground.at_once else WALKS):
            try:
                found = self._walk(trial.play)
            except (OutcomeUnknown, ServerUnavailable, ServerError, Stopped):
                break
            if found is not None:
                return found
        again = f"seen once, and not in {WALKS} more runs step by step: the script or the server is not consistent"
        return self.as_seen(trial, "" if hung and not self.ground.at_once else again)

    def _walk(self, program: Play) -> Divergence | None:
        self.begin(program.possible)
        self.heard()
        for command in self.ground.first():
            self._connection.call(*command)
        model = Recorder(self.queue.name, self.dialect, rules=self.rules)
        before: dict[str, Any] = {}
        published = 0
        for index, played in enumerate(program.steps):
            step = played.step
            for clock in (model.clock, self._clock):
                clock.set(now_us=step.now_us)
            model_answer = perform(model, step.call, step.args)
            try:
                server_answer = perform(self.queue, step.call, step.args)
            except OutcomeUnknown as failed:
                so_far = program.program()
                del so_far.steps[index + 1 :]
                words = self.lost(failed, so_far, last_try=False)
                return None if words is None else self.hang(program, index, words)
            expected, found = model.snapshot(), self.ground.snapshot(self.queue)
            events_model = parsed(message for _, message in model.events[published:])
            events_server = self.heard()
            published = len(model.events)
            pairs = {
                "answer": (model_answer, server_answer),
                "state": (expected, found),
                "events": (events_model, events_server),
            }
            what = [name for name, (ours, theirs) in pairs.items() if ours != theirs]
            if what:
                so_far = program.program()
                del so_far.steps[index + 1 :]
                self.ground.ends(self.queue, program.possible)
                return Divergence(
                    program=so_far,
                    step=index,
                    what=what,
                    model=model_answer,
                    server=server_answer,
                    before=before,
                    after_model=expected,
                    after_server=found,
                    events_model=events_model,
                    events_server=events_server,
                    calls=self.calls(played),
                )
            before = expected
        self.ground.ends(self.queue, program.possible)
        return None
