"""Ctrl-C, where it has to wait, and where it must not get lost."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CTRL_C = (signal.SIGINT,)
ANY = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and being asked to end, which a command takes the same way."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is done: what it makes is then known, and can be taken away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    raising = [each for each in ANY if callable(signal.getsignal(each))]
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in raising}
    try:
        yield
    finally:
        _restore(before)
    if came:
        raise KeyboardInterrupt(came[0])


@contextmanager
def withheld() -> Iterator[None]:
    """Ctrl-C waits until the block is done, and never comes to processes that are started in it, where the system
    can do that: they are ended by whoever started them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_came: list[int] | None = None
"""The Ctrl-C's that came while they are remembered."""


@contextmanager
def remembered(signals: tuple[signal.Signals, ...] = CTRL_C) -> Iterator[None]:
    """Ctrl-C raises as ever, and cannot get lost: where it comes in a callback of the garbage collector or while an
    object is deleted, Python would only print it, and some code turns it into another error. `raise_remembered` raises
    it then, and so does the block where it ends in an error. Where Ctrl-C is ignored, it stays so. The error has the
    number of the signal."""
    global _came
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored or _came is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    came = _came = []

    def noted(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt(number)

    def unraisable(what: sys.UnraisableHookArgs) -> None:
        if not (came and issubclass(what.exc_type, KeyboardInterrupt)):
            printed(what)

    before = {each: signal.signal(each, noted) for each in signals}
    printed, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield
    except Exception as failed:
        raise_remembered(failed)
        raise
    finally:
        _came = None
        sys.unraisablehook = printed
        _restore(before)


def raise_remembered(instead_of: Exception | None = None) -> None:
    """Raise the Ctrl-C that came and was lost, if one was."""
    if _came and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt(_came[0]) from instead_of


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    for each, handler in handlers.items():
        signal.signal(each, handler)
