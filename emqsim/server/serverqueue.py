"""The queue on a real server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from emqsim import guards, replies
from emqsim.base import BaseQueue
from emqsim.clock import VirtualClock
from emqsim.dialect import Dialect
from emqsim.errors import ServerError
from emqsim.keys import SETS
from emqsim.machine import TRANSITIONS, read_set, update_progress
from emqsim.operation import Operation, Plain, Transition
from emqsim.scripts.bundle import check_names, choose
from emqsim.scripts.prelude import Script
from emqsim.server import wire
from emqsim.server.connection import Command, Connection, Subscription

if TYPE_CHECKING:
    from emqsim.history import Watch


class ServerQueue(BaseQueue):
    """All calls of `emqsim.Queue`, but `copy`, on a real server.

    `client` is a `valkey.Valkey` or `redis.Redis`, whatever its settings; connections of our own are made
    from them. With a `clock`, the scripts read that clock by a prelude of one line; with `None` they run
    byte for byte on the server's time. `scripts` maps script names to Lua sources that replace the bundled
    ones. Dialect wire6 sends the `EMQ.*` commands, which always read the server's own clock. With `history`,
    `queue.history(job_id)` tells what happened to a job, others' doings too, at the cost of two more reads of
    the four sets for each call.

    No transition is ever sent twice: a call whose answer does not come raises `OutcomeUnknown`.
    Beside the errors of `BaseQueue`, calls raise `ServerUnavailable`, and `ServerError` for an error answer that
    is no refusal.
    """

    def __init__(
        self,
        name: str,
        client: Any,
        *,
        clock: VirtualClock | None = None,
        dialect: Dialect | str = Dialect.WIRE4,
        scripts: Mapping[str, str] | None = None,
        history: bool = False,
    ) -> None:
        super().__init__(name, dialect)
        if clock is not None and not isinstance(clock, VirtualClock):
            raise TypeError(f"clock must be a VirtualClock or None, not {clock!r}")
        check_names(scripts or {})
        self._clock = clock
        self._client = client
        self._connection = Connection(client)
        self._subscription: Subscription | None = None
        self._events: list[tuple[str, bytes]] = []
        self._scripts: dict[str, Script] = {}
        for row in TRANSITIONS.values():
            script, source, given = choose(row, self._dialect, scripts)
            self._scripts[row.name] = Script(script, source, clocked=clock is not None, given=given)
        guards.flag(history, "history")
        if history:
            self._keep_history()

    def __repr__(self) -> str:
        return f"<ServerQueue {self._name!r} {self._dialect} at {self._connection.address}>"

    @property
    def clock(self) -> VirtualClock | None:
        """The clock that the scripts read, or `None` where they read the server's."""
        return self._clock

    def close(self) -> None:
        """Close the connections of this queue; the next call opens them again."""
        self._connection.close()
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    @property
    def scripts(self) -> Mapping[str, Script]:
        """The scripts as they are sent, by the name of their transition."""
        return self._scripts

    def _now_us(self) -> int:
        if self._clock is not None:
            return self._clock.now_us
        seconds, micros = self._connection.call("TIME")
        return int(seconds) * 1_000_000 + int(micros)

    def _watch(self) -> Watch:
        from emqsim.history import ReadingWatch

        return ReadingWatch(self._read_sets)

    def _read_sets(self) -> dict[str, dict[str, float]]:
        """The four sets, read at once."""
        answers = self._exchange([command for which in SETS for command in self.commands(read_set, which)])
        return {which: dict(wire.meaning(read_set, each)) for which, each in zip(SETS, answers, strict=True)}

    def commands(self, operation: Operation, *args: Any) -> list[Command]:
        """What the server is sent for an operation: one command, or for some reads many."""
        if isinstance(operation, Plain):
            return wire.plain_calls(operation, self._keys, args)
        assert isinstance(operation, Transition)
        if operation.native and self._dialect is Dialect.WIRE6:
            return [wire.native_call(operation, self._keys, args)]
        keys, argv = wire.script_call(operation, self._keys, args)
        if self._clock is not None:
            argv += [b"%d" % part for part in self._clock.time()]
        return [("EVALSHA", self._scripts[operation.name].sha, b"%d" % len(keys), *keys, *argv)]

    def _run(self, operation: Operation, *args: Any) -> Any:
        if operation is update_progress:
            self._subscribed()
        return wire.meaning(operation, self._ask(operation, self.commands(operation, *args)))

    def _ask(self, operation: Operation, commands: list[Command]) -> Any:
        """The answer of one command, or the answers of many that run as one step.

        Where the server does not know a script, it has not run: load it and ask once more.
        """
        if len(commands) > 1:
            *queued, answers = self._connection.exchange([("MULTI",), *commands, ("EXEC",)])
            return next((each for each in (*queued, answers) if isinstance(each, ServerError)), answers)
        (answer,) = self._connection.exchange(commands)
        if isinstance(answer, ServerError) and answer.wire.startswith("NOSCRIPT"):
            self._connection.call("SCRIPT", "LOAD", self._scripts[operation.name].text)
            (answer,) = self._connection.exchange(commands)
        return answer

    def snapshot(self, *, everything: bool = False) -> dict[str, Any]:
        """As on the model, read with SCAN and a read a key; `everything`: of all keys of the server's database.

        A key of a type that the machine does not know, as only a foreign script makes them, is a one-tuple of
        the name of its type.
        """
        names = sorted(self._connection.scan("*" if everything else glob(self._keys.base) + "*"))
        types = self._exchange([("TYPE", name) for name in names])
        readable = [
            (name, _READERS[kind]) for name, kind in zip(names, types, strict=True) if kind in _READERS
        ]
        answers = self._exchange([(command[0], name, *command[1:]) for name, (command, _) in readable])
        found: dict[str, Any] = {
            replies.member(name): (replies.member(kind),)
            for name, kind in zip(names, types, strict=True)
            if kind not in _READERS and kind != b"none"
        }
        for (name, (_, read)), answer in zip(readable, answers, strict=True):
            value = read(answer)
            if value or value == b"":
                found[replies.member(name)] = value
        return found

    def _exchange(self, commands: list[Command]) -> list[Any]:
        """The answers of many reads; raises the first error among them."""
        answers = self._connection.exchange(commands) if commands else []
        for answer in answers:
            if isinstance(answer, ServerError):
                raise answer
        return answers

    def erase(self) -> None:
        """Delete every key of the queue, whatever its type: the end of a test on a server."""
        names = self._connection.scan(glob(self._keys.base) + "*")
        if names:
            self._connection.call("DEL", *names)

    @property
    def events(self) -> list[tuple[str, bytes]]:
        """What was published since this queue first wrote progress or was first asked for events."""
        came = self._subscribed().messages()
        self._events += [(replies.member(channel), message) for channel, message in came]
        return list(self._events)

    def _subscribed(self) -> Subscription:
        if self._subscription is None:
            self._subscription = Subscription(self._client, glob(self._keys.events))
        return self._subscription


def glob(text: str) -> str:
    """A pattern that matches just this text, where the server takes patterns."""
    return re.sub(r"([*?\[\]\\^])", r"\\\1", text)


_READERS: dict[bytes, tuple[tuple[str, ...], Any]] = {
    b"zset": (("ZRANGE", "0", "-1", "WITHSCORES"), replies.scored),
    b"hash": (("HGETALL",), replies.hash_fields),
    b"list": (("LRANGE", "0", "-1"), replies.octets_list),
    b"set": (("SMEMBERS",), lambda raw: sorted(replies.octets_list(raw))),
    b"string": (("GET",), replies.optional),
}
"""The types of keys: the command that reads one, around the key, and how its answer reads."""
