"""The words of the transition table: a move, a script, KEYS and ARGV, a reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from emqsim.dialect import Dialect

if TYPE_CHECKING:
    from emqsim.operation import Move, Transition

GONE = "gone"


def scripts_of(row: Transition) -> dict[str, list[str]]:
    """The names of a transition's scripts, each with the dialects that use it."""
    names: dict[str, list[str]] = {}
    for dialect in Dialect:
        if not (row.native and dialect is Dialect.WIRE6):
            names.setdefault(row.script(dialect), []).append(str(dialect))
    return names


def move_text(move: Move) -> tuple[str, str]:
    """The sets a move leaves and the set it enters, as words."""
    return (" and " if move.leaves_all else ", else ").join(move.leaves) or "-", move.enters or GONE


def state_text(move: Move) -> str:
    if move.state is not None:
        return move.state.decode()
    return "-" if move.enters else GONE


WORDS = {
    "base": "emq:{q}:",
    "job_prefix": "emq:{q}:job:",
    "row": "emq:{q}:job:<id>",
    "logs": "emq:{q}:job:<id>:logs",
    "de": "emq:{q}:de:<dedup id>",
    "*with_schedule": "emq:{q}:schedule, where it is asked for",
    "*held": "id, token, id, token …",
    "keep": "how many lines to keep, empty for all",
    "mode": "in or at",
    "value": "ms from now (in), or Unix ms (at)",
    "force": "force, or empty",
    "job_id": "id",
    "dedup_id": "dedup id, may be empty",
    "lease_ms": "lease in ms",
    "delay_ms": "delay in ms",
}


def words(word: str) -> str:
    """A word of KEYS or ARGV as people read it."""
    if word in ("pending", "active", "schedule", "dead", "meta"):
        return f"emq:{{q}}:{word}"
    return WORDS.get(word, word.replace("_", " "))


def move_words(row: Transition, move: Move) -> tuple[str, ...]:
    """A move in words: its name, the sets it leaves and enters, its scripts, the native command, the row state
    after, what it does."""
    scripts = ", ".join(scripts_of(row))
    return (move.name, *move_text(move), scripts, row.native or "script only", state_text(move), move.does)


def reply_text(reply: Mapping[Any, Any] | Callable[[Any], Any]) -> str:
    """The answers of an operation in words."""
    if isinstance(reply, Mapping):
        return ", ".join(
            _raw(raw) + (f" ({meaning})" if meaning is not None and str(meaning) != _raw(raw) else "")
            for raw, meaning in reply.items()
        )
    return (reply.__doc__ or "").partition("\n")[0]


def _raw(raw: Any) -> str:
    return raw.decode() if isinstance(raw, bytes) else str(raw)
