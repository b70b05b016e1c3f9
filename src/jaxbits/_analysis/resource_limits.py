"""Limits on the time that an audit takes and on the memory for its copies of the arguments.

Exceeding either limit raises an exception that ``except Exception`` in user code does not catch.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections.abc import Iterator

import jax

from jaxbits import _jax_compat

MAX_COPY_BYTES = 1 << 30
"""The maximum total size of copied arguments. A function with larger ones is traced but not run."""


class Stopped(BaseException):
    """Raised to stop work on purpose. The message gives the reason."""


class OutOfTime(Stopped):
    """Raised when the time limit of an audit has passed."""


class TooLarge(Stopped):
    """Raised when the arguments are too large to be copied."""


class Exited(Exception):
    """Raised when the user's function calls `sys.exit` or raises a similar exception."""


_local = threading.local()


def deadline() -> float:
    """Return the time at which this thread's time limit ends, as measured by `time.monotonic`.

    If there is no limit, the result is infinity.
    """
    return float(getattr(_local, "deadline", float("inf")))


def grace_period(seconds: float) -> float:
    """Return how many seconds after the time limit to stop work even outside user code."""
    return 1.0 + seconds / 10


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTime` inside the block once it has taken this many seconds.

    While the user's function runs, `monitor_calls` raises the exception at the next call that
    user code makes. In other code, and in a loop without calls, the exception arrives after the
    grace period, wherever Python is at that moment. C code and compiled programs are
    never interrupted.

    >>> try:
    ...     with time_limit(0.01):
    ...         while True:
    ...             pass
    ... except OutOfTime:
    ...     print("stopped")
    stopped
    """
    if seconds is None:
        yield
        return
    thread, outer_deadline = threading.get_ident(), deadline()
    alarm = _Alarm(thread, seconds + grace_period(seconds))
    _local.deadline = min(outer_deadline, time.monotonic() + seconds)
    try:
        with _jax_compat.keep_current_trace():
            yield
    finally:
        try:
            alarm.cancel()
        except OutOfTime:  # The alarm goes off only once, so the second call completes.
            alarm.cancel()
        _local.deadline = outer_deadline


class _Alarm:
    """A timer that raises `OutOfTime` once in a given thread."""

    def __init__(self, thread: int, seconds: float) -> None:
        self.thread, self.lock = thread, threading.Lock()
        self.is_armed, self.has_rung = True, False
        self.timer = threading.Timer(seconds, self.ring)
        self.timer.daemon = True
        self.timer.start()

    def ring(self) -> None:
        with self.lock:
            if self.is_armed:
                self.has_rung = True
                _raise_in_thread(self.thread, OutOfTime)

    def cancel(self) -> None:
        """Disarm the timer, and let an exception that is already scheduled arrive."""
        with self.lock:
            self.is_armed = False
        self.timer.cancel()
        # Python delivers the exception only between bytecode instructions, so execute some:
        # https://docs.python.org/3.11/c-api/init.html#c.PyThreadState_SetAsyncExc
        for _ in range(1000 * self.has_rung):
            time.monotonic()


def _raise_in_thread(thread: int, error: type[BaseException]) -> None:
    """Schedule an exception that another thread raises at its next bytecode instruction."""
    # Never cancel it by passing None, because Python 3.11 then hangs while a profiler is active.
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


@contextlib.contextmanager
def exits_as_errors() -> Iterator[None]:
    """Turn `SystemExit` and similar exceptions into `Exited`.

    `KeyboardInterrupt` and `Stopped` pass through.

    Raises:
        Exited: If the block raises any other exception that is not a subclass of `Exception`.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, GeneratorExit, Stopped):
        raise
    except BaseException as error:
        raise Exited(f"{type(error).__name__} {error}".strip()) from error


def array_bytes(tree: object) -> int:
    """Return the total size of the arrays in a tree, in bytes.

    >>> array_bytes({"x": jax.numpy.ones((2, 3)), "n": 3})
    24
    """
    return sum(int(getattr(leaf, "nbytes", 0)) for leaf in jax.tree.leaves(tree))


def check_copy_size(tree: object) -> None:
    """Check that the arrays in a tree are small enough to be copied.

    Raises:
        TooLarge: If the arrays take up more than `MAX_COPY_BYTES`.
    """
    size = array_bytes(tree)
    if size > MAX_COPY_BYTES:
        raise TooLarge(
            f"the arguments take up {size / 2**30:.1f} GiB, but are copied only up to "
            f"{MAX_COPY_BYTES / 2**30:g} GiB"
        )
