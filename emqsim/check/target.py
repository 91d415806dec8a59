"""Where programs run: a server that is ours alone, or a database on a server that is not ours.

Both give each program an empty queue and tell what is there that should not be. On a server of our own that is
simple: it is emptied, and every key on it is the program's. On another's server nothing is touched but the keys
of queues with names made for the purpose, and no command is sent that reaches further.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import Any

from emqsim.errors import OutcomeUnknown, ServerError, ServerUnavailable
from emqsim.server.address import EMBEDDED, TIMEOUT_S, make_client
from emqsim.server.connection import Command, Connection
from emqsim.server.embedded import EmbeddedServer, embedded_server, server_version
from emqsim.server.interrupts import uninterrupted
from emqsim.server.serverqueue import ServerQueue, glob
from emqsim.text.words import counted

QUEUE = "emqsim-check"
"""The name of the queue of a program, where nothing asks for another one."""

RUNS = "emqsim-"
"""How the names of all queues on a server that is not ours begin, in any process."""

EXPIRING = "(keys that expire)"
"""How many there are, where no key should, beside the keys of a snapshot."""

BUSY_MS = 300
"""After so long a server of our own tells others that a script keeps it busy."""

OWN_TIMEOUT_S, SLOW_TIMEOUT_S = 1.0, 4.0
"""How long an answer of a server of our own is waited for, and how long once it was late."""

CLEAN_S = 2.0
"""How long keys that are left on another's server are tried to be deleted."""

_PAGE, _SHOWN = 1000, 10
"""How many keys are deleted at once, and how many names are told."""


class OwnTarget:
    """A server that is ours alone, emptied before each program. Whatever it holds is the program's."""

    at_once = True
    """Whether a whole program is sent at once."""
    all_ours = True
    """Whether whatever is published is the program's."""
    patience_s = 0.0
    """How long a server that went away is waited for."""

    def __init__(self, server: EmbeddedServer, name: str = QUEUE) -> None:
        self._server = server
        self._name = name
        self._timeout_s = OWN_TIMEOUT_S
        self.version = server.version
        self._set_up()

    def _set_up(self) -> None:
        self._connection = Connection(self.client())
        self._connection.call("CONFIG", "SET", "busy-reply-threshold", str(BUSY_MS))

    def client(self) -> Any:
        """A new client whose answers do not take for ever."""
        return make_client(self._server.url, socket_timeout=self._timeout_s)

    def queue_name(self) -> str:
        """The name of the queue of the next program."""
        return self._name

    def events(self) -> str:
        """A pattern that matches the channels that are listened to."""
        return "*"

    def first(self) -> list[Command]:
        """What is sent before the first step."""
        return [("FLUSHALL",)]

    def looked_at(self, existing: list[bytes], possible: list[bytes]) -> list[bytes]:
        """The keys that a picture shows, of those that exist on the model and those that can exist."""
        return existing

    def begins(self, queue: ServerQueue, possible: list[bytes]) -> None:
        """Told of each program before anything of it is sent."""

    def ends(self, queue: ServerQueue, possible: list[bytes]) -> list[str]:
        """Told of each program when it ended: what cannot be and is, beside what pictures show."""
        return list(self._beside())

    def _beside(self) -> dict[str, Any]:
        """What a picture does not show: keys that expire, and keys in other databases."""
        found: dict[str, Any] = {}
        for database, counts in self._connection.info("keyspace").items():
            numbers = dict(each.split("=") for each in counts.split(","))
            if database != "db0":
                found[f"(keys in {database})"] = numbers["keys"].encode()
            else:
                expiring = sum(int(numbers.get(each, 0)) for each in ("expires", "keys_with_volatile_items"))
                found |= {EXPIRING: b"%d" % expiring} if expiring else {}
        return found

    def shows(self, picture: bytes, expected: bytes) -> bool:
        """Whether a picture from the server is the one expected, with as many keys beside it as there may be."""
        return picture == expected + b"0"

    def snapshot(self, queue: ServerQueue) -> dict[str, Any]:
        """All that a step can have written, where that can be told."""
        return queue.snapshot(everything=True) | self._beside()

    def hung(self) -> str | None:
        """After an answer did not come: in words, that a script does not end. Such a server is killed and started
        anew, since a script that has written cannot be stopped. One that is merely slow gets more time, once."""
        answer = _ping(self.client())
        if _silent(answer) and self._timeout_s == OWN_TIMEOUT_S:
            self._timeout_s = SLOW_TIMEOUT_S
            answer = _ping(self.client())
        busy = isinstance(answer, ServerError) and answer.wire.startswith("BUSY")
        if not busy and not _silent(answer):
            return None
        self._server.restart()
        self._set_up()
        return f"no answer within {self._timeout_s:g} s: the script does not end; the server was killed"

    def notes(self) -> list[str]:
        """What is to be told at the end of a run."""
        return []

    def close(self) -> list[str]:
        """Leave; names of keys that stay behind."""
        self._connection.close()
        return []


