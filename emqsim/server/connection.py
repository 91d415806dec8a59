"""Connections of our own, made from a client's settings, on which nothing is ever sent twice.

Client libraries retry a call whose answer does not come, and a slow script would then run again. So a
`Connection` takes the library's own connection class and the client's settings (address, user, TLS and
so on) and leaves the retries out. It speaks RESP2 and decodes nothing, whatever the client is set to.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from threading import Lock
from types import ModuleType
from typing import Any

from emqsim.errors import OutcomeUnknown, ServerError, ServerUnavailable

Command = tuple[str | bytes, ...]

LIBRARIES = ("valkey", "redis")

_OURS: dict[str, Any] = {
    "protocol": 2,
    "decode_responses": False,
    "health_check_interval": 0,
    "retry": None,
    "retry_on_error": [],
    "retry_on_timeout": False,
}
_POOLED = re.compile(r"maint_|orig_|oss_|cache_|client_cache$|himport_")
"""Settings that tie a connection to the client's pool."""

_ADDITION = re.compile(r" script: (?:[0-9a-f]{40}, )?on @\w+:\d+\.?$")
"""What servers add to the text of an error that a script raised or returned."""


def pack(command: Command) -> bytes:
    """A command as it goes over the wire."""
    return b"*%d\r\n%b" % (len(command), b"".join(map(pack_word, command)))


def pack_word(word: str | bytes) -> bytes:
    """A word of a command as it goes over the wire."""
    return _pack_text(word) if isinstance(word, str) else b"$%d\r\n%b\r\n" % (len(word), word)


@lru_cache(4096)
def _pack_text(word: str) -> bytes:
    """Names of commands, scripts and keys are sent again and again."""
    return pack_word(word.encode("utf-8", "surrogateescape"))


