"""A program on the model: its steps, what each came down to, and the state after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from emqsim.check.coverage import Coverage
from emqsim.check.ground import QUEUE
from emqsim.check.picture import names, picture
from emqsim.check.programs import VIRTUAL, Call, Pools, Scene, actions, steps
from emqsim.check.recorder import Recorder, Sent
from emqsim.dialect import Dialect, Rules
from emqsim.trace import Program, Step, perform

Source = Callable[[Scene], Iterator[Call]]
"""Where the steps of a program come from: calls, each made when the one before has run on the model."""


@dataclass
class Played:
    """A step as it went on the model."""

    step: Step
    sent: list[Sent]
    """The operations that the call came down to, reads aside."""
    keys: list[bytes]
    state: bytes
    """The keys that exist after the step, and the picture of their values."""


@dataclass
class Play:
    """A program that ran on the model."""

    dialect: Dialect
    steps: list[Played] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    """What was published."""
    name: str = QUEUE

    def program(self) -> Program:
        """The program as a trace."""
        return Program([played.step for played in self.steps], queue=self.name, dialect=self.dialect)

    @cached_property
    def possible(self) -> list[bytes]:
        """Every key that can exist while the program runs, as a picture takes them."""
        return possible(sent for played in self.steps for sent in played.sent)


def possible(all_sent: Iterable[Sent]) -> list[bytes]:
    """Every key that can exist when these operations have run."""
    job_ids: dict[str, None] = {}
    dedup_ids: dict[str, None] = {}
    for operation, args, _ in all_sent:
        named = dict(zip(operation.params, args, strict=True))
        job_ids |= dict.fromkeys(job_id for job_id, _ in named.get("held", ()))
        if "job_id" in named:
            job_ids[named["job_id"]] = None
        if "dedup_id" in named:
            dedup_ids[named["dedup_id"]] = None
    return names(job_ids, dedup_ids)


class Stage:
    """The model while a program runs on it."""

    def __init__(
        self,
        dialect: Dialect,
        coverage: Coverage | None = None,
        pools: Pools = VIRTUAL,
        rules: Rules | None = None,
    ) -> None:
        self.queue = Recorder(QUEUE, dialect, coverage, rules)
        self.scene = Scene(self.queue, pools)
        self.play = Play(dialect)

    def act(self, call: str, args: tuple[Any, ...]) -> Played:
        """One step, at the clock's time."""
        queue = self.queue
        queue.sent = []
        step = Step(queue.clock.now_us, call, args, perform(queue, call, args))
        self.scene.remember(queue.sent)
        played = Played(step, queue.sent, *picture(queue.machine))
        self.play.steps.append(played)
        return played

    def end(self) -> Play:
        """The whole program."""
        self.play.messages = [message for _, message in self.queue.events]
        return self.play


def from_bytes(program: bytes) -> Source:
    """The steps that a string of bytes stands for."""

    def calls(scene: Scene) -> Iterator[Call]:
        for action, (a, b, c, kind, amount) in actions(program):
            scene.wait(kind, amount)
            yield from action.calls(scene, a, b, c)

    return lambda scene: islice(calls(scene), steps(program))


def from_steps(steps: Iterable[Step]) -> Source:
    """Steps that are already made, at their times."""

    def calls(scene: Scene) -> Iterator[Call]:
        for step in steps:
            scene.queue.clock.set(now_us=step.now_us)
            yield step.call, step.args

    return calls


def play(
    source: Source, dialect: Dialect, coverage: Coverage | None = None, rules: Rules | None = None
) -> Play:
    """Run a program on the model, by the rules of the dialect or by others."""
    stage = Stage(dialect, coverage, rules=rules)
    for call, args in source(stage.scene):
        stage.act(call, args)
    return stage.end()
