"""What a submission may use."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

GIGABYTE = 2**30
MEGABYTE = 2**20


@dataclass(frozen=True)
class Limits:
    """The bounds of one submission's run; two runs are made of each, one after the other.

    Attributes:
        cell_seconds: for one cell; it is interrupted then.
        notebook_seconds: for the whole notebook; its kernel is ended then.
        memory_gb: for all processes of a run together.
        processes: at once, threads included.
        output_mb: for all that is printed and shown.
        disk_mb: for each folder that can be written to; all of them are in memory.
    """

    cell_seconds: float = 30.0
    notebook_seconds: float = 180.0
    memory_gb: float = 3.0
    processes: int = 400
    output_mb: float = 10.0
    disk_mb: int = 128

    def __post_init__(self) -> None:
        """Refuse limits that nothing could keep."""
        for name, value in asdict(self).items():
            if not 0 < value < math.inf:
                flag = f"--{name.replace('_', '-')}"
                raise ValueError(f"{flag} is {value:g}; it should be more than 0, and finite")
        for name, least in (("memory_gb", 0.25), ("processes", 20), ("notebook_seconds", 1)):
            value = getattr(self, name)
            if value < least:
                flag = f"--{name.replace('_', '-')}"
                raise ValueError(
                    f"{flag} is {value:g}; it should be {least} or more, or no notebook can start"
                )

    @property
    def address_space(self) -> int:
        """Bytes that one process may map: JAX and PyTorch map gigabytes that they never touch."""
        return int((self.memory_gb + 6) * GIGABYTE)

    @property
    def wall_seconds(self) -> float:
        """When the grader of one student is ended whatever it does: two runs and a margin."""
        return 2 * self.notebook_seconds + 120
