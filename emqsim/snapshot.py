"""A machine from a snapshot: every key is read, or refused with its name and the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import Any

from emqsim import guards
from emqsim.ids import is_id
from emqsim.keys import COUNTERS, SETS
from emqsim.machine import Machine

_NAMED = re.compile(r"emq:\{([^{}]+)\}:(.+)", re.DOTALL).fullmatch
_JOB_KEY = re.compile(r"job:([^:]*)(?::(logs|lock))?").fullmatch
_INTEGER = re.compile(rb"0|-?[1-9][0-9]*").fullmatch
_COUNTED = {"attempts": guards.COUNT_MAX, "stalled": guards.COUNT_MAX}
"""Fields of a row that a script counts up, and how far it counts exactly."""
_LIMITS = {"concurrency": guards.INT64_MAX, "max": guards.INT64_MAX}
"""Fields of meta that are numbers."""
_COUNTER = {"count": guards.COUNT_MAX}


def name_in(snapshot: Mapping[str, Any]) -> str:
    """The name of the queue in the keys of a snapshot; raises `ValueError` where it has none."""
    if not isinstance(snapshot, Mapping):
        raise TypeError(f"snapshot must be a mapping from keys to values, not {snapshot!r}")
    if not snapshot:
        raise ValueError("name must be given for a snapshot without keys")
    key = next(iter(snapshot))
    named = _NAMED(key) if isinstance(key, str) else None
    if named is None:
        raise _refused(key, "not a key of a queue, which starts with emq:{name}:")
    return named[1]


def load(snapshot: Mapping[str, Any], machine: Machine) -> None:
    """Fill an empty machine. Raises `ValueError` with the key and the reason."""
    if not isinstance(snapshot, Mapping):
        raise TypeError(f"snapshot must be a mapping from keys to values, not {snapshot!r}")
    base = machine.keys.base
    for key, value in snapshot.items():
        if not isinstance(key, str) or not key.startswith(base):
            raise _refused(key, f"not a key of this queue, which starts with {base}")
        try:
            _load(machine, key.removeprefix(base), value)
        except (ValueError, TypeError, OverflowError) as wrong:
            raise _refused(key, str(wrong)) from None


def _refused(key: Any, reason: str) -> ValueError:
    return ValueError(f"snapshot: {key!r}: {reason}")


def _load(m: Machine, rest: str, value: Any) -> None:
    """Take one key, named by what follows the base."""
    kind, colon, name = rest.partition(":")
    if rest in SETS:
        for member, score in _scored(value, rest):
            m.sets[rest].add(member, score)
    elif (job := _JOB_KEY(rest)) is not None:
        job_id, part = job.groups()
        guards.job_id(job_id)
        _JOB_PARTS[part](m, job_id, value)
    elif rest == "meta":
        m.meta.update(_hash(value, _LIMITS))
    elif kind == "metrics" and name in COUNTERS:
        fields = _hash(value, _COUNTER)
        if fields.keys() != _COUNTER.keys():
            raise ValueError(f"a counter has the field count alone, not {', '.join(fields)}")
        m.counters[name] = int(fields["count"])
    elif kind + colon == "de:":
        m.parked[name] = _id(_octets(value).decode("ascii", "replace"))
    else:
        raise ValueError("no key that the machine has")


def _row(m: Machine, job_id: str, value: Any) -> None:
    m.rows[job_id] = _hash(value, _COUNTED)


def _logs(m: Machine, job_id: str, value: Any) -> None:
    m.logs[job_id] = [_octets(line) for line in _list(value)]


def _lock(m: Machine, job_id: str, value: Any) -> None:
    m.locks[job_id] = _octets(value)


_JOB_PARTS: dict[str | None, Callable[[Machine, str, Any], None]] = {None: _row, "logs": _logs, "lock": _lock}


def _scored(value: Any, which: str) -> list[tuple[str, float]]:
    """The members of a sorted set with their scores; 0 where the machine has no others."""
    members: dict[str, float] = {}
    for entry in _list(value):
        if not isinstance(entry, Sequence) or isinstance(entry, (str, bytes)) or len(entry) != 2:
            raise ValueError(f"a member is a pair of id and score, not {entry!r}")
        member, score = _id(entry[0]), entry[1]
        if isinstance(score, bool) or not isinstance(score, (int, float)) or isnan(score):
            raise ValueError(f"the score of {member!r} must be a number, not {score!r}")
        if score and which in ("pending", "dead"):
            raise ValueError(f"the score of {member!r} must be 0 in {which}, not {score!r}")
        if member in members:
            raise ValueError(f"{member!r} stands twice")
        members[member] = float(score)
    return list(members.items())


def _hash(value: Any, integers: Mapping[str, int]) -> dict[str, bytes]:
    """The fields of a hash; some are integers up to a number."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"must be a mapping of fields that is not empty, not {value!r}")
    fields = {}
    for name, field in value.items():
        guards.text(name, "the name of a field")
        octets = fields[name] = _octets(field)
        if name in integers:
            if not _INTEGER(octets):
                raise ValueError(f"{name} must be a decimal integer, not {field!r}")
            guards.integer(int(octets), name, -integers[name], integers[name])
    return fields


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"must be a list that is not empty, not {value!r}")
    return value


def _octets(value: Any) -> bytes:
    return guards.octets(value, "the value")


def _id(member: Any) -> str:
    if not isinstance(member, str) or not is_id(member):
        raise ValueError(f"not a well-formed id: {member!r}")
    return member
