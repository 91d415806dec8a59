"""The keys of a queue as a server would answer for them, in the manner of its command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emqsim.base import BaseQueue

FIELDS = ("state", "attempts", "payload")
"""The fields that an admission writes, in its order; a hash answers in the order in which its fields came."""


class Answers(str):
    """Commands and their answers; a notebook shows them as they are."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def keyspace(queue: BaseQueue) -> Answers:
    """Every key of the queue, with the command that reads it and what a server answers.

    >>> from emqsim import Queue
    >>> queue = Queue("orders")
    >>> verdict = queue.enqueue("JOB00000000000", "one pizza")
    >>> keyspace(queue)
    > ZRANGE emq:{orders}:pending 0 -1 WITHSCORES
    1) "JOB00000000000"
    2) "0"
    > HGETALL emq:{orders}:job:JOB00000000000
    1) "state"
    2) "pending"
    3) "attempts"
    4) "0"
    5) "payload"
    6) "one pizza"
    """
    return Answers(
        "\n".join(line for key, held in queue.snapshot().items() for line in _key(key, held)) or "(empty)"
    )


def _key(key: str, held: Any) -> Iterator[str]:
    if isinstance(held, bytes):
        yield f"> GET {key}"
        yield _text(held)
        return
    if isinstance(held, dict):
        yield f"> HGETALL {key}"
        names = [*(name for name in FIELDS if name in held), *(name for name in held if name not in FIELDS)]
        words = [word for name in names for word in (name.encode(), held[name])]
    elif held and isinstance(held[0], tuple):
        yield f"> ZRANGE {key} 0 -1 WITHSCORES"
        words = [word for member, score in held for word in (member.encode(), b"%.17g" % score)]
    else:
        yield f"> LRANGE {key} 0 -1"
        words = held
    width = len(str(len(words)))
    yield from (f"{number:>{width}}) {_text(word)}" for number, word in enumerate(words, 1))


_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def _text(octets: bytes) -> str:
    """Bytes in quotes; what is not printable ASCII is escaped."""
    return '"' + "".join(_ESCAPES.get(b, chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in octets) + '"'
