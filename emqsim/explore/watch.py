"""A watch over calls that never return, as a faulty model can have them."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

_LOOK_S = 0.05
"""Processor seconds between two looks."""


class DoesNotReturn(Exception):
    """A call has taken far longer than any call of the machine does."""


class Watch:
    """While it is entered, a call that runs on from one look to the second after it is ended by `DoesNotReturn`.

    `call` counts the calls, and is 0 while there is none. In another thread than the main one, and where the
    system has no such timer, nothing is watched.
    """

    def __init__(self) -> None:
        self.call = 0
        self._last = 0
        self._works = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self._works:
            self._before = signal.signal(signal.SIGVTALRM, self._look)
            signal.setitimer(signal.ITIMER_VIRTUAL, _LOOK_S, _LOOK_S)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._works:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, self._before)

    def _look(self, number: int, frame: FrameType | None) -> None:
        if self.call and self.call == self._last:
            raise DoesNotReturn
        self._last = self.call