class Connection:
    """One connection to the server of `client`, opened at the first call.

    Raises `TypeError` for a client that is not a synchronous `redis.Redis` or `valkey.Valkey`.
    """

    def __init__(self, client: Any, **settings: Any) -> None:
        self._library = _library(client)
        pool = client.connection_pool
        kept = {name: value for name, value in pool.connection_kwargs.items() if not _POOLED.match(name)}
        self._make = partial(pool.connection_class, **(kept | _OURS | settings))
        self._begin()

    def _begin(self) -> None:
        """A connection of this process alone, not open yet."""
        self._raw = self._make()
        _keep_lines(self._raw)
        self._lock = Lock()
        self._unread = False
        """Whether answers have not been read that were, or will be, sent."""
        self._process = os.getpid()
        weakref.finalize(self, self._raw.disconnect)

    def _owned(self) -> Lock:
        """The lock of this connection; in a process that was forked off, a connection of its own first."""
        if self._process != os.getpid():
            self._begin()
        return self._lock

    def __repr__(self) -> str:
        return f"<Connection to {self.address}>"

    @property
    def address(self) -> str:
        """Where the server is, without the password."""
        raw = self._raw
        return str(getattr(raw, "path", "") or f"{getattr(raw, 'host', '?')}:{getattr(raw, 'port', '?')}")

    def call(self, *command: str | bytes) -> Any:
        """Send one command; raises `ServerError` for an error answer."""
        (answer,) = self.exchange([command])
        if isinstance(answer, ServerError):
            raise answer
        return answer

    def exchange(self, commands: Sequence[Command | bytes]) -> list[Any]:
        """Send commands at once and read their answers; an error answer is a `ServerError` in the list.

        A command that is sent often may be given as the bytes that `pack` makes of it.
        Raises `ServerUnavailable` where nothing could be sent, `OutcomeUnknown` where an answer is missing.
        """
        with self._owned():
            return self._send(commands)()

    def begin(self, commands: Sequence[Command | bytes]) -> Callable[[], list[Any]]:
        """As `exchange`, in two halves: send now, and read the answers when what is returned is called.

        Nothing else may go over this connection in between.
        """
        with self._owned():
            return self._send(commands)

    def _send(self, commands: Sequence[Command | bytes]) -> Callable[[], list[Any]]:
        self._open()
        self._unread = True

        def answers() -> list[Any]:
            with self._answered(commands):
                found = [self._read() for _ in commands]
            self._unread = False
            return found

        with self._answered(commands):
            request = b"".join(each if isinstance(each, bytes) else pack(each) for each in commands)
            self._raw.send_packed_command([request], check_health=False)
        return answers

    @contextmanager
    def _answered(self, commands: Sequence[Command | bytes]) -> Iterator[None]:
        """Where the block fails, the connection is closed, and the outcome of the commands is unknown."""
        try:
            yield
        except BaseException as failed:
            self._raw.disconnect()
            if isinstance(failed, self._failures()):
                words = _unanswered(commands, self.address, failed)
                raise OutcomeUnknown(words, self._late(failed)) from failed
            raise

    def info(self, section: str) -> dict[str, str]:
        """What the server tells of itself (INFO), by name."""
        lines = self.call("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def scan(self, pattern: str) -> set[bytes]:
        """The names of all keys of the database that match a pattern (SCAN)."""
        names: set[bytes] = set()
        cursor = b"0"
        while True:
            cursor, page = self.call("SCAN", cursor, "MATCH", pattern, "COUNT", "1000")
            names.update(page)
            if cursor == b"0":
                return names

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        self._raw.disconnect()

    def _open(self) -> None:
        """Connect where we are not, or where the server has closed an idle connection."""
        try:
            try:
                if self._raw._sock is not None and not self._unread and not self._raw.can_read(timeout=0):
                    return
            except self._failures():
                pass
            self._raw.disconnect()
            self._raw.connect()
            self._unread = False
        except self._failures() as failed:
            self._raw.disconnect()
            raise ServerUnavailable(
                f"no connection to {self.address}: {failed}", self._late(failed)
            ) from failed

    def _read(self) -> Any:
        try:
            return self._raw.read_response()
        except self._refused() as refused:
            return _error(refused)

    def _refused(self) -> tuple[type[Exception], ...]:
        """The exceptions that are answers of the server, on a connection that goes on."""
        errors = self._library.exceptions
        return (errors.ResponseError, errors.AuthenticationError, errors.BusyLoadingError)

    def _late(self, failed: BaseException) -> bool:
        return isinstance(failed, self._library.exceptions.TimeoutError)

    def _failures(self) -> tuple[type[BaseException], ...]:
        errors = self._library.exceptions
        return (
            RecursionError,
            errors.ConnectionError,
            errors.TimeoutError,
            errors.InvalidResponse,
            errors.ResponseError,
            OSError,
        )


class Subscription(Connection):
    """A connection that listens to the channels of a pattern from the start."""

    def __init__(self, client: Any, pattern: str) -> None:
        super().__init__(client)
        self._pattern = pattern
        self.call("PSUBSCRIBE", pattern)

    def messages(self) -> list[tuple[bytes, bytes]]:
        """Channel and message of everything that came since the last call, all published before this one.

        A ping of our own marks the end: its answer comes behind them. Raises `OutcomeUnknown` where the
        connection was lost, and with it what was published meanwhile; the next call listens again.
        """
        with self._owned():
            lost = self._raw._sock is None
        if lost:
            self.call("PSUBSCRIBE", self._pattern)
        with self._lock:
            try:
                self._raw.send_packed_command([pack(("PING",))], check_health=False)
                came: list[tuple[bytes, bytes]] = []
                while True:
                    answer = self._read()
                    if isinstance(answer, ServerError):
                        raise answer
                    if answer[0] == b"pong":
                        return came
                    came.append((answer[2], answer[3]))
            except self._failures() as failed:
                self._raw.disconnect()
                words = f"lost the subscription at {self.address}: {failed}"
                raise OutcomeUnknown(words, self._late(failed)) from failed


def _library(client: Any) -> ModuleType:
    """The client library that a client's class comes from."""
    for parent in type(client).__mro__:
        package = parent.__module__.partition(".")[0]
        if package in LIBRARIES and hasattr(client, "connection_pool"):
            connect = getattr(client.connection_pool.connection_class, "connect", None)
            if not inspect.iscoroutinefunction(connect):
                return sys.modules[package]
    raise TypeError(f"client must be a redis.Redis or valkey.Valkey, synchronous, not {client!r}")


def _keep_lines(raw: Any) -> None:
    """Have the client library leave the whole line of an error beside what it makes of it: it cuts off codes."""
    parse = raw._parser.parse_error

    def parse_error(line: str) -> Exception:
        error: Exception = parse(line)
        error.line = line  # type: ignore[attr-defined]
        return error

    raw._parser.parse_error = parse_error


def _error(refused: Exception) -> ServerError:
    line: str = getattr(refused, "line", str(refused))
    return ServerError(_ADDITION.sub("", line).removeprefix("ERR "), line)


def _unanswered(commands: Sequence[Command | bytes], address: str, failed: BaseException) -> str:
    names = " ".join(dict.fromkeys(map(_name, commands)))
    return f"no answer from {address} to {names}: {failed}; the outcome is unknown, it is not sent again"


def _name(command: Command | bytes) -> str:
    """The name of a command, of a packed one too."""
    return _text(command[0] if isinstance(command, tuple) else command.split(b"\r\n", 3)[2])


def _text(word: str | bytes) -> str:
    return word if isinstance(word, str) else word.decode("utf-8", "backslashreplace")
