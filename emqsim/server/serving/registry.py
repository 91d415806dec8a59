"""The table of commands: each one's name, arity, flags and keys, above the function that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from emqsim.server.serving.resp import Error, Reply

if TYPE_CHECKING:
    from emqsim.server.serving.keyspace import Database

Run = Callable[..., Reply]
_R = TypeVar("_R", bound=Run)


class Call:
    """One command that is being run.

    `db` is the database, `argv` all its words, `resp` the protocol that its answer is for (2 or 3; in a
    script, what the script speaks). `session` is the connection, or `None` inside of a script.
    """

    __slots__ = ("argv", "db", "resp", "session")

    def __init__(self, db: Database, argv: list[bytes], resp: int = 2, session: Any = None) -> None:
        self.db, self.argv, self.resp, self.session = db, argv, resp, session


class Block(Exception):
    """Raised by a command that waits: nothing has changed, and nothing is there yet.

    The same command is run again each time that one of `keys` has changed, until it does not raise this; an
    error that it raises then ends the wait only with `errors_end`. After `timeout_ms` (0: never) the answer is
    `otherwise`, and so it is at once in a script and in a transaction. `argv` is what to run again, where
    that differs (XREAD with `$`).
    """

    def __init__(
        self,
        keys: list[bytes],
        timeout_ms: int,
        otherwise: Reply,
        *,
        argv: list[bytes] | None = None,
        errors_end: bool = False,
    ) -> None:
        super().__init__()
        self.keys, self.timeout_ms, self.otherwise = keys, timeout_ms, otherwise
        self.argv, self.errors_end = argv, errors_end


@dataclass(slots=True, eq=False)
class Command:
    """A row of the table; `name` in small letters, with `|` before a subcommand, as in the server's own."""

    name: str
    arity: int
    """How many words, the name among them; negative: at least so many."""
    flags: frozenset[str] = frozenset()
    keys: tuple[int, int, int] = (0, 0, 0)
    """First key, last key (negative: from the end), step."""
    numkeys: int = 0
    """Where the word stands that tells how many keys follow it, if one does."""
    run: Run | None = None
    skip: int = 1
    """How many words of a call are its name."""
    subcommands: dict[bytes, Command] = field(default_factory=dict)

    def positions(self, argv: list[bytes]) -> list[int]:
        """Where the keys of a call stand."""
        if self.numkeys:
            try:
                count = int(argv[self.numkeys])
            except (ValueError, IndexError):
                return []
            fixed = [self.keys[0]] if self.keys[0] else []
            return fixed + list(range(self.numkeys + 1, min(self.numkeys + 1 + count, len(argv))))
        first, last, step = self.keys
        if not first:
            return []
        return list(range(first, (last if last >= 0 else len(argv) + last) + 1, step))


COMMANDS: dict[bytes, Command] = {}
"""By name in capital letters."""


def command(
    name: str, arity: int, flags: str = "", keys: tuple[int, int, int] = (0, 0, 0), numkeys: int = 0
) -> Callable[[_R], _R]:
    """Enter a function into the table. It is called with the `Call`, then the words after the name.

    `name` is as in `COMMAND INFO` (`zadd`, `xgroup|create`); `arity` counts all words; of the flags, the
    server itself goes by `write`, `noscript`, `blocking`, `no_auth`, `pubsub` (may be sent by a RESP2 subscriber).
    """

    def enter(run: _R) -> _R:
        outer, _, inner = name.partition("|")
        row = Command(name, arity, frozenset(flags.split()), keys, numkeys, run, 2 if inner else 1)
        if inner:
            container = COMMANDS.setdefault(
                outer.upper().encode(), Command(outer, -2, frozenset(flags.split()))
            )
            container.subcommands[inner.upper().encode()] = row
        else:
            COMMANDS[name.upper().encode()] = row
        return run

    return enter


def find(argv: list[bytes]) -> Command:
    """The row of a call whose number of words is right; raises what the server answers otherwise."""
    row = COMMANDS.get(argv[0]) or COMMANDS.get(argv[0].upper())
    if row is None:
        raise unknown(argv)
    if row.subcommands and (len(argv) > 1 or row.run is None):
        if len(argv) < 2:
            raise wrong_arity(row)
        inner = row.subcommands.get(argv[1].upper())
        if inner is None:
            word, name = _clean(argv[1][:128]), row.name.upper()
            raise Error(b"ERR unknown subcommand '%b'. Try %b HELP." % (word, name.encode()))
        row = inner
    if len(argv) != row.arity and (row.arity >= 0 or len(argv) < -row.arity):
        raise wrong_arity(row)
    return row


def wrong_arity(row: Command) -> Error:
    """The answer to a call with a wrong number of words."""
    return Error(f"ERR wrong number of arguments for '{row.name}' command")


def unknown(argv: list[bytes]) -> Error:
    """The answer to a command that does not exist, with the words that the server quotes of it."""
    quoted = b""
    for word in argv[1:]:
        if len(quoted) >= 128:
            break
        quoted += b"'%b' " % word[: 128 - len(quoted)]
    return Error(
        b"ERR unknown command '%b', with args beginning with: %b" % (_clean(argv[0][:128]), _clean(quoted))
    )


def _clean(text: bytes) -> bytes:
    """Without the ends of lines, which would end the answer."""
    return text.replace(b"\r", b" ").replace(b"\n", b" ")
