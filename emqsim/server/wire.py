"""Operations as commands, and answers as what they mean: the transition table on the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from emqsim import replies
from emqsim.errors import MissingCommand, ServerError
from emqsim.keys import COUNTERS, SETS, Keys
from emqsim.operation import Operation, Plain, Transition
from emqsim.server.connection import Command

Args = Mapping[str, Any]


def _own(word: str) -> Callable[[Keys, Args], str]:
    """A key that needs no argument."""
    return lambda keys, args: keys.metrics(word) if word in COUNTERS else getattr(keys, word)


_KEYS: Mapping[str, Callable[[Keys, Args], str]] = {
    **{word: _own(word) for word in (*SETS, *COUNTERS, "meta", "base", "job_prefix")},
    "row": lambda keys, args: keys.job_prefix + args["job_id"],
    "logs": lambda keys, args: keys.logs(args["job_id"]),
    "lock": lambda keys, args: keys.lock(args["job_id"]),
    "set": lambda keys, args: keys.base + args["which"],
    "metrics": lambda keys, args: keys.metrics(args["which"]),
    "de": lambda keys, args: keys.de(args["dedup_id"]),
}
"""The key that a word of the table stands for."""


def script_call(row: Transition, keys: Keys, args: tuple[Any, ...]) -> tuple[list[str], list[bytes]]:
    """KEYS and ARGV of a transition's script."""
    named = dict(zip(row.params, args, strict=True))
    return list(_keys(row.keys, keys, named)), list(_texts(row.argv, keys, named))


def native_call(row: Transition, keys: Keys, args: tuple[Any, ...]) -> Command:
    """A transition's native command: its name, the script's KEYS, its own further keys, the script's ARGV."""
    assert row.native is not None
    named = dict(zip(row.params, args, strict=True))
    return (
        row.native,
        *_keys((*row.keys, *row.native_keys), keys, named),
        *_texts(row.argv, keys, named),
    )


def plain_calls(entry: Plain, keys: Keys, args: tuple[Any, ...]) -> list[Command]:
    """The commands of a read, or of a write by somebody outside."""
    named = dict(zip(entry.params, args, strict=True))
    return [(command[0], *_texts(command[1:], keys, named)) for command in entry.commands]


def meaning(operation: Operation, answer: Any) -> Any:
    """What an answer means; raises the refusal it is, or a `ServerError`, or `UnexpectedReply`."""
    if isinstance(answer, ServerError):
        if isinstance(operation, Transition):
            _raise_refusal(operation, answer)
        raise answer
    if isinstance(operation, Transition) and type(answer) is int:
        for refusal in operation.refusals:
            if refusal.reply == answer:
                raise refusal.error(None)
    if isinstance(operation.reply, Mapping):
        return replies.exactly(operation.reply, answer)
    return operation.reply(answer)


def _raise_refusal(row: Transition, answer: ServerError) -> None:
    for refusal in row.refusals:
        if refusal.wire == answer.line:
            raise refusal.error(refusal.wire)
        if refusal.wire == answer.wire:
            raise ServerError(answer.line)
    if row.native and "unknown command" in answer.wire and row.native in answer.wire:
        raise MissingCommand(
            f"the server has no command {row.native}, which dialect wire6 needs; wire3 and wire4 need none"
        )


def _keys(words: Iterable[str], keys: Keys, args: Mapping[str, Any]) -> Iterator[str]:
    for word in words:
        if word.startswith("*"):
            yield from _keys(args[word[1:]], keys, args)
            continue
        yield _KEYS[word](keys, args)


def _texts(words: Iterable[str], keys: Keys, args: Mapping[str, Any]) -> Iterator[bytes]:
    for word in words:
        if word.startswith("*"):
            for pair in args[word[1:]]:
                yield from map(_text, pair)
        elif word == "keep":
            yield b"" if args["keep"] == 0 else _text(args["keep"])
        elif word in args:
            yield _text(args[word])
        else:
            yield _text(_KEYS[word](keys, args) if word in _KEYS else word)


def _text(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"%d" % value if isinstance(value, int) else str.encode(value)
