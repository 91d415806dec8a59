"""One program on the model and on a server: the answer and the whole state compared after every step.

The model needs no server, so a whole program runs on it first; then its operations go to the server in one
pipeline, a picture of the keyspace behind each step. Only where something differs is the program run once more,
step by step with full snapshots, to show what.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from emqsim import VirtualClock
from emqsim.check.coverage import Coverage
from emqsim.check.picture import SCRIPT, picture
from emqsim.check.programs import Scene, actions
from emqsim.check.recorder import Recorder, Sent, outcome
from emqsim.dialect import Dialect, Rules
from emqsim.operation import Transition
from emqsim.server import wire
from emqsim.server.connection import Command, Connection, Subscription, pack
from emqsim.server.errors import ServerError
from emqsim.server.scripts import Script
from emqsim.server.serverqueue import ServerQueue, glob
from emqsim.trace import Answer, Program, Step, perform

QUEUE = "emqsim-check"


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

    name: str
    dialect: Dialect
    rules: Rules | None = None
    """The model's rules, where they are not those of the dialect."""
    steps: list[Played] = field(default_factory=list)
    events: list[tuple[str, bytes]] = field(default_factory=list)

    def program(self, note: str = "") -> Program:
        """The program as a trace."""
        steps = [played.step for played in self.steps]
        return Program(steps, queue=self.name, dialect=self.dialect, note=note)


class Stage:
    """The model while a program runs on it."""

    def __init__(
        self, name: str, dialect: Dialect, coverage: Coverage | None = None, rules: Rules | None = None
    ) -> None:
        self.queue = Recorder(name, dialect, coverage, rules)
        self.scene = Scene(self.queue)
        self.play = Play(name, dialect, rules)

    def act(self, call: str, args: tuple[Any, ...]) -> None:
        """One step, at the clock's time."""
        queue, scene = self.queue, self.scene
        queue.sent = []
        step = Step(queue.clock.now_us, call, args, perform(queue, call, args))
        scene.remember(queue.sent)
        self.play.steps.append(Played(step, queue.sent, *picture(queue.machine)))

    def end(self) -> Play:
        """The whole program."""
        self.play.events = self.queue.events
        return self.play


def play_bytes(
    program: bytes, dialect: Dialect, coverage: Coverage | None = None, rules: Rules | None = None
) -> Play:
    """Run the program that a string of bytes stands for on the model."""
    stage = Stage(QUEUE, dialect, coverage, rules)
    for action, (a, b, c, kind, amount) in actions(program):
        stage.scene.wait(kind, amount)
        stage.act(action.call, action.make(stage.scene, a, b, c))
    return stage.end()


def play_steps(
    steps: Iterable[Step], dialect: Dialect, name: str = QUEUE, rules: Rules | None = None
) -> Play:
    """Run steps that are already made on the model."""
    stage = Stage(name, dialect, rules=rules)
    for step in steps:
        stage.queue.clock.set(now_us=step.now_us)
        stage.act(step.call, step.args)
    return stage.end()


@dataclass
class Divergence:
    """The first step at which a server does something else than the model."""

    program: Program
    step: int
    model: Answer
    server: Answer
    before: dict[str, Any]
    after_model: dict[str, Any]
    after_server: dict[str, Any]
    events_model: list[Any]
    events_server: list[Any]
    calls: list[tuple[str, Script | None, list[Any], list[Any]]]
    """The operations of the step: name, script, KEYS and ARGV."""

    @property
    def what(self) -> list[str]:
        """What differs: the answer, the state, the events."""
        differs = {
            "answer": self.model != self.server,
            "state": self.after_model != self.after_server,
            "events": self.events_model != self.events_server,
        }
        return [name for name, there in differs.items() if there]


