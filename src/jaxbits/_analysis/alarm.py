"""A timer that raises an exception in another thread."""

from __future__ import annotations

import ctypes
import threading
import time


class Alarm:
    """A timer that raises an exception once in a given thread.

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
            while self.is_armed and (seconds := self.rings_at - time.monotonic()) > 0:
                self.condition.wait(seconds)
            if self.is_armed:
                self.has_rung = True
                _raise_in_thread(self.thread, self.error)

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
