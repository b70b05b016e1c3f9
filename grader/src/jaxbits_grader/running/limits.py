"""What a submission may use."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

GIGABYTE = 2**30
MEGABYTE = 2**20
# With less, no notebook can start.
_MINIMUM = {"memory_gb": 0.25, "processes": 20, "notebook_seconds": 1}


@dataclass(frozen=True)
class Limits:
    """The limits of one run. Each submission is run twice, one run after the other.

    Attributes:
        cell_seconds: Time for one cell, which is then interrupted.
        notebook_seconds: Time for the whole notebook, whose kernel is then ended.
        memory_gb: Memory of all processes together.
        processes: Number of processes and threads at a time.
        output_mb: Size of everything that is printed or displayed.
        disk_mb: Size of each writable folder. All of them are in memory.
    """

    cell_seconds: float = 30.0
    notebook_seconds: float = 180.0
    memory_gb: float = 3.0
    processes: int = 400
    output_mb: float = 10.0
    disk_mb: int = 128

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: If a limit is not finite, or so low that no notebook can start.
        """
        for name, value in asdict(self).items():
            flag = f"--{name.replace('_', '-')}"
            if not 0 < value < math.inf:
                raise ValueError(f"{flag} must be positive and finite, got {value:g}")
            if value < _MINIMUM.get(name, 0):
                raise ValueError(f"{flag} must be at least {_MINIMUM[name]}, got {value:g}")

    @property
    def address_space(self) -> int:
        """Bytes that one process may map. JAX and PyTorch map gigabytes that they never touch."""
        return int((self.memory_gb + 6) * GIGABYTE)

    @property
    def wall_seconds(self) -> float:
        """Time after which the grader of one submission is killed: two runs and a margin."""
        return 2 * self.notebook_seconds + 120
