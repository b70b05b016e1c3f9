"""Define the limits on the resources that a submission may use."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

GIGABYTE = 2**30
MEGABYTE = 2**20
# No notebook can start if a limit is lower than this.
_MINIMUM = {"memory_gb": 0.25, "processes": 20, "notebook_seconds": 1}


@dataclass(frozen=True)
class Limits:
    """The limits on one run of a notebook. The grader runs each submission twice in succession.

    Attributes:
        cell_seconds: How long one cell may run before the grader interrupts it.
        notebook_seconds: How long the whole notebook may run before the grader kills its kernel.
        memory_gb: How many gigabytes of memory all processes together may use.
        processes: How many processes and threads may exist at a time.
        output_mb: How many megabytes a notebook may print and display in total.
        disk_mb: How many megabytes each writable folder may hold. These folders are in memory.
    """

    cell_seconds: float = 30.0
    notebook_seconds: float = 180.0
    memory_gb: float = 3.0
    processes: int = 400
    output_mb: float = 10.0
    disk_mb: int = 128

    def __post_init__(self) -> None:
        """Check that the limits are valid.

        Raises:
            ValueError: If a limit is not positive and finite, or is so low that no notebook can
                start.
        """
        for name, value in asdict(self).items():
            flag = f"--{name.replace('_', '-')}"
            if not 0 < value < math.inf:
                raise ValueError(f"{flag} must be positive and finite, got {value:g}")
            if value < _MINIMUM.get(name, 0):
                raise ValueError(f"{flag} must be at least {_MINIMUM[name]}, got {value:g}")

    @property
    def address_space(self) -> int:
        """The number of bytes of address space that one process may map.

        This limit is higher than `memory_gb`, because JAX and PyTorch map gigabytes of memory that
        they never use.
        """
        return int((self.memory_gb + 6) * GIGABYTE)

    @property
    def wall_seconds(self) -> float:
        """The number of seconds after which the process that grades a submission is killed.

        This is enough for two runs of the notebook, plus a margin.
        """
        return 2 * self.notebook_seconds + 120
