"""The queue on a real server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from emqsim import replies
from emqsim.clock import VirtualClock
from emqsim.dialect import Dialect
from emqsim.host import Host
from emqsim.machine import TRANSITIONS, update_progress
from emqsim.operation import Operation, Plain, Transition
from emqsim.server import wire
from emqsim.server.connection import Command, Connection, Subscription
from emqsim.server.errors import ServerError
from emqsim.server.scripts import Script, check_names, choose, with_clock


class ServerQueue(Host):
    """All calls of `emqsim.Queue`, but `copy`, on a real server.

    `client` is a `valkey.Valkey` or `redis.Redis`, whatever its settings; connections of our own are made
    from them. With a `clock`, the scripts read that clock by a prelude of one line; with `None` they run
    byte for byte on the server's time. `scripts` maps script names to Lua sources that replace the bundled
    ones. Dialect wire6 sends the `EMQ.*` commands, which always read the server's own clock.

    No transition is ever sent twice: a call whose answer does not come raises `OutcomeUnknown`.
    Beside the errors of `Host`, calls raise `ServerUnavailable`, and `ServerError` for an error answer that
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
            script, source, _ = choose(row, self._dialect, scripts)
            self._scripts[row.name] = Script(script, source if clock is None else with_clock(source))

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

    def _run(self, operation: Operation, *args: Any) -> Any:
        if isinstance(operation, Plain):
            answer = self._ask(wire.plain_calls(operation, self._keys, args))
        else:
            assert isinstance(operation, Transition)
            if operation is update_progress:
                self._subscribed()
            if operation.native and self._dialect is Dialect.WIRE6:
                answer = self._answer(wire.native_call(operation, self._keys, args))
            else:
                answer = self._evaluate(operation, args)
        return wire.meaning(operation, answer)

    def _ask(self, commands: list[Command]) -> Any:
        """The answer of one command, or the answers of many that run as one step."""
        if len(commands) == 1:
            return self._answer(commands[0])
        *queued, answers = self._connection.exchange([("MULTI",), *commands, ("EXEC",)])
        refused = [answer for answer in (*queued, answers) if isinstance(answer, ServerError)]
        return refused[0] if refused else answers

    def _answer(self, command: Command) -> Any:
        return self._connection.exchange([command])[0]

    def _evaluate(self, row: Transition, args: tuple[Any, ...]) -> Any:
        """EVALSHA; where the server does not know the script, load it and try once more."""
        script = self._scripts[row.name]
        keys, argv = wire.script_call(row, self._keys, args)
        if self._clock is not None:
            argv += [b"%d" % part for part in self._clock.time()]
        command: Command = ("EVALSHA", script.sha, b"%d" % len(keys), *keys, *argv)
        answer = self._answer(command)
        if isinstance(answer, ServerError) and answer.wire.startswith("NOSCRIPT"):
            self._connection.call("SCRIPT", "LOAD", script.text)
            answer = self._answer(command)
        return answer

    def snapshot(self) -> dict[str, Any]:
        """As on the model, read with SCAN and a read a key. A key of a type that the machine does not know,
        as only a foreign script makes them, is a one-tuple of the name of its type."""
        names = sorted(self._scan())
        types = self._connection.exchange([("TYPE", name) for name in names]) if names else []
        readable = [
            (name, _READERS[kind]) for name, kind in zip(names, types, strict=True) if kind in _READERS
        ]
        answers = self._connection.exchange([(c, name, *rest) for name, ((c, *rest), _) in readable])
        found: dict[str, Any] = {
            replies.member(name): (replies.member(kind),)
            for name, kind in zip(names, types, strict=True)
            if kind not in _READERS and kind != b"none"
        }
        for (name, (_, read)), answer in zip(readable, answers, strict=True):
            if isinstance(answer, ServerError):
                raise answer
            value = read(answer)
            if value or value == b"":
                found[replies.member(name)] = value
        return found

    def _scan(self) -> set[bytes]:
        """The names of all keys of the queue."""
        pattern = glob(self._keys.base) + "*"
        names: set[bytes] = set()
        cursor = b"0"
        while True:
            cursor, page = self._connection.call("SCAN", cursor, "MATCH", pattern, "COUNT", "1000")
            names.update(page)
            if cursor == b"0":
                return names

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
