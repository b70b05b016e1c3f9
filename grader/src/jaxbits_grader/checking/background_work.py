"""Notice, in a student's kernel, that an answer lets other threads or processes work for it.

An answer that must not run a program could have another thread or process run it, where the tests
do not look. The grader calls `start` in the kernel before a test, and `stop` after it.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

# The threads of these packages belong to the kernel or show progress.
_USUAL = frozenset(
    {"IPython", "ipykernel", "jupyter_client", "tornado", "tqdm", "traitlets", "zmq"}
)
_before: list[float] = []


def start() -> str:
    """Record how much time other processes have used so far.

    Returns:
        The word "started".
    """
    _before[:] = [_seconds_of_processes()]
    return "started"


def stop() -> str:
    """Return what has worked besides this thread, one per line.

    Example:
        >>> start()
        'started'
        >>> set(stop().splitlines()) <= {"another thread", "another process"}
        True
    """
    found = ["another thread"] if any(map(_is_unusual, threading.enumerate())) else []
    if _seconds_of_processes() != _before.pop() or any(_running_processes()):
        found.append("another process")
    return "\n".join(found)


def _is_unusual(thread: threading.Thread) -> bool:
    if thread is threading.main_thread() or thread is threading.current_thread():
        return False
    works_for = type(thread) if type(thread) is not threading.Thread else _target(thread)
    return str(getattr(works_for, "__module__", "")).partition(".")[0] not in _USUAL


def _target(thread: threading.Thread) -> object:
    """Return the function that a thread runs, for which Python has no public attribute."""
    return getattr(thread, "_target", None)


def _seconds_of_processes() -> float:
    """Return the time that processes of this one have used, once they have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _running_processes() -> Iterator[int]:
    """Yield the ids of the processes that this one has started and that still run."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:  # The process has ended.
            continue
        # The name of the program, in parentheses, may contain spaces. Then come state and parent:
        # https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
        if int(text.rpartition(")")[2].split()[1]) == os.getpid():
            yield int(folder.name)
