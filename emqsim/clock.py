"""The virtual clock: time is a number that only the caller moves."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from emqsim import guards
from emqsim.ids import EPOCH_MS, LARGEST_SNOWFLAKE, NODE_BITS, SEQUENCE_BITS, encode

if TYPE_CHECKING:
    from emqsim.base import BaseQueue

_EPOCH_US = EPOCH_MS * 1000
_LATEST_MS = guards.INT64_MAX // 1000


class VirtualClock:
    """Integer microseconds since the Unix epoch, and the cell that ids are minted from.

    Starts at 2024-01-01T00:00:00Z, or at `now_ms` or `now_us`. `node` (0 to 1023)
    goes into every minted id. The scripts see what the server's `TIME` would
    answer, floored to milliseconds.

    >>> clock = VirtualClock()
    >>> clock.advance(ms=1500)
    >>> clock.now_ms - 1704067200000
    1500
    """

    __slots__ = ("_last_minted", "_node", "_now_us")

    def __init__(self, now_ms: int | None = None, *, now_us: int | None = None, node: int = 0) -> None:
        guards.integer(node, "node", 0, 2**NODE_BITS - 1)
        self._node = node
        self._last_minted = -1
        if now_ms is None and now_us is None:
            now_us = _EPOCH_US
        self._now_us = _microseconds(now_ms, now_us)

    @property
    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch, floored: the `now` of every script."""
        return self._now_us // 1000

    @property
    def now_us(self) -> int:
        """Microseconds since the Unix epoch."""
        return self._now_us

    @property
    def node(self) -> int:
        """The node number in every id this clock mints."""
        return self._node

    def time(self) -> tuple[int, int]:
        """Seconds and microseconds, the pair that the server's `TIME` answers."""
        return divmod(self._now_us, 1_000_000)

    def advance(self, ms: int = 0, us: int = 0) -> None:
        """Move forward by `ms` milliseconds and `us` microseconds.

        Raises `ValueError` for a negative amount; `set` steps back.
        """
        guards.integer(ms, "ms", 0)
        guards.integer(us, "us", 0)
        now_us = self._now_us + ms * 1000 + us
        if now_us > guards.INT64_MAX:
            raise ValueError(f"ms={ms!r}, us={us!r} would take the clock past 2^63-1 microseconds")
        self._now_us = now_us

    def set(self, now_ms: int | None = None, *, now_us: int | None = None) -> None:
        """Jump to a time, forward or back; not before the Unix epoch, since no server's clock is."""
        self._now_us = _microseconds(now_ms, now_us)

    def next_due_ms(self, *queues: BaseQueue) -> int | None:
        """The first time after now at which a lease runs out or a scheduled job falls due in one of the
        queues, in Unix ms; `None` where nothing does. Raises `ValueError` for a queue on another clock."""
        now_ms = self.now_ms
        for queue in queues:
            if getattr(queue, "clock", None) is not self:
                raise ValueError(f"queue is not on this clock: {queue!r}")
        scores = (score for queue in queues for _, score in (*queue.active, *queue.scheduled))
        return min((ceil(score) for score in scores if now_ms < score <= _LATEST_MS), default=None)

    def advance_to_next(self, *queues: BaseQueue) -> int:
        """Move straight to `next_due_ms` and no further; gives how many ms that was, 0 where nothing is due
        later. Nothing happens to the jobs by this: that takes a reap, a sweep, a promote or a beat.

        >>> from emqsim import Queue
        >>> queue = Queue("orders")
        >>> queue.enqueue_in(queue.clock.mint(), "one pizza", delay_ms=90_000)
        <Verdict.SCHEDULED: 'scheduled'>
        >>> queue.clock.advance_to_next(queue)
        90000
        """
        due_ms, now_ms = self.next_due_ms(*queues), self.now_ms
        if due_ms is None:
            return 0
        self._now_us = due_ms * 1000
        return due_ms - now_ms

    def mint(self, namespace: str = "JOB") -> str:
        """A fresh id at the clock's time; one cell serves all namespaces.

        The cell holds `ms << 12 | sequence` and only grows: a burst past 4,096 ids in a
        millisecond borrows from the next one, a clock that stepped back goes on from the
        last id, and one that was set before 2024 mints from the first. Raises `ValueError` for
        a namespace that is not three letters A-Z, and past the last Snowflake (in the year 2093).
        """
        guards.text(namespace, "namespace")
        cell = max((self.now_ms - EPOCH_MS) << SEQUENCE_BITS, self._last_minted + 1)
        ms, sequence = divmod(cell, 2**SEQUENCE_BITS)
        snowflake = ms << (NODE_BITS + SEQUENCE_BITS) | self._node << SEQUENCE_BITS | sequence
        if snowflake > LARGEST_SNOWFLAKE:
            raise ValueError(f"no id can be minted at now_ms={self.now_ms!r}: past the last one")
        minted = encode(namespace, snowflake)
        self._last_minted = cell
        return minted

    def copy(self) -> VirtualClock:
        """An independent clock at the same time that would mint the same ids."""
        twin = VirtualClock(now_us=self._now_us, node=self._node)
        twin._last_minted = self._last_minted
        return twin

    def __repr__(self) -> str:
        return f"VirtualClock(now_us={self._now_us})"


def _microseconds(now_ms: int | None, now_us: int | None) -> int:
    """The one time given, in microseconds."""
    if (now_ms is None) == (now_us is None):
        raise TypeError(f"give now_ms or now_us, one of them: now_ms={now_ms!r}, now_us={now_us!r}")
    if now_us is None:
        guards.integer(now_ms, "now_ms", 0, _LATEST_MS)
        assert now_ms is not None
        return now_ms * 1000
    guards.integer(now_us, "now_us", 0)
    return now_us
