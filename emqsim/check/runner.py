"""A server made ready to run programs on: the scripts loaded, a queue for each program, its events heard."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from emqsim import VirtualClock
from emqsim.check.coverage import Coverage
from emqsim.check.divergence import Difference, Divergence, Stopped, Trial, environment
from emqsim.check.model_run import ModelRun, ModelStep, Source
from emqsim.check.picture import SCRIPT
from emqsim.check.recorder import OperationResult, Sent
from emqsim.check.target import Target
from emqsim.dialect import Dialect, Rules
from emqsim.errors import OutcomeUnknown, ServerError, ServerUnavailable
from emqsim.operation import Transition
from emqsim.scripts.prelude import Script
from emqsim.server import wire
from emqsim.server.connection import Command, Connection, Subscription, pack_word
from emqsim.server.serverqueue import ServerQueue
from emqsim.trace import Answer, Program, answer_of

ATTEMPTS = 3
"""How often a program is begun, in a new queue, where the connection is lost or the scripts are."""


_pack_key = lru_cache(4096)(pack_word)
"""Names of keys are sent again with every picture."""


class Forgotten(ServerError):
    """The server does not know a script that was loaded: its cache was emptied in the middle of a program."""


class Runner(ABC):
    """Runs programs on the model and on a server; with scripts of its own or the bundled ones.

    Raises `ValueError` for a script that does not compile, `ServerError` where the server refuses to load it.
    """

    def __init__(
        self,
        target: Target,
        dialect: Dialect,
        scripts: Mapping[str, str] | None = None,
        rules: Rules | None = None,
        clock: VirtualClock | None = None,
    ) -> None:
        self.dialect = dialect
        self.target = target
        self.rules = rules
        """The model's rules, where they are not those of the dialect."""
        self.undecided = 0
        """Steps whose time could not be told well enough to judge them."""
        self._scripts = scripts
        self._clock = clock
        self._picture = Script("picture", SCRIPT, clocked=False)
        self._at: int | None = None
        """The step that was sent last, where they are sent one by one."""
        self._connect()

    def _connect(self) -> None:
        self._client = self.target.client()
        self.queue = self._new_queue(self.target.queue_name())
        self._connection = Connection(self._client)
        self._load()
        self._subscription = Subscription(self._client, self.target.events())

    def _new_queue(self, name: str) -> ServerQueue:
        return ServerQueue(name, self._client, clock=self._clock, dialect=self.dialect, scripts=self._scripts)

    def _load(self) -> None:
        scripts = [*self.queue.scripts.values(), self._picture]
        loaded = self._connection.exchange([("SCRIPT", "LOAD", script.text) for script in scripts])
        for script, answer in zip(scripts, loaded, strict=True):
            if isinstance(answer, ServerError):
                if environment(answer.wire):
                    raise answer
                raise ValueError(
                    f"script {script.name} does not compile: {answer}{self._because_of_the_clock(script)}"
                )

    def _because_of_the_clock(self, script: Script) -> str:
        """That the script compiles without the line in front of it, where it does."""
        alone = self._connection.exchange([("SCRIPT", "LOAD", script.source)])[0]
        if not script.clocked or isinstance(alone, ServerError):
            return ""
        return "; it does without the line of the virtual clock in front: check it on the server's own time"

    def close(self) -> list[str]:
        """Leave the server as it was found; names of keys that stay behind."""
        for connection in (self.queue, self._connection, self._subscription):
            connection.close()
        return self.target.close()

    def begin(self, possible: list[bytes]) -> None:
        """Give the next program an empty queue."""
        name = self.target.queue_name()
        if name != self.queue.name:
            self.queue.close()
            self.queue = self._new_queue(name)
        self.target.begins(self.queue, possible)

    @abstractmethod
    def run(self, source: Source, coverage: Coverage | None = None) -> Trial:
        """Run a program on both. Raises `Stopped` where the server does not let it end."""

    def runs(
        self, sources: Iterable[Source], coverage: Coverage | None = None
    ) -> Generator[Trial, None, None]:
        """Run programs one after the other; raises as `run` does. To be closed by whoever stops before the end."""
        for source in sources:
            yield self.run(source, coverage)

    @abstractmethod
    def explain(self, trial: Trial) -> Divergence:
        """All there is to see of the difference in a trial."""

    def pictured(self, existing: list[bytes], possible: list[bytes]) -> bytes:
        """The command that makes a picture of the queue on the server."""
        keys = self.target.looked_at(existing, possible)
        head = ("EVALSHA", self._picture.sha, "0", self.queue.keys.base)
        words = (*map(pack_word, head), *map(_pack_key, keys))
        return b"*%d\r\n%b" % (len(words), b"".join(words))

    def heard(self) -> list[Any]:
        """The events of this program, since the last call."""
        channel = self.queue.key("events").encode()
        came = self._subscription.messages()
        others = [f"{message!r} on channel {name!r}" for name, message in came if name != channel]
        return parsed(message for name, message in came if name == channel) + others * self.target.all_ours

    def lost(self, failed: Exception, program: Program, last_try: bool) -> str | None:
        """After a call was not answered: in words that a script does not end, or `None` to try again on a new
        connection. Raises `Stopped` where that makes no sense."""
        late = isinstance(failed, OutcomeUnknown) and failed.timed_out
        words = self.target.hung() if late else None
        final = last_try or (isinstance(failed, ServerError) and not isinstance(failed, Forgotten))
        if not program.steps or (words is None and final):
            raise Stopped(str(failed), program) from failed
        if words is None or self.target.at_once:
            self._reconnect(failed, program)
        return words

    def _reconnect(self, failed: Exception, program: Program) -> None:
        until = time.monotonic() + self.target.patience_s
        while True:
            try:
                return self._connect()
            except (ServerUnavailable, OutcomeUnknown, ServerError) as again:
                if time.monotonic() > until:
                    words = str(failed) if str(failed) == str(again) else f"{failed}; then {again}"
                    raise Stopped(words, program) from failed
                time.sleep(0.05)

    def answers(self, commands: Sequence[Command | bytes]) -> list[Any]:
        """The answers to commands sent at once; raises `Forgotten` where the server does not know a script."""
        return known(self._connection.exchange(commands))

    def hang(self, model_run: ModelRun, step: int, words: str) -> Divergence:
        """The divergence of a script that did not end."""
        shown = Difference(
            step, ["answer"], model_run.steps[step].step.answer or {}, {"error": words}, hung=True
        )
        return self.as_seen(Trial(model_run, shown), "")

    def as_seen(self, trial: Trial, note: str) -> Divergence:
        """A divergence of which nothing is known but what was seen in passing."""
        model_run, seen = trial.model_run, trial.difference
        assert seen is not None
        program = model_run.program()
        del program.steps[seen.step + 1 :]
        return Divergence(
            program=program,
            step=seen.step,
            what=seen.what,
            model=seen.model,
            server=seen.server,
            before={},
            after_model={},
            after_server=None,
            events_model=[],
            events_server=[],
            calls=self.calls(model_run.steps[seen.step]),
            note=note,
            hung=seen.hung,
        )

    def calls(self, played: ModelStep) -> list[tuple[str, Script | None, list[Any], list[Any]]]:
        """The operations of a step with their scripts, KEYS and ARGV."""
        return [self._call(sent) for sent in played.sent]

    def _call(self, sent: Sent) -> tuple[str, Script | None, list[Any], list[Any]]:
        operation, args, _ = sent
        if isinstance(operation, Transition):
            keys, argv = wire.script_call(operation, self.queue.keys, args)
            return operation.name, self.queue.scripts[operation.name], [*keys], [*argv]
        return operation.name, None, [], list(args)


def known(answers: list[Any]) -> list[Any]:
    """The answers; raises `Forgotten` where one says that the server does not know a script."""
    for answer in answers:
        if isinstance(answer, ServerError) and answer.wire.startswith("NOSCRIPT"):
            raise Forgotten(f"the server has forgotten scripts that were loaded: {answer}")
    return answers


def answered(outcome: OperationResult) -> Answer:
    """An outcome as a trace has it."""
    kind, value = outcome
    if kind == "error":
        return {"error": value}

    def again() -> Any:
        if kind == "refused":
            error, text = value
            raise error(text)
        return value

    return answer_of(again)


def parsed(messages: Iterable[bytes]) -> list[Any]:
    """Events, parsed, since the order of their fields is the server's own business."""
    found: list[Any] = []
    for message in messages:
        try:
            found.append(json.loads(message.decode("utf-8", "surrogateescape")))
        except ValueError:
            found.append(message)
    return found
