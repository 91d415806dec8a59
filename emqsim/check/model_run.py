"""A program on the model: its steps, what each came down to, and the state after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from emqsim.check.coverage import Coverage
from emqsim.check.picture import names, picture
from emqsim.check.programs import VIRTUAL, Call, GeneratorState, Pools, actions, steps
from emqsim.check.recorder import Recorder, Sent
from emqsim.check.target import QUEUE
from emqsim.dialect import Dialect, Rules
from emqsim.trace import Program, Step, perform

Source = Callable[[GeneratorState], Iterator[Call]]
"""Where the steps of a program come from: calls, each made when the one before has run on the model."""


@dataclass
class ModelStep:
    """A step as it went on the model."""

    step: Step
    sent: list[Sent]
    """The operations that the call came down to, reads aside."""
    keys: list[bytes]
    state: bytes
    """The keys that exist after the step, and the picture of their values."""


@dataclass
class ModelRun:
    """A program that ran on the model."""

    dialect: Dialect
    steps: list[ModelStep] = field(default_factory=list)
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


class ModelRunner:
    """The model while a program runs on it."""

    def __init__(
        self,
        dialect: Dialect,
        coverage: Coverage | None = None,
        pools: Pools = VIRTUAL,
        rules: Rules | None = None,
    ) -> None:
        self.queue = Recorder(QUEUE, dialect, coverage, rules)
        self.known = GeneratorState(self.queue, pools)
        self.model_run = ModelRun(dialect)

    def act(self, call: str, args: tuple[Any, ...]) -> ModelStep:
        """One step, at the clock's time."""
        queue = self.queue
        queue.sent = []
        step = Step(queue.clock.now_us, call, args, perform(queue, call, args))
        self.known.remember(queue.sent)
        played = ModelStep(step, queue.sent, *picture(queue.machine))
        self.model_run.steps.append(played)
        return played

    def end(self) -> ModelRun:
        """The whole program."""
        self.model_run.messages = [message for _, message in self.queue.events]
        return self.model_run


def from_bytes(program: bytes) -> Source:
    """The steps that a string of bytes stands for."""

    def calls(known: GeneratorState) -> Iterator[Call]:
        for action, (a, b, c, kind, amount) in actions(program):
            known.wait(kind, amount)
            yield from action.calls(known, a, b, c)

    return lambda known: islice(calls(known), steps(program))


def from_steps(steps: Iterable[Step]) -> Source:
    """Steps that are already made, at their times."""

    def calls(known: GeneratorState) -> Iterator[Call]:
        for step in steps:
            known.queue.clock.set(now_us=step.now_us)
            yield step.call, step.args

    return calls


def run_on_model(
    source: Source, dialect: Dialect, coverage: Coverage | None = None, rules: Rules | None = None
) -> ModelRun:
    """Run a program on the model, by the rules of the dialect or by others."""
    on_model = ModelRunner(dialect, coverage, rules=rules)
    for call, args in source(on_model.known):
        on_model.act(call, args)
    return on_model.end()
