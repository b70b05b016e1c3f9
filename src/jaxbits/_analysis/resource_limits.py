"""What an audit may use: time, and memory for copies of the arguments.

Both are told by exceptions that no ``except Exception`` of the user's catches.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections.abc import Iterator

import jax

from jaxbits import _jax_compat

LARGEST_COPY = 1 << 30
"""Arguments of more bytes than this are traced, and not copied for calls and runs."""


class Stopped(BaseException):
    """Work that was stopped on purpose; the text says why."""


class OutOfTime(Stopped):
    """The time of an audit is used up."""


class TooLarge(Stopped):
    """Arguments are too large to be copied."""


class Exited(Exception):
    """The user's function ended the program: with `sys.exit`, or an exception that is no error."""


_here = threading.local()


def ends() -> float:
    """Return when the time of this thread is up, by `time.monotonic`; infinity without a limit."""
    return float(getattr(_here, "ends", float("inf")))


def grace(seconds: float) -> float:
    """Return how long after its end work is stopped wherever it is."""
    return 1.0 + seconds / 10


@contextlib.contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTime` inside of the block once it has taken so many seconds.

    Where the user's function runs, `watch` raises it, at a call that a line of the user's makes.
    Elsewhere, and in a loop that calls nothing, it is raised a little later and wherever Python is;
    C code and compiled programs are waited for.

    >>> try:
    ...     with limited(0.01):
    ...         while True:
    ...             pass
    ... except OutOfTime:
    ...     print("stopped")
    stopped
    """
    if seconds is None:
        yield
        return
    thread, before = threading.get_ident(), ends()
    alarm = _Alarm(thread, seconds + grace(seconds))
    _here.ends = min(before, time.monotonic() + seconds)
    try:
        with _jax_compat.trace_kept():
            yield
    finally:
        try:
            alarm.off()
        except OutOfTime:  # it is raised once only
            alarm.off()
        _here.ends = before


class _Alarm:
    """Raises `OutOfTime` in a thread, once."""

    def __init__(self, thread: int, seconds: float) -> None:
        self.thread, self.lock, self.is_on, self.rang = thread, threading.Lock(), True, False
        self.timer = threading.Timer(seconds, self.ring)
        self.timer.daemon = True
        self.timer.start()

    def ring(self) -> None:
        with self.lock:
            if self.is_on:
                self.rang = True
                _raise(self.thread, OutOfTime)

    def off(self) -> None:
        """Ring no more; what was raised and has not come yet comes here."""
        with self.lock:
            self.is_on = False
        self.timer.cancel()
        for _ in range(1000 * self.rang):
            time.monotonic()


def _raise(thread: int, error: type[BaseException]) -> None:
    """Raise in another thread, at its next step."""
    # Taking an error back, by None, makes Python 3.11 hang where a profiler is on.
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


@contextlib.contextmanager
def exits_as_errors() -> Iterator[None]:
    """Turn `SystemExit` and its like into `Exited`; Ctrl-C and `Stopped` pass."""
    try:
        yield
    except (Exception, KeyboardInterrupt, GeneratorExit, Stopped):
        raise
    except BaseException as error:
        raise Exited(f"{type(error).__name__} {error}".strip()) from error


def size(tree: object) -> int:
    """Return how many bytes the arrays of a tree hold.

    >>> size({"x": jax.numpy.ones((2, 3)), "n": 3})
    24
    """
    return sum(int(getattr(leaf, "nbytes", 0)) for leaf in jax.tree.leaves(tree))


def check_size(tree: object) -> None:
    """Raise `TooLarge` where the arrays of a tree are too large to be copied."""
    held = size(tree)
    if held > LARGEST_COPY:
        raise TooLarge(
            f"the arguments hold {held / 2**30:.1f} GiB, and are copied up to "
            f"{LARGEST_COPY / 2**30:g} GiB"
        )
