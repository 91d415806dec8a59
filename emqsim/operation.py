"""How a transition, a read and an outside write are described.

Three kinds of entries, one shape: `apply` is what the model does, and beside it stands
what a server is sent and how its answer reads. `emqsim.machine` fills the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from emqsim.dialect import Dialect
from emqsim.errors import QueueError


class Move(NamedTuple):
    """An arrow of the lifecycle: a job leaves one set and enters another."""

    name: str
    leaves: tuple[str, ...]
    """Sets the id is taken from: the first that has it, or all."""
    enters: str | None
    """The set the id is put into; `None`: none, the job is gone."""
    state: bytes | None
    """The row's `state` after the move; `None`: the row is gone, or its state is left alone."""
    does: str
    """The move in a few words, for people."""
    leaves_all: bool = False


class Refusal(NamedTuple):
    """A reason to change nothing: an error text, or a bare number, on the wire."""

    why: str
    error: type[QueueError]
    wire: str | None = None
    reply: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Operation:
    """What all three kinds have: a name, a function on the model, and how an answer is read.

    `reply` is a mapping from each answer to what it means, or a function that reads the answer.
    `params` are the arguments of `apply` after the machine, in order.
    """

    name: str
    apply: Callable[..., Any]
    reply: Mapping[Any, Any] | Callable[[Any], Any]

    params: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        code = self.apply.__code__
        object.__setattr__(self, "params", code.co_varnames[1 : code.co_argcount])

    @property
    def doc(self) -> str:
        """What it does, in the words of its docstring."""
        return self.apply.__doc__ or ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Transition(Operation):
    """One atomic step of the machine: a row of the transition table.

    KEYS and ARGV are written in words that `emqsim.server.wire` turns into key names and texts:
    a set, `row`, `logs`, `meta`, `base` (`emq:{q}:`), `job_prefix` (`emq:{q}:job:`),
    or the name of an argument of the call.
    """

    methods: tuple[str, ...]
    keys: tuple[str, ...]
    argv: tuple[str, ...]
    moves: tuple[Move, ...] = ()
    reads: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    renamed: Mapping[Dialect, str] = field(default_factory=dict)
    """The script's name in the dialects where it is not the transition's."""
    native: str | None = None
    """The `EMQ.*` command of dialect wire6, if there is one."""
    native_keys: tuple[str, ...] = ()
    """Keys the native command takes after the script's."""

    def script(self, dialect: Dialect) -> str:
        """The name of the script in a dialect; in wire6, of the one behind the command."""
        return self.renamed.get(dialect, self.name)

    def refuse(self, why: str) -> QueueError:
        """The error of a refusal, to be raised."""
        for refusal in self.refusals:
            if refusal.why == why:
                return refusal.error(refusal.wire)
        raise KeyError(why)


@dataclass(frozen=True, eq=False, kw_only=True)
class Plain(Operation):
    """A read, or a write by somebody outside: no script, plain commands of the server.

    Each command is a tuple of words: the command's name, then words as in KEYS and ARGV.
    Words in capital letters and numbers stand for themselves.
    """

    commands: tuple[tuple[str, ...], ...]
