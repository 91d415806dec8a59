"""Branded ids: three letters that name a kind, then a Snowflake in Base62.

    JOB 0KHTOWnGLuC
    |   |
    |   Snowflake: ms since 2024-01-01 << 22 | node << 12 | sequence
    namespace, A-Z

The Base62 digits stand in byte order and the text is padded with zeros to 11
digits, so the byte order of two ids of one namespace is the order in which they
were minted. That is why a sorted set in which every score is 0 is a queue.
"""

from __future__ import annotations

import re
from functools import lru_cache

EPOCH_MS = 1_704_067_200_000
"""2024-01-01T00:00:00Z in Unix milliseconds: the time of Snowflake 0."""

NODE_BITS = 10
SEQUENCE_BITS = 12
LARGEST_SNOWFLAKE = 2**63 - 1

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_WIDTH = 11
_SHAPE = re.compile(r"[A-Z]{3}[0-9A-Za-z]{11}").fullmatch
_NAMESPACE = re.compile(r"[A-Z]{3}").fullmatch


def _base62(number: int) -> str:
    digits = []
    while number:
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)).rjust(_WIDTH, "0")


_LARGEST = _base62(LARGEST_SNOWFLAKE)


@lru_cache(maxsize=4096)
def is_id(text: str) -> bool:
    """Whether `text` is a well-formed branded id of any namespace.

    Remembers recent answers, since each call on a job asks about the same id again.
    """
    return _SHAPE(text) is not None and text[3:] <= _LARGEST


def is_namespace(text: str) -> bool:
    """Whether `text` can be the first three letters of an id."""
    return _NAMESPACE(text) is not None


def encode(namespace: str, snowflake: int) -> str:
    """The id of a Snowflake in a namespace.

    >>> encode("USR", 274557032793636864)
    'USR0KHTOWnGLuC'

    Raises `ValueError` for a namespace that is not three letters A-Z, or a
    Snowflake outside 0 to 2^63-1.
    """
    if not is_namespace(namespace):
        raise ValueError(f"namespace must be three letters A-Z, not {namespace!r}")
    if not 0 <= snowflake <= LARGEST_SNOWFLAKE:
        raise ValueError(f"snowflake must be within 0..2^63-1, not {snowflake!r}")
    return namespace + _base62(snowflake)


def decode(branded_id: str) -> tuple[str, int]:
    """The namespace and the Snowflake of an id.

    >>> decode("USR0NgWEfAEJfs")
    ('USR', 320636799581945856)

    Raises `ValueError` for text that is not an id.
    """
    if not is_id(branded_id):
        raise ValueError(f"branded_id must be a well-formed id, not {branded_id!r}")
    snowflake = 0
    for digit in branded_id[3:]:
        snowflake = snowflake * 62 + _VALUES[digit]
    return branded_id[:3], snowflake


def minted_ms(branded_id: str) -> int:
    """When the id was minted, in Unix milliseconds."""
    return (decode(branded_id)[1] >> (NODE_BITS + SEQUENCE_BITS)) + EPOCH_MS
