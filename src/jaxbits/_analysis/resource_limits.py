"""Limits on the time that an audit takes and on the memory for its copies of the arguments.

Exceeding either limit raises an exception that ``except Exception`` in user code does not catch.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn, TypeVar

import jax

from jaxbits import _jax_compat
from jaxbits._analysis.alarm import Alarm, rings_until_heard

T = TypeVar("T")

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
    """Return how many seconds after the time limit to stop work even outside user code.

    Together with the time that restoring the user's state takes, this is less than 10% of the time
    limit unless the limit is very short.
    """
    return seconds / 20


def stop() -> NoReturn:
    """Raise `OutOfTime`, and give the code that it passes through another second to clean up.

    Raises:
        OutOfTime: Always.
    """
    alarm = getattr(_local, "alarm", None)
    if alarm is not None:
        alarm.postpone(1.0)
    raise OutOfTime


def run_until_deadline(function: Callable[[], T]) -> T:
    """Call a function in another thread, and wait for its result no longer than the time limit.

    The function must not run any of the user's Python code. It should spend its time in C code that
    Python cannot interrupt, such as a compilation. If the time limit passes first, the thread goes
    on in the background, and its result is dropped.

    Raises:
        OutOfTime: If the time limit passes first.

    >>> run_until_deadline(lambda: 3)
    3
    """
    if deadline() == float("inf"):
        return function()
    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    # Python waits for this thread before it exits, because a daemon thread that is still in C code
    # at that time may crash the process: https://docs.python.org/3.11/library/threading.html
    threading.Thread(target=run, name="jaxbits", daemon=False).start()
    concurrent.futures.wait([future], timeout=max(0.0, deadline() - time.monotonic()))
    if not future.done():
        stop()
    return future.result()


def wait_for(results: T) -> T:
    """Wait for arrays that are being computed, but no longer than the time limit.

    Raises:
        OutOfTime: If the time limit passes first.
    """
    ready: T = run_until_deadline(lambda: jax.block_until_ready(results))
    return ready


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTime` inside the block once it has taken this many seconds.

    While the user's function runs, `monitor_calls` raises the exception at the next call that
    user code makes. A compilation runs in another thread, and the block no longer waits for it. In
    other code, and in a loop without calls, the exception arrives after the grace period, wherever
    Python is at that moment. Other C code, such as a compiled program that the user's function
    waits for, is never interrupted.

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
    outer_alarm = getattr(_local, "alarm", None)
    alarm = _local.alarm = Alarm(thread, seconds + grace_period(seconds), OutOfTime)
    _local.deadline = min(outer_deadline, time.monotonic() + seconds)
    with rings_until_heard(alarm):
        try:
            with (
                _jax_compat.keep_current_trace(),
                _jax_compat.intercept_compilation(run_until_deadline),
            ):
                yield
        finally:
            try:
                alarm.cancel()
            except OutOfTime:  # The first call disarmed the alarm, so the second one completes.
                alarm.cancel()
            _local.deadline, _local.alarm = outer_deadline, outer_alarm


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
    leaves = jax.tree.leaves(tree, is_leaf=lambda value: hasattr(type(value), "__next__"))
    return sum(int(getattr(leaf, "nbytes", 0)) for leaf in leaves)


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
