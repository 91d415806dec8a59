"""A picture of a queue's keyspace as one string of bytes: made by the model, and by a script on the server.

Two states are equal when their pictures are, so that the state after each step costs one answer to compare.
Everything is written with its length in front. Scores are the eight bytes of the double, since servers write
them differently. The known fields of a hash come in a fixed order, others as the server has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from struct import pack

from emqsim.keys import COUNTERS, SETS
from emqsim.machine import Machine

FIELDS = (
    "state",
    "attempts",
    "payload",
    "last_error",
    "progress",
    "stalled",
    "lease_epoch",
    "paused",
    "concurrency",
    "max",
    "count",
    "lock",
)


SCRIPT = (
    (files("emqsim.check") / "picture.lua")
    .read_text("utf-8")
    .replace("--[[FIELDS]]", ", ".join(f"'{name}'" for name in FIELDS))
)
"""The script that makes the same picture on the server, and counts the keys that are not in it."""


def _put(text: bytes) -> bytes:
    return b"%d:%b" % (len(text), text)


_FIELD_TEXTS = tuple((name, _put(name.encode())) for name in FIELDS)
_SETS = tuple((name, b"z" + name.encode()) for name in SETS)
_METRICS = tuple((name, b"hmetrics:" + name.encode()) for name in COUNTERS)


def picture(m: Machine) -> tuple[list[bytes], bytes]:
    """The keys that exist on the model, as the script takes them, and the picture of their values."""
    keys: list[bytes] = []
    out: list[bytes] = []

    def add(key: bytes, value: bytes) -> None:
        keys.append(key)
        out.append(b"%d:%b%b" % (len(key), key, value))

    for which, key in _SETS:
        if m.sets[which]:
            pairs = [b"14:%b%b" % (member.encode(), pack(">d", score)) for score, member in m.sets[which]]
            add(key, b"".join(pairs))
    if m.meta:
        add(b"hmeta", _hash(m.meta))
    for which, key in _METRICS:
        if which in m.counters:
            add(key, _hash({"count": b"%d" % m.counters[which]}))
    for job_id, row in m.rows.items():
        add(b"hjob:" + job_id.encode(), _hash(row))
    for job_id, lines in m.logs.items():
        add(b"ljob:%b:logs" % job_id.encode(), b"".join(map(_put, lines)))
    for job_id, mark in m.locks.items():
        add(b"sjob:%b:lock" % job_id.encode(), _put(mark))
    for dedup_id, job_id in m.parked.items():
        add(b"sde:" + dedup_id.encode(), _put(job_id.encode()))
    return keys, b"".join(out)


def names(job_ids: Iterable[str], dedup_ids: Iterable[str]) -> list[bytes]:
    """Every key that a queue can have with these jobs and dedup ids, as the script takes them."""
    whole = [key for _, key in (*_SETS, *_METRICS)] + [b"hmeta"]
    for job_id in job_ids:
        row = b"job:" + job_id.encode()
        whole += [b"h" + row, b"l%b:logs" % row, b"s%b:lock" % row]
    return whole + [b"sde:" + dedup_id.encode() for dedup_id in dedup_ids]


def _hash(fields: dict[str, bytes]) -> bytes:
    got = fields.get
    return b"".join(
        [
            b"%b%d:%b" % (head, len(text), text)
            for name, head in _FIELD_TEXTS
            if (text := got(name)) is not None
        ]
    )
