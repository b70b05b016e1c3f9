"""Run an IPython kernel that limits how much a cell can print.

The grader runs this module inside the sandbox with ``python -m`` and ``-f CONNECTION_FILE``.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from ipykernel.iostream import OutStream
from ipykernel.kernelapp import IPKernelApp

MAX_CHARACTERS = 200_000  # This limit applies to each output stream of each cell.
TRUNCATED = "\n[the rest of this output is left out]\n"


class LimitedStream(OutStream):
    """An output stream that drops whatever a cell prints beyond `MAX_CHARACTERS`."""

    def write(self, string: str) -> int | None:  # type: ignore[override]
        """Write as much of a string as the limit allows.

        Returns:
            The number of characters written, or None if the cell had already exceeded its limit.
        """
        cell = self.parent_header.get("msg_id") if self.parent_header else None
        if getattr(self, "_cell", None) != cell:
            self._cell, self._left = cell, MAX_CHARACTERS
        left = getattr(self, "_left", MAX_CHARACTERS)
        if left < 0 or not isinstance(string, str):
            return None if isinstance(string, str) else super().write(string)
        self._left = left - len(string)
        if self._left < 0:
            string, self._left = string[:left] + TRUNCATED, -1
        written: int | None = super().write(string)
        return written


def main() -> None:
    """Start the kernel with limited output streams."""
    # Put the working directory last, so that a file in it cannot shadow an installed module.
    sys.path[:] = [*(entry for entry in sys.path if entry), os.getcwd()]
    # Pass the class by its full name, because this module is called `__main__` when it runs.
    stream = "jaxbits_grader.running.output_limited_kernel.LimitedStream"
    settings: dict[str, Any] = {"outstream_class": stream}
    IPKernelApp.launch_instance(**settings)


if __name__ == "__main__":
    main()
