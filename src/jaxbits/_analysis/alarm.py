"""A timer that raises an exception in another thread."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
import time
from collections.abc import Iterator

PAUSE = 0.01
"""The time in seconds between an exception that Python dropped and the next one."""


class Alarm:
    """A timer that raises an exception in a given thread.

    The exception is raised once. However, if it arrives in a finalizer or in the callback of a weak
    reference, Python drops it, so the timer raises it again.

    Attributes:
        has_rung: Whether it has scheduled the exception.
    """

    def __init__(self, thread: int, seconds: float, error: type[BaseException]) -> None:
        self.thread, self.error, self.condition = thread, error, threading.Condition()
        self.is_armed, self.has_rung = True, False
        self.rings_at = time.monotonic() + seconds
        threading.Thread(target=self._wait_and_ring, daemon=True).start()

    def _wait_and_ring(self) -> None:
        with self.condition:
            while self.is_armed:
                seconds = self.rings_at - time.monotonic()
                if seconds > 0:
                    # After it has rung, it waits for `ring_again` or `cancel`.
                    self.condition.wait(seconds if seconds < float("inf") else None)
                else:
                    self.has_rung, self.rings_at = True, float("inf")
                    _raise_in_thread(self.thread, self.error)

    def ring_again(self) -> None:
        """Raise the exception again, because Python dropped the last one."""
        with self.condition:
            self.rings_at = time.monotonic() + PAUSE
            self.condition.notify()

    def postpone(self, seconds: float) -> None:
        """Make the timer wait at least this many seconds from now."""
        with self.condition:
            self.rings_at = max(self.rings_at, time.monotonic() + seconds)

    def cancel(self) -> None:
        """Disarm the timer, and let an exception that is already scheduled arrive."""
        with self.condition:
            self.is_armed = False
            self.condition.notify()
        # Python delivers the exception only between bytecode instructions, so execute some:
        # https://docs.python.org/3.11/c-api/init.html#c.PyThreadState_SetAsyncExc
        for _ in range(1000 * self.has_rung):
            time.monotonic()


def _raise_in_thread(thread: int, error: type[BaseException]) -> None:
    """Schedule an exception that another thread raises at its next bytecode instruction."""
    # Never cancel it by passing None, because Python 3.11 then hangs while a profiler is active.
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


@contextlib.contextmanager
def rings_until_heard(alarm: Alarm) -> Iterator[None]:
    """Let a timer raise its exception again whenever Python drops it.

    Python cannot pass on an exception that is raised in a finalizer or in the callback of a weak
    reference, so it calls `sys.unraisablehook` and continues:
    https://docs.python.org/3/library/sys.html#sys.unraisablehook
    """
    previous = sys.unraisablehook

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is alarm.error and threading.get_ident() == alarm.thread:
            alarm.ring_again()
        else:
            previous(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        if sys.unraisablehook is hook:
            sys.unraisablehook = previous
