"""Ctrl-C, where it has to wait, and where it must not get lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
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


@contextmanager
def remembered() -> Iterator[Callable[[], None]]:
    """Ctrl-C raises as ever, and what is given raises it again, once called: where it happens to come while a
    callback of the garbage collector runs, as some libraries have them, Python only prints it. Where Ctrl-C is
    ignored, it stays so."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored or threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    came: list[int] = []

    def noted(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    def again() -> None:
        if came:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, noted)
    try:
        yield again
    finally:
        signal.signal(signal.SIGINT, before)
