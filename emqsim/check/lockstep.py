"""One program on the model and on a server: the answer and the whole state compared after every step.

The model needs no server, so a whole program runs on it first; then its operations go to the server, all at once
where it is ours, a picture of the keyspace behind each step. While the server is at it, the next program runs on the
model. Only where something differs is the program run once more, step by step with full snapshots, to show what.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from emqsim import VirtualClock
from emqsim.check.coverage import Coverage
from emqsim.check.divergence import Difference, Divergence, Stopped, Trial
from emqsim.check.model_run import ModelRun, Source, run_on_model
from emqsim.check.recorder import Recorder, outcome
from emqsim.check.runner import ATTEMPTS, Runner, answered, known, parsed
from emqsim.check.target import Target
from emqsim.dialect import Dialect, Rules
from emqsim.errors import OutcomeUnknown, ServerError, ServerUnavailable
from emqsim.operation import Transition
from emqsim.server import wire
from emqsim.server.connection import pack
from emqsim.trace import perform

_FAILURES = (OutcomeUnknown, ServerUnavailable, ServerError)

Answers = Callable[[], list[Any]]


class Taken(NamedTuple):
    """What came of a program on a server."""

    steps: list[tuple[list[Any], bytes]]
    """For each step the answers to its operations, and the picture."""
    others: list[str]
    """Keys that cannot exist and do."""
    heard: list[Any]


WALKS = 3
"""How often a difference is looked for again, before it is shown as it was seen."""


class Lockstep(Runner):
    """Programs on the virtual clock, which the scripts read by a prelude of one line."""

    _clock: VirtualClock

    def __init__(
        self,
        target: Target,
        dialect: Dialect,
        scripts: Mapping[str, str] | None = None,
        rules: Rules | None = None,
    ) -> None:
        super().__init__(target, dialect, scripts, rules, VirtualClock())

    def run(self, source: Source, coverage: Coverage | None = None) -> Trial:
        (trial,) = self.runs([source], coverage)
        return trial

    def runs(
        self, sources: Iterable[Source], coverage: Coverage | None = None
    ) -> Generator[Trial, None, None]:
        """While a server of ours is at one program, the next one runs on the model, and the one before is compared."""
        ahead: tuple[ModelRun, Answers] | None = None
        try:
            for source in sources:
                program = run_on_model(source, self.dialect, coverage, self.rules)
                commands = self._commands(program) if self.target.at_once else []
                behind, ahead = ahead, None
                before = behind and self._settled(*behind)
                if isinstance(before, Trial):
                    yield before
                ahead = program, self._begun(program, commands)
                if callable(before):
                    yield before()
            if ahead:
                behind, ahead = ahead, None
                before = self._settled(*behind)
                yield before if isinstance(before, Trial) else before()
        finally:
            if ahead:
                self._forgone(*ahead)

    def _forgone(self, program: ModelRun, answers: Answers) -> None:
        """Let a program end that was sent ahead and is not asked for."""
        try:
            self._taken(program, answers)
        except _FAILURES as failed:
            with suppress(Stopped):
                self.lost(failed, program.program(), last_try=True)

    def _settled(self, program: ModelRun, answers: Answers) -> Callable[[], Trial] | Trial:
        """Take what came of a program on the server, trying again where that fails; what is returned compares, or is
        the trial itself where a script does not end."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return partial(self._trial, program, self._taken(program, answers))
            except _FAILURES as failed:
                step = len(program.steps) - 1 if self._at is None else self._at
                so_far = program.program()
                del so_far.steps[step + 1 :]
                words = self.lost(failed, so_far, attempt == ATTEMPTS)
            if words is not None:
                model = program.steps[step].step.answer or {}
                hung = Difference(step, ["answer"], model, {"error": words}, hung=True)
                return _cut(program, hung)
            answers = self._begun(program, self._commands(program))
        raise AssertionError("unreachable")

    def _trial(self, program: ModelRun, taken: Taken) -> Trial:
        return _cut(program, self._compare(program, taken))

    def _taken(self, program: ModelRun, answers: Answers) -> Taken:
        """What came of a program on the server. Raises `ServerError` where a picture could not be made."""
        replies = iter(answers())
        steps = []
        for played in program.steps:
            steps.append(([next(replies) for _ in played.sent], next(replies)))
            if isinstance(steps[-1][1], ServerError):
                raise steps[-1][1]
        return Taken(steps, self.target.ends(self.queue, program.possible), self.heard())

    def _compare(self, program: ModelRun, taken: Taken) -> Difference | None:
        if not program.steps:
            return None
        for index, (played, (replies, picture)) in enumerate(zip(program.steps, taken.steps, strict=True)):
            for (operation, _, expected), reply in zip(played.sent, replies, strict=True):
                if isinstance(operation, Transition):
                    got = outcome(partial(wire.meaning, operation, reply))
                    if got != expected:
                        return Difference(index, ["answer"], answered(expected), answered(got))
            if not self.target.shows(picture, played.state):
                return self._unlike(program, index, "state")
        if taken.others:
            return self._unlike(program, len(program.steps) - 1, "state")
        if taken.heard != parsed(program.messages):
            return self._unlike(program, len(program.steps) - 1, "events")
        return None

    def _unlike(self, program: ModelRun, step: int, what: str) -> Difference:
        answer = program.steps[step].step.answer or {}
        return Difference(step, [what], answer, answer)

    def _commands(self, program: ModelRun) -> list[list[bytes]]:
        """For each step of a program its operations, and behind them the command that makes a picture."""
        found = []
        for played in program.steps:
            self._clock.set(now_us=played.step.now_us)
            commands = [
                pack(command)
                for operation, args, _ in played.sent
                for command in self.queue.commands(operation, *args)
            ]
            found.append([*commands, self.pictured(played.keys, program.possible)])
        return found

    def _begun(self, program: ModelRun, commands: list[list[bytes]]) -> Answers:
        """Send a program, all of it where the server is ours; what is returned gives the answers, or fails."""
        if not self.target.at_once:
            return partial(self._one_by_one, program)
        self._at = None
        first = self.target.first()
        try:
            self.begin(program.possible)
            answers = self._connection.begin([*first, *chain.from_iterable(commands)])
        except _FAILURES as failed:
            return partial(_fail, failed)
        return lambda: known(answers())[len(first) :]

    def _one_by_one(self, program: ModelRun) -> list[Any]:
        self.begin(program.possible)
        answers = []
        for index, commands in enumerate(self._commands(program)):
            self._at = index
            answers += self.answers(commands)
        return answers

    def explain(self, trial: Trial) -> Divergence:
        """Run the program step by step and give the first difference with all there is to see.

        One that does not show again is given as it was seen; another's server is not made to hang twice.
        """
        assert trial.difference is not None
        hung = trial.difference.hung
        for _ in range(0 if hung and not self.target.at_once else WALKS):
            try:
                found = self._walk(trial.model_run)
            except (OutcomeUnknown, ServerUnavailable, ServerError, Stopped):
                break
            if found is not None:
                return found
        again = f"seen once, and not in {WALKS} more runs step by step: the script or the server is not consistent"
        return self.as_seen(trial, "" if hung and not self.target.at_once else again)

    def _walk(self, program: ModelRun) -> Divergence | None:
        self.begin(program.possible)
        self.heard()
        for command in self.target.first():
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
            expected, found = model.snapshot(), self.target.snapshot(self.queue)
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
                self.target.ends(self.queue, program.possible)
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
        self.target.ends(self.queue, program.possible)
        return None


def _cut(program: ModelRun, difference: Difference | None) -> Trial:
    """The trial of a program, which ends at its first difference."""
    steps = len(program.steps)
    if difference is not None:
        del program.steps[difference.step + 1 :]
    return Trial(program, difference, steps)


def _fail(failed: Exception) -> list[Any]:
    raise failed