class SharedTarget:
    """A database on a server that is not ours. Each program has a queue with a name of its own, whose keys are
    deleted when it ends; nothing else is written, and nothing else is read but names of keys.

    Raises `ValueError` for a database that is not empty, unless that is allowed, `ServerUnavailable`, and
    `ServerError` where the server refuses the user.
    """

    at_once = False
    all_ours = False
    patience_s = 2.0

    def __init__(
        self,
        url: str,
        *,
        allow_non_empty: bool = False,
        password: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._timeout_s = timeout_s
        self._settings = {"socket_timeout": timeout_s, "socket_connect_timeout": timeout_s} | (
            {"password": password} if password is not None else {}
        )
        self._url = url
        self._connection = Connection(self.client())
        self._run = f"{RUNS}{token_hex(6)}"
        self._queues = 0
        self._left: dict[str, list[str]] = {}
        """Queues whose keys have not been deleted yet, with the names of the keys they can have."""
        held = self._connection.call("DBSIZE")
        self._was_empty = not held
        if held and not allow_non_empty:
            raise ValueError(
                f"server: the database at {self._connection.address} holds {counted(held, 'key')}: name one that is "
                "empty, or allow one that is not (--allow-non-empty)"
            )
        self.version = f"{self._describe()} at {self._connection.address}"

    def _describe(self) -> str:
        try:
            return server_version(self._connection)
        except ServerError:
            return "a server"

    def client(self) -> Any:
        return make_client(self._url, **self._settings)

    def queue_name(self) -> str:
        self._queues += 1
        return f"{self._run}-{self._queues}"

    def events(self) -> str:
        return f"emq:{{{self._run}-*}}:events"

    def first(self) -> list[Command]:
        return []

    def looked_at(self, existing: list[bytes], possible: list[bytes]) -> list[bytes]:
        there = set(existing)
        return existing + [key for key in possible if key not in there]

    def begins(self, queue: ServerQueue, possible: list[bytes]) -> None:
        self._left[queue.name] = _full(queue, possible)

    def ends(self, queue: ServerQueue, possible: list[bytes]) -> list[str]:
        there = self._connection.scan(glob(queue.keys.base) + "*")
        allowed = {name.encode() for name in self._left[queue.name]}
        expiring = self._expiring(there)
        _delete(self._connection, there | allowed)
        del self._left[queue.name]
        return [*expiring, *sorted(name.decode("utf-8", "backslashreplace") for name in there - allowed)]

    def _expiring(self, names: Iterable[bytes]) -> dict[str, Any]:
        """How many of the keys expire, which a picture does not show."""
        commands: list[Command] = [("PTTL", name) for name in names]
        found = sum(type(left) is int and left >= 0 for left in self._connection.exchange(commands))
        return {EXPIRING: b"%d" % found} if found else {}

    def shows(self, picture: bytes, expected: bytes) -> bool:
        return picture.startswith(expected)

    def snapshot(self, queue: ServerQueue) -> dict[str, Any]:
        seen = queue.snapshot()
        return seen | self._expiring(name.encode("utf-8", "surrogateescape") for name in seen)

    def hung(self) -> str | None:
        answer = _ping(self.client())
        if isinstance(answer, ServerError) and "BUSY" in answer.wire:
            return (
                f"no answer within {self._timeout_s:g} s: a script does not end and keeps the server busy, this one "
                "or one of another client"
            )
        return None

    def notes(self) -> list[str]:
        if not self._was_empty:
            return []
        try:
            names = {name.decode("utf-8", "backslashreplace") for name in self._connection.scan("*")}
        except (ServerError, ServerUnavailable, OutcomeUnknown):
            return []
        others = sorted(name for name in names if not name.startswith(f"emq:{{{RUNS}"))
        shown = ", ".join(others[:_SHOWN]) + (
            f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        )
        return [
            f"the database was empty and now holds {shown}: if no other client wrote there, a script did, and it stays"
        ] * bool(others)

    def close(self) -> list[str]:
        self._connection.close()
        named = [name for names in self._left.values() for name in names]
        late = time.monotonic() + CLEAN_S
        with uninterrupted():
            while named and not self._clean(named):
                if time.monotonic() > late:
                    return named
                time.sleep(0.1)
        self._left.clear()
        return []

    def _clean(self, named: list[str]) -> bool:
        """Delete every key of the run, if the server does it; a user who may not SCAN has at least the known ones."""
        connection = Connection(make_client(self._url, **(self._settings | {"socket_timeout": 1.0})))
        try:
            _delete(connection, [name.encode() for name in named])
            with suppress(ServerError):
                _delete(connection, connection.scan(f"emq:{{{self._run}-*"))
        except (ServerError, ServerUnavailable, OutcomeUnknown):
            return False
        finally:
            connection.close()
        return True


Target = OwnTarget | SharedTarget


@contextmanager
def target(
    server: str | EmbeddedServer,
    *,
    name: str = QUEUE,
    allow_non_empty: bool = False,
    password: str | None = None,
    timeout: float = TIMEOUT_S,
) -> Iterator[Target]:
    """Where to run programs: `"embedded"`, an `EmbeddedServer`, both ours, or the URL of a server that is not.

    `name` is that of the queue, where that is ours to choose.
    """
    if isinstance(server, EmbeddedServer):
        yield OwnTarget(server, name)
    elif server == EMBEDDED:
        with embedded_server() as running:
            yield OwnTarget(running, name)
    elif isinstance(server, str):
        yield SharedTarget(server, allow_non_empty=allow_non_empty, password=password, timeout_s=timeout)
    else:
        raise ValueError(f"server must be 'embedded', a URL or an EmbeddedServer, not {server!r}")


def _ping(client: Any) -> ServerError | ServerUnavailable | OutcomeUnknown | None:
    """What is wrong with a server that is asked for a sign of life, or nothing."""
    connection = Connection(client)
    try:
        connection.call("PING")
    except (ServerError, ServerUnavailable, OutcomeUnknown) as failed:
        return failed
    finally:
        connection.close()
    return None


def _silent(answer: ServerError | ServerUnavailable | OutcomeUnknown | None) -> bool:
    return not isinstance(answer, ServerError) and answer is not None and answer.timed_out


def _full(queue: ServerQueue, possible: Iterable[bytes]) -> list[str]:
    return [queue.keys.base + key[1:].decode() for key in possible]


def _delete(connection: Connection, names: Iterable[bytes]) -> None:
    ordered: Sequence[bytes] = sorted(names)
    for start in range(0, len(ordered), _PAGE):
        connection.call("DEL", *ordered[start : start + _PAGE])
