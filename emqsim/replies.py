"""How the answers of a server read: RESP2 values in, the answers of a queue out.

Each function takes the raw answer (int, bytes, list or None) and raises
`UnexpectedReply` for a shape or a number that the machine never answers.
The first line of each docstring is the answer in words, as `emqsim table` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from emqsim.results import Claimed, Sweep

T = TypeVar("T")


class UnexpectedReply(Exception):
    """A script answered what the machine never answers; `reply` is the raw answer."""

    def __init__(self, reply: Any) -> None:
        super().__init__(f"unexpected reply {reply!r}")
        self.reply = reply


def member(raw: Any) -> str:
    """an id

    Members of any bytes have a text form, so that a foreign one can be shown."""
    return _bytes(raw).decode("utf-8", "surrogateescape")


def members(raw: Any) -> list[str]:
    """a list of ids"""
    return [member(each) for each in _list(raw)]


def count(raw: Any) -> int:
    """a number"""
    if type(raw) is not int:
        raise UnexpectedReply(raw)
    return raw


def length(raw: Any) -> int:
    """a number above 0"""
    if count(raw) < 1:
        raise UnexpectedReply(raw)
    return raw  # type: ignore[no-any-return]


def claimed(raw: Any) -> Claimed | None:
    """[id, payload, token], or empty; the payload is nil where the row has none"""
    if raw == []:
        return None
    if len(_list(raw)) != 3:
        raise UnexpectedReply(raw)
    return Claimed(member(raw[0]), optional(raw[1]), count(raw[2]))


def claimed_list(raw: Any) -> list[Claimed]:
    """a list of [id, payload, token]"""
    batch = [claimed(each) for each in _list(raw)]
    served = [each for each in batch if each is not None]
    if len(served) != len(batch):
        raise UnexpectedReply(raw)
    return served


def sweep(raw: Any) -> Sweep:
    """[recovered ids, dead ids]"""
    if len(_list(raw)) != 2:
        raise UnexpectedReply(raw)
    return Sweep(members(raw[0]), members(raw[1]))


def optional(raw: Any) -> bytes | None:
    """bytes, or nil"""
    return None if raw is None else _bytes(raw)


def optional_member(raw: Any) -> str | None:
    """an id, or nil"""
    return None if raw is None else member(raw)


def octets_list(raw: Any) -> list[bytes]:
    """a list of bytes"""
    return [_bytes(each) for each in _list(raw)]


def hash_fields(raw: Any) -> dict[str, bytes]:
    """the fields of a hash"""
    flat = _list(raw)
    return {member(name): _bytes(value) for name, value in zip(flat[::2], flat[1::2], strict=True)}


def scored(raw: Any) -> list[tuple[str, float]]:
    """members with scores"""
    flat = _list(raw)
    return [(member(name), float(_bytes(score))) for name, score in zip(flat[::2], flat[1::2], strict=True)]


def ignored(raw: Any) -> None:
    """anything"""


def exactly(meanings: Mapping[Any, Any], raw: Any) -> Any:
    """What one of a few fixed answers means."""
    if type(raw) not in (int, bytes) or raw not in meanings:
        raise UnexpectedReply(raw)
    return meanings[raw]


def _bytes(raw: Any) -> bytes:
    if not isinstance(raw, bytes):
        raise UnexpectedReply(raw)
    return raw


def _list(raw: Any) -> list[Any]:
    if not isinstance(raw, list):
        raise UnexpectedReply(raw)
    return raw
