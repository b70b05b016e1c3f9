"""What a run uses in memory, processes and disk, looked at while it goes on."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import psutil

from jaxbits_grader.running.limits import GIGABYTE, MEGABYTE, Limits

EVERY = 0.2  # seconds


def memory(processes: list[psutil.Process], enough: float) -> float:
    """The bytes that some processes use together, what they share counted once.

    The sum of what each uses is quick to find and never too small; only where it is over `enough`
    is the exact number asked for.
    """
    quick = exact = 0.0
    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            quick += process.memory_info().rss
    if quick <= enough:
        return quick
    for process in processes:
        try:
            exact += process.memory_full_info().pss
        except (psutil.Error, OSError, AttributeError):
            with contextlib.suppress(psutil.Error, OSError):
                exact += process.memory_info().rss
    return exact


ENTRY = 4096  # bytes that even an empty file counts for


def disk(folder: Path, enough: float = float("inf")) -> int:
    """The bytes of the files in a folder, counted until there are enough.

    Raises:
        OSError: when a part of it cannot be looked into, and may hold anything.
    """
    total, folders = 0, [os.fspath(folder)]
    while folders and total <= enough:
        with contextlib.suppress(FileNotFoundError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                total += ENTRY
                with contextlib.suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
    return total


class Watch:
    """Ends a run that uses more than it may, and knows why.

    Used in a ``with`` statement around the run.
    """

    def __init__(self, pid: int, shared: Path, limits: Limits, end: Callable[[], None]) -> None:
        self.reason: str | None = None
        self._pid, self._shared, self._limits, self._end = pid, shared, limits, end
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            try:
                first = psutil.Process(self._pid)
                processes = [first, *first.children(recursive=True)]
            except psutil.Error:
                continue
            try:
                self.reason = self._excess(processes)
            except Exception as error:  # a run that cannot be watched does not go on
                self.reason = f"it could not be watched ({type(error).__name__})"
            if self.reason:
                self._end()
                return

    def _excess(self, processes: list[psutil.Process]) -> str | None:
        limits = self._limits
        if len(processes) > limits.processes:
            return f"it started over {limits.processes} processes"
        most = limits.memory_gb * GIGABYTE
        if memory(processes, most) > most:
            return f"it used over {limits.memory_gb:g} GB of memory"
        most = limits.disk_mb * MEGABYTE
        if disk(self._shared, most) > most:
            return f"it wrote over {limits.disk_mb} MB of files"
        return None
