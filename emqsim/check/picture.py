"""A picture of a queue's keyspace as one string of bytes: made by the model, and by a script on the server.

Two states are equal when their pictures are, so that the state after each step costs one answer to compare.
It is a MessagePack list of names and values. Scores are the eight bytes of the double, since servers write
them differently; the fields of a hash come by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.resources import files
from struct import pack

from emqsim.keys import COUNTERS, SETS
from emqsim.machine import Machine

SCRIPT = (files("emqsim.check") / "picture.lua").read_text("utf-8")
"""The script that makes the same picture on the server, and puts behind it how many keys are not in it."""

_SETS = tuple((name, b"z" + name.encode()) for name in SETS)
_METRICS = tuple((name, b"hmetrics:" + name.encode()) for name in COUNTERS)


def picture(m: Machine) -> tuple[list[bytes], bytes]:
    """The keys that exist on the model, as the script takes them, and the picture of their values."""
    found: dict[bytes, bytes] = {}
    for which, key in _SETS:
        if m.sets[which]:
            found[key] = _set(tuple(m.sets[which]))
    if m.meta:
        found[b"hmeta"] = _hash(tuple(m.meta.items()))
    for which, key in _METRICS:
        if which in m.counters:
            found[key] = _hash((("count", b"%d" % m.counters[which]),))
    for job_id, row in m.rows.items():
        found[b"hjob:%b" % job_id.encode()] = _hash(tuple(row.items()))
    for job_id, lines in m.logs.items():
        found[b"ljob:%b:logs" % job_id.encode()] = _list([_text(line) for line in lines])
    for job_id, mark in m.locks.items():
        found[b"sjob:%b:lock" % job_id.encode()] = _text(mark)
    for dedup_id, job_id in m.parked.items():
        found[b"sde:%b" % dedup_id.encode()] = _text(job_id.encode())
    return list(found), _list([each for key, value in found.items() for each in (_text(key), value)])


# From one step to the next most values stay as they are, and so do their pictures.


@lru_cache(1024)
def _set(members: tuple[tuple[float, str], ...]) -> bytes:
    return _list(
        [each for score, name in members for each in (_text(name.encode()), b"\xa8" + pack(">d", score))]
    )


@lru_cache(4096)
def _hash(fields: tuple[tuple[str, bytes], ...]) -> bytes:
    return _list([_text(each) for name, text in sorted(fields) for each in (name.encode(), text)])


@lru_cache(4096)
def _text(text: bytes) -> bytes:
    """A text as MessagePack has it: its length in the shortest form, then its bytes."""
    size = len(text)
    if size < 32:
        return b"%c%b" % (0xA0 | size, text)
    if size < 2**8:
        return b"\xd9%c%b" % (size, text)
    head = b"\xda" + pack(">H", size) if size < 2**16 else b"\xdb" + pack(">I", size)
    return head + text


def _list(items: Sequence[bytes]) -> bytes:
    size = len(items)
    if size < 16:
        return b"%c%b" % (0x90 | size, b"".join(items))
    head = b"\xdc" + pack(">H", size) if size < 2**16 else b"\xdd" + pack(">I", size)
    return head + b"".join(items)


def names(job_ids: Iterable[str], dedup_ids: Iterable[str]) -> list[bytes]:
    """Every key that a queue can have with these jobs and dedup ids, as the script takes them."""
    whole = [key for _, key in (*_SETS, *_METRICS)] + [b"hmeta"]
    for job_id in job_ids:
        row = b"job:" + job_id.encode()
        whole += [b"h" + row, b"l%b:logs" % row, b"s%b:lock" % row]
    return whole + [b"sde:" + dedup_id.encode() for dedup_id in dedup_ids]
