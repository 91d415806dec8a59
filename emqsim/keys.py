"""The keys of one queue, and the cluster slot they share."""

from __future__ import annotations

from binascii import crc_hqx

from emqsim import guards

SETS = ("pending", "active", "schedule", "dead")
"""The four sorted sets, in the order in which obliterate empties them."""

COUNTERS = ("completed", "failed")

SLOTS = 16384


def slot(key: str | bytes) -> int:
    """The cluster slot of a key: CRC16-XMODEM of its hash tag, modulo 16384.

    The hash tag is the text inside the first `{…}` if there is any, else the whole key.

    >>> slot("123456789")
    12739
    """
    whole = guards.octets(key, "key")
    tag = whole
    opened = whole.find(b"{")
    if opened >= 0:
        closed = whole.find(b"}", opened + 1)
        if closed > opened + 1:
            tag = whole[opened + 1 : closed]
    return crc_hqx(tag, 0) % SLOTS


class Keys:
    """Key names of the queue `name`: `emq:{name}:pending`, `emq:{name}:job:<id>` and so on.

    The braces are a hash tag, so that all keys of a queue share one slot. Every key
    of a row refuses an ill-formed id. Raises `ValueError` for an empty name or braces in it.
    """

    __slots__ = ("active", "base", "dead", "events", "job_prefix", "meta", "pending", "schedule")

    def __init__(self, name: str) -> None:
        guards.text(name, "name")
        if not name or "{" in name or "}" in name:
            raise ValueError(f"name must be non-empty text without braces, not {name!r}")
        base = f"emq:{{{name}}}:"
        self.base = base
        self.job_prefix = base + "job:"
        self.pending = base + "pending"
        self.active = base + "active"
        self.schedule = base + "schedule"
        self.dead = base + "dead"
        self.meta = base + "meta"
        self.events = base + "events"

    def job(self, job_id: str) -> str:
        """The row, a hash."""
        guards.job_id(job_id)
        return self.job_prefix + job_id

    def logs(self, job_id: str) -> str:
        """The log lines of a job, a list."""
        return self.job(job_id) + ":logs"

    def lock(self, job_id: str) -> str:
        """The mark of an outside lock holder, a string."""
        return self.job(job_id) + ":lock"

    def metrics(self, which: str) -> str:
        """The counter `completed` or `failed`, a hash with the field `count`."""
        guards.choice(which, "which", COUNTERS)
        return self.base + "metrics:" + which

    def de(self, dedup_id: str) -> str:
        """The job id parked for a producer's idempotency key, a string."""
        guards.text(dedup_id, "dedup_id")
        return self.base + "de:" + dedup_id

    def key(self, kind: str, *parts: str) -> str:
        """A key by the words of its name: `key("pending")`, `key("job", job_id)`.

        Raises `ValueError` for a kind that is none, `TypeError` for a wrong number of parts.
        """
        guards.choice(kind, "kind", (*_PLAIN, *_BUILT))
        if len(parts) != (kind in _BUILT):
            raise TypeError(f"key({kind!r}) takes {int(kind in _BUILT)} more, not {parts!r}")
        built: str = getattr(self, kind)(*parts) if parts else getattr(self, kind)
        return built


_PLAIN = (*SETS, "meta", "events")
_BUILT = ("job", "logs", "lock", "metrics", "de")
