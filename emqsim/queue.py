"""The queue in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from emqsim import guards
from emqsim.base import BaseQueue
from emqsim.clock import VirtualClock
from emqsim.dialect import Dialect, Rules
from emqsim.machine import Machine
from emqsim.operation import Operation

if TYPE_CHECKING:
    from emqsim.history import Watch


class Queue(BaseQueue):
    """A queue in memory, on a virtual clock that only the caller moves.

    >>> from emqsim import Queue
    >>> queue = Queue("orders")
    >>> job_id = queue.clock.mint()
    >>> queue.enqueue(job_id, "one pizza")
    <Verdict.ENQUEUED: 'enqueued'>
    >>> queue.claim(lease_ms=30_000)
    Claimed(job_id='JOB00000000000', payload=b'one pizza', token=1)

    `name` is non-empty text without braces; without a `clock` it makes one; `dialect` is a `Dialect` or its
    name, `rules` replace those of the dialect. With `history`, `queue.history(job_id)` tells what happened to a job;
    calls then take several times as long, and every event is kept. Queues are equal when name, dialect, rules,
    time and snapshot are.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        name: str,
        *,
        clock: VirtualClock | None = None,
        dialect: Dialect | str = Dialect.WIRE4,
        history: bool = False,
        rules: Rules | None = None,
    ) -> None:
        super().__init__(name, dialect, rules)
        if clock is None:
            clock = VirtualClock()
        if not isinstance(clock, VirtualClock):
            raise TypeError(f"clock must be a VirtualClock, not {clock!r}")
        self._clock = clock
        self._machine = Machine(self._keys, clock, self._rules)
        guards.flag(history, "history")
        if history:
            self._keep_history()

    @classmethod
    def from_snapshot(
        cls,
        snapshot: Mapping[str, Any],
        *,
        clock: VirtualClock | None = None,
        dialect: Dialect | str = Dialect.WIRE4,
        name: str | None = None,
        history: bool = False,
    ) -> Queue:
        """A queue in the state of a snapshot, as `snapshot` gives it: any keys of the machine, ghosts and stub
        rows too. `name` is that in the keys; it has to be given only where there are none.

        Raises `ValueError` for anything that the machine's keys cannot hold, with the key and the reason.
        """
        from emqsim.snapshot import load, name_in

        guards.flag(history, "history")
        queue = cls(name_in(snapshot) if name is None else name, clock=clock, dialect=dialect)
        load(snapshot, queue._machine)
        if history:
            queue._keep_history()
        return queue

    @property
    def clock(self) -> VirtualClock:
        """The clock that all transitions read."""
        return self._clock

    def _now_us(self) -> int:
        return self._clock.now_us

    def _watch(self) -> Watch:
        from emqsim.history import MachineWatch

        return MachineWatch(self._machine)

    def _run(self, operation: Operation, *args: Any) -> Any:
        return operation.apply(self._machine, *args)

    def snapshot(self) -> dict[str, Any]:
        return self._machine.keyspace()

    snapshot.__doc__ = BaseQueue.snapshot.__doc__

    @property
    def events(self) -> list[tuple[str, bytes]]:
        """What was published, oldest first: channel and message."""
        return list(self._machine.events)

    def copy(self) -> Queue:
        """An independent queue in the same state, with its own clock."""
        twin = Queue(self._name, clock=self._clock.copy(), dialect=self._dialect, rules=self._rules)
        twin._machine = self._machine.copy(twin._clock)
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Queue):
            return NotImplemented
        return (
            self._name == other._name
            and self._dialect == other._dialect
            and self._rules == other._rules
            and self._clock.now_us == other._clock.now_us
            and self.snapshot() == other.snapshot()
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """How a notebook shows the queue: its four sets, as a picture and as text."""
        from emqsim.draw import four_sets

        return four_sets(self)._repr_mimebundle_()

    def __repr__(self) -> str:
        counts = ", ".join(f"{which}={len(ids)}" for which, ids in self._machine.sets.items())
        return f"<Queue {self._name!r} {self._dialect} at {self._clock.now_ms} ms: {counts}>"
