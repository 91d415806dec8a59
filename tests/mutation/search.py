"""Search for a program that tells a mutant from the bundled script: the check's own programs, in its own order.

What the check does with a thousand programs for one set of scripts is done here for thousands of sets. The model's
side of a program is the same for all mutants and is run once. And since all scripts but the mutant are the bundled
ones, the first difference is at a step that runs the mutant: the others are not compared. A program that shows a
difference is then given to the check's own comparison, which has to see it too, and to its shrinking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial

from emqsim.check.drawn import programs
from emqsim.check.lockstep import Lockstep
from emqsim.check.model_run import ModelRun, from_bytes, run_on_model
from emqsim.check.picture import SCRIPT
from emqsim.check.recorder import OperationResult, outcome
from emqsim.check.run import EXAMPLES, STEPS
from emqsim.check.runner import parsed
from emqsim.check.shrink import shrink
from emqsim.check.target import OWN_TIMEOUT_S, QUEUE, OwnTarget
from emqsim.clock import VirtualClock
from emqsim.dialect import Dialect
from emqsim.keys import Keys
from emqsim.operation import Operation, Transition
from emqsim.scripts.prelude import Script
from emqsim.server import EmbeddedServer, OutcomeUnknown, ServerError, ServerQueue, wire
from emqsim.server.address import make_client
from emqsim.server.connection import Connection, Subscription, pack

from .operators import Mutant

SEED = 1


@dataclass(frozen=True)
class Result:
    """What became of a mutant."""

    mutant: str
    script: str
    operator: str
    outcome: str
    """`caught`, `survived`, or `broken`: the server does not compile it."""
    programs: int = 0
    steps: int = 0
    """Steps of the check's run up to the program that caught it, that one among them."""
    shortest: int = 0
    """Steps of the program after shrinking, 0 where a hang is not shrunk."""


@dataclass(frozen=True)
class Sent:
    """An operation as it goes to the server, and how it ends on the model."""

    operation: Operation
    request: bytes
    expected: OperationResult


@dataclass(frozen=True)
class Course:
    """A program ready to be sent: for each step its operations, the command for a picture, and the picture."""

    program: bytes
    model_run: ModelRun
    steps: list[tuple[list[Sent], bytes, bytes]]
    names: frozenset[str]
    """Of the transitions in it."""


class Corpus:
    """The programs of a default run of the check in one dialect, run on the model when they are first needed."""

    def __init__(self, dialect: Dialect, server: EmbeddedServer) -> None:
        self._dialect = dialect
        self._clock = VirtualClock()
        self._queue = ServerQueue(QUEUE, server.client(), clock=self._clock, dialect=dialect)
        self._made: list[Course] = []
        self._programs = programs(SEED, EXAMPLES, STEPS)

    def __iter__(self) -> Iterator[Course]:
        for index in range(EXAMPLES):
            if index == len(self._made):
                self._made.append(self._course(next(self._programs)))
            yield self._made[index]

    @property
    def scripts(self) -> dict[str, Script]:
        """The bundled scripts as the check sends them, by transition."""
        return dict(self._queue.scripts)

    def _course(self, program: bytes) -> Course:
        played = run_on_model(from_bytes(program), self._dialect)
        steps = []
        for step in played.steps:
            self._clock.set(now_us=step.step.now_us)
            sent = [
                Sent(operation, b"".join(map(pack, self._queue.commands(operation, *args))), expected)
                for operation, args, expected in step.sent
            ]
            look = pack(("EVALSHA", _PICTURE.sha, "0", self._queue.keys.base, *step.keys))
            steps.append((sent, look, step.state))
        names = frozenset(sent.operation.name for sends, _, _ in steps for sent in sends)
        return Course(program, played, steps, names)


_PICTURE = Script("picture", SCRIPT, clocked=False)


class Search:
    """One server, and the programs to tell mutants apart with."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        self._corpus = cache(lambda dialect: Corpus(dialect, server))
        self._connect()

    def _connect(self) -> None:
        self._at = self._server.url
        client = make_client(self._server.url, socket_timeout=OWN_TIMEOUT_S)
        self._connection = Connection(client)
        self._events = Keys(QUEUE).events
        self._subscription = Subscription(client, self._events)
        self._connection.call("SCRIPT", "LOAD", _PICTURE.text)
        self._loaded: set[Dialect] = set()

    def __call__(self, mutant: Mutant) -> Result:
        """What becomes of a mutant."""
        described = partial(Result, mutant.name, mutant.script, mutant.operator)
        if self._server.url != self._at:
            self._connect()
        corpus = self._corpus(mutant.dialect)
        if mutant.dialect not in self._loaded:
            self._loaded.add(mutant.dialect)
            for script in corpus.scripts.values():
                self._connection.call("SCRIPT", "LOAD", script.text)
        faulty = Script(mutant.script, mutant.source, clocked=True)
        try:
            self._connection.call("SCRIPT", "LOAD", faulty.text)
        except ServerError:
            return described("broken")
        sha = corpus.scripts[mutant.transition].sha.encode(), faulty.sha.encode()
        steps = 0
        for tried, course in enumerate(corpus, 1):
            steps += len(course.model_run.steps)
            try:
                if mutant.transition in course.names and self._differs(course, mutant.transition, sha):
                    return described("caught", tried, steps, self._shortest(mutant, course.program))
            except OutcomeUnknown:
                self._server.restart()
                return described("caught", tried, steps)
        return described("survived", EXAMPLES, steps)

    def _differs(self, course: Course, name: str, sha: tuple[bytes, bytes]) -> bool:
        """Whether the server does something else in a step that runs the transition."""
        requests = [pack(("FLUSHALL",))]
        expected: list[tuple[Operation, OperationResult] | bytes | None] = [None]
        end = max(index for index, (sends, _, _) in enumerate(course.steps) if _runs(sends, name))
        for sends, look, state in course.steps[: end + 1]:
            for sent in sends:
                ours = sent.operation.name == name
                requests.append(sent.request.replace(*sha) if ours else sent.request)
                expected.append((sent.operation, sent.expected) if ours else None)
            if _runs(sends, name):
                requests.append(look)
                expected.append(state)
        self._subscription.messages()
        answers = self._connection.exchange(requests)
        channel = self._events.encode()
        came = parsed(message for name, message in self._subscription.messages() if name == channel)
        for answer, wanted in zip(answers, expected, strict=True):
            if isinstance(wanted, bytes):
                if isinstance(answer, ServerError):
                    raise answer
                if answer != wanted + b"0":
                    return True
            elif wanted is not None:
                operation, ending = wanted
                if outcome(partial(wire.meaning, operation, answer)) != ending:
                    return True
        return name == "update_progress" and came != parsed(course.model_run.messages)

    def _shortest(self, mutant: Mutant, program: bytes) -> int:
        """Steps of the shortest program that the check finds from one that shows a difference."""
        runner = Lockstep(OwnTarget(self._server), mutant.dialect, {mutant.script: mutant.source})

        def fails(candidate: bytes) -> bool:
            return runner.run(from_bytes(candidate)).difference is not None

        assert fails(program), f"the check does not see what {mutant.name} does"
        shortest = shrink(program, fails)
        runner.close()
        return len(run_on_model(from_bytes(shortest), mutant.dialect).steps)


def _runs(sends: list[Sent], name: str) -> bool:
    return any(isinstance(sent.operation, Transition) and sent.operation.name == name for sent in sends)
