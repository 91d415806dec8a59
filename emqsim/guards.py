"""Guards on arguments, which run before anything is read, changed or sent.

A wrong type is a `TypeError`, a value out of range a `ValueError`, an ill-formed
id an `InvalidJobId`. Each message names the argument and the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from emqsim.errors import InvalidJobId
from emqsim.ids import is_id

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
COUNT_MAX = 2**53
"""The largest count: above it a double, and so a script, skips whole numbers."""


def job_id(value: Any, name: str = "job_id") -> None:
    """A well-formed branded id of any namespace, as `str`."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {value!r}")
    if not is_id(value):
        raise InvalidJobId(f"{name} is not a well-formed id: {value!r}")


def integer(value: Any, name: str, low: int = INT64_MIN, high: int = INT64_MAX) -> None:
    """A signed 64-bit integer within `low` to `high`; a bool is no integer here."""
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, int)):
        raise TypeError(f"{name} must be an int, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be within {_power(low)}..{_power(high)}, not {value!r}")


def count(value: Any, name: str, low: int = 1) -> None:
    """A count of things: `low` to 2^53."""
    integer(value, name, low, COUNT_MAX)


def lease(value: Any) -> None:
    """A lease in milliseconds, above 0."""
    integer(value, "lease_ms", 1)


def text(value: Any, name: str) -> None:
    """A `str` that has a UTF-8 form."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {value!r}")
    try:
        str.encode(value)
    except UnicodeEncodeError:
        raise ValueError(f"{name} has no UTF-8 form: {value!r}") from None


def flag(value: Any, name: str) -> None:
    """`True` or `False`, nothing that only counts as one."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {value!r}")


def octets(value: Any, name: str) -> bytes:
    """`bytes` as they are, a `str` as UTF-8."""
    if type(value) is bytes:
        return value
    if isinstance(value, bytes):
        return bytes(value)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str or bytes, not {value!r}")
    text(value, name)
    return str.encode(value)


def choice(value: Any, name: str, allowed: Sequence[str]) -> None:
    """One of a few words."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {value!r}")
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def pairs(value: Any, name: str, what: str) -> list[tuple[Any, Any]]:
    """An iterable of pairs, as a list; `what` says of what, for the message."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be pairs of {what}, not {value!r}")
    listed = []
    for pair in value:
        if isinstance(pair, (str, bytes)) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise TypeError(f"{name} must be pairs of {what}; this is none: {pair!r}")
        listed.append((pair[0], pair[1]))
    return listed


def _power(bound: int) -> str:
    """A bound as people write it: `-2^63` and not `-9223372036854775808`."""
    return {INT64_MIN: "-2^63", INT64_MAX: "2^63-1", COUNT_MAX: "2^53"}.get(bound, str(bound))