class Lockstep:
    """A server to run programs on, with scripts of its own or the bundled ones, that is ours alone."""

    def __init__(
        self, client: Any, dialect: Dialect, scripts: Mapping[str, str] | None = None, name: str = QUEUE
    ) -> None:
        self.dialect = dialect
        self._clock = VirtualClock()
        self.queue = ServerQueue(name, client, clock=self._clock, dialect=dialect, scripts=scripts)
        self._connection = Connection(client)
        self._subscription = Subscription(client, glob(self.queue.key("events")))
        self._picture = Script("picture", SCRIPT, clocked=False)
        self.load()

    def load(self) -> None:
        """Send every script to the server; raises `ServerError` for one that does not compile."""
        for script in (*self.queue.scripts.values(), self._picture):
            try:
                self._connection.call("SCRIPT", "LOAD", script.text)
            except ServerError as refused:
                raise ValueError(f"script {script.name} does not compile: {refused}") from None

    def first_difference(self, play: Play) -> int | None:
        """The step at which a program goes another way on the server, or None."""
        answers = self._send(play)
        if any(isinstance(answer, ServerError) and answer.wire.startswith("NOSCRIPT") for answer in answers):
            self.load()
            self._subscription.messages()
            answers = self._send(play)
        came = parsed(self._subscription.messages())
        replies = iter(answers[1:])
        for index, played in enumerate(play.steps):
            for operation, _, expected in played.sent:
                got = outcome(partial(wire.meaning, operation, next(replies)))
                if isinstance(operation, Transition) and got != expected:
                    return index
            seen = next(replies)
            if isinstance(seen, ServerError):
                raise seen
            state, strangers = seen
            if state != played.state or strangers:
                return index
        return len(play.steps) - 1 if came != parsed(play.events) else None

    def _send(self, play: Play) -> list[Any]:
        look: tuple[bytes, ...] = (
            b"EVALSHA",
            self._picture.sha.encode(),
            b"0",
            self.queue.keys.base.encode(),
        )
        commands: list[Command | bytes] = [("FLUSHALL",)]
        for played in play.steps:
            self._clock.set(now_us=played.step.now_us)
            for operation, args, _ in played.sent:
                commands += self.queue.commands(operation, *args)
            commands.append(pack((*look, *played.keys)))
        return self._connection.exchange(commands)

    def explain(self, play: Play) -> Divergence | None:
        """Run a program step by step and give the first difference with all there is to see."""
        self._connection.call("FLUSHALL")
        self._subscription.messages()
        model = Recorder(self.queue.name, self.dialect, rules=play.rules)
        before: dict[str, Any] = {}
        published = 0
        for index, played in enumerate(play.steps):
            step = played.step
            for clock in (model.clock, self._clock):
                clock.set(now_us=step.now_us)
            model_answer, server_answer = (
                perform(queue, step.call, step.args) for queue in (model, self.queue)
            )
            expected, found = model.snapshot(), self._everything()
            events_model = parsed(model.events[published:])
            events_server = parsed(self._subscription.messages())
            published = len(model.events)
            divergence = Divergence(
                program=play.program(),
                step=index,
                model=model_answer,
                server=server_answer,
                before=before,
                after_model=expected,
                after_server=found,
                events_model=events_model,
                events_server=events_server,
                calls=[*map(self._call, played.sent)],
            )
            if divergence.what:
                del divergence.program.steps[index + 1 :]
                return divergence
            before = expected
        return None

    def _everything(self) -> dict[str, Any]:
        """The whole server, since it is ours alone: a script may write where it should not."""
        return self.queue.snapshot(everything=True)

    def _call(self, sent: Sent) -> tuple[str, Script | None, list[Any], list[Any]]:
        operation, args, _ = sent
        if isinstance(operation, Transition):
            keys, argv = wire.script_call(operation, self.queue.keys, args)
            return operation.name, self.queue.scripts[operation.name], [*keys], [*argv]
        return operation.name, None, [], list(args)


def parsed(events: Iterable[tuple[str | bytes, bytes]]) -> list[Any]:
    """Events with their messages parsed, since the order of the fields is the server's own business."""
    found = []
    for channel, message in events:
        name = channel if isinstance(channel, str) else channel.decode("utf-8", "surrogateescape")
        try:
            found.append((name, json.loads(message.decode("utf-8", "surrogateescape"))))
        except ValueError:
            found.append((name, message))
    return found
