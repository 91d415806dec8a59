"""Ctrl-C, where it has to wait, and where it must not get lost."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is done: what it makes is then known, and can be taken away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


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
def remembered() -> Iterator[None]:
    """Ctrl-C raises as ever, and cannot get lost: where it comes in a callback of the garbage collector or while an
    object is deleted, Python would only print it, and some code turns it into another error. `raise_remembered` raises
    it then, and so does the block where it ends in an error. Where Ctrl-C is ignored, it stays so."""
    global _came
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored or _came is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    came = _came = []

    def noted(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    def unraisable(what: sys.UnraisableHookArgs) -> None:
        if not (came and issubclass(what.exc_type, KeyboardInterrupt)):
            printed(what)

    before = signal.signal(signal.SIGINT, noted)
    printed, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield
    except Exception as failed:
        raise_remembered(failed)
        raise
    finally:
        _came = None
        sys.unraisablehook = printed
        signal.signal(signal.SIGINT, before)


def raise_remembered(instead_of: Exception | None = None) -> None:
    """Raise the Ctrl-C that came and was lost, if one was."""
    if _came and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt from instead_of
