"""Monitor the memory, processes, and files of a run, and end the run if it exceeds a limit."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import psutil

from jaxbits_grader.running.limits import GIGABYTE, MEGABYTE, Limits

INTERVAL_SECONDS = 0.2
ENTRY_BYTES = 4096  # Add this to the size of each file and folder, so that empty ones count, too.


def measure_memory(processes: list[psutil.Process], limit: float) -> float:
    """Return how many bytes of memory a group of processes uses.

    The sum of the resident sets is an upper bound, because it counts shared pages several times.
    The function measures the exact sum, which takes longer, only if that bound exceeds the limit.

    Args:
        processes: The processes to measure.
        limit: The number of bytes up to which the upper bound is precise enough.
    """
    upper_bound = exact = 0.0
    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            upper_bound += process.memory_info().rss
    if upper_bound <= limit:
        return upper_bound
    for process in processes:
        try:
            exact += process.memory_full_info().pss
        except (psutil.Error, OSError, AttributeError):
            with contextlib.suppress(psutil.Error, OSError):
                exact += process.memory_info().rss
    return exact


def measure_disk(folder: Path, limit: float = float("inf")) -> int:
    """Return the total size of the files in a folder, in bytes.

    The function stops counting when the size exceeds the limit.

    Args:
        folder: The folder to measure, including its subfolders.
        limit: The number of bytes above which the exact size does not matter.

    Raises:
        OSError: If part of the folder cannot be read, since its total size would then be unknown.
    """
    total, folders = 0, [os.fspath(folder)]
    while folders and total <= limit:
        with contextlib.suppress(FileNotFoundError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                total += ENTRY_BYTES
                with contextlib.suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
    return total


class ResourceMonitor:
    """Ends a run that exceeds a limit, and stores the reason in its `reason` attribute.

    Use the monitor in a ``with`` statement around the run.

    Args:
        pid: The id of the run's first process.
        shared: The folder that the run shares with the grader.
        limits: The limits on the run.
        end: A function that ends the run.
    """

    def __init__(self, pid: int, shared: Path, limits: Limits, end: Callable[[], None]) -> None:
        self.reason: str | None = None
        self._pid, self._shared, self._limits, self._end = pid, shared, limits, end
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ResourceMonitor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(INTERVAL_SECONDS):
            try:
                first = psutil.Process(self._pid)
                processes = [first, *first.children(recursive=True)]
            except psutil.Error:
                continue
            try:
                self.reason = self._exceeded(processes)
            except Exception as error:  # A run that cannot be monitored must not continue.
                self.reason = f"its resources could not be monitored ({type(error).__name__})"
            if self.reason:
                self._end()
                return

    def _exceeded(self, processes: list[psutil.Process]) -> str | None:
        limits = self._limits
        if len(processes) > limits.processes:
            return f"it started over {limits.processes} processes"
        most = limits.memory_gb * GIGABYTE
        if measure_memory(processes, most) > most:
            return f"it used over {limits.memory_gb:g} GB of memory"
        most = limits.disk_mb * MEGABYTE
        if measure_disk(self._shared, most) > most:
            return f"it wrote over {limits.disk_mb} MB of files"
        return None
