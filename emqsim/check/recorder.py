"""The model, and what its calls came down to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emqsim import Queue, QueueError, VirtualClock
from emqsim.check.coverage import Coverage
from emqsim.dialect import Dialect, Rules
from emqsim.errors import ServerError
from emqsim.machine import READS, Machine
from emqsim.operation import Operation
from emqsim.replies import UnexpectedReply
from emqsim.trace import perform

OperationResult = tuple[str, Any]
"""How an operation ended: `ok`, `refused` or `error`, and with what."""


Sent = tuple[Operation, tuple[Any, ...], OperationResult]
"""An operation that a call came down to, its arguments, and how it ended."""


def outcome(call: Callable[[], Any]) -> OperationResult:
    """The outcome of an operation, in a form that can be compared."""
    try:
        return "ok", call()
    except QueueError as refused:
        return "refused", (type(refused), refused.wire)
    except (ServerError, UnexpectedReply) as failed:
        return "error", str(failed)


class Recorder(Queue):
    """A queue that notes each operation it runs, reads aside."""

    def __init__(
        self, name: str, dialect: Dialect, coverage: Coverage | None = None, rules: Rules | None = None
    ) -> None:
        super().__init__(name, clock=VirtualClock(), dialect=dialect, rules=rules)
        self.sent: list[Sent] = []
        self._coverage = coverage

    @property
    def machine(self) -> Machine:
        """The state under the calls."""
        return self._machine

    def foreseen(self, call: str, args: tuple[Any, ...]) -> list[Sent]:
        """The operations that a call would come down to now. Nothing changes."""
        twin = Recorder(self.name, self.dialect, rules=self._rules)
        twin.clock.set(now_us=self.clock.now_us)
        twin._machine = self._machine.copy(twin.clock)
        perform(twin, call, args)
        return twin.sent

    def _run(self, operation: Operation, *args: Any) -> Any:
        if operation.name in READS:
            return operation.apply(self._machine, *args)
        note = self._coverage.watch(self._machine, operation, args) if self._coverage else None
        try:
            value = operation.apply(self._machine, *args)
        except QueueError as refused:
            self.sent.append((operation, args, ("refused", (type(refused), refused.wire))))
            if note:
                note(refused)
            raise
        self.sent.append((operation, args, ("ok", value)))
        if note:
            note(value)
        return value
