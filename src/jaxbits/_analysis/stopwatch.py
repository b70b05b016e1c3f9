"""A clock for the limits on single parts of an audit."""

from __future__ import annotations

import time

import jax


class Stopwatch:
    """A clock that does not count the time in which other programs use the processor.

    Wall time would make an audit incomplete whenever the machine is busy, although the function is
    fast. Therefore, this clock shows the processor time of this process if the arrays are on a CPU.
    It is the time of the process and not of the thread, because XLA computes in threads of its own
    while this thread waits for them. If these threads use several cores, the processor time is
    longer than the wall time, and the shorter one of the two counts. On an accelerator, the process
    only waits, so the wall time counts.
    """

    def __init__(self) -> None:
        self._wall_start, self._processor_start = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """The seconds that have passed since the clock was created."""
        wall_seconds = time.perf_counter() - self._wall_start
        if jax.default_backend() != "cpu":
            return wall_seconds
        return min(wall_seconds, time.process_time() - self._processor_start)
