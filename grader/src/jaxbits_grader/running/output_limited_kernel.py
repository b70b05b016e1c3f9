"""The kernel of a student's notebook: IPython's, with an end to what a cell can print.

Runs inside the sandbox, as ``python -m`` with this module's name and ``-f CONNECTION_FILE``.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from ipykernel.iostream import OutStream
from ipykernel.kernelapp import IPKernelApp

MOST = 200_000  # characters of one stream that a cell may print
END = "\n[the rest of this output is left out]\n"


class CappedStream(OutStream):
    """A stream that drops what a cell prints beyond `MOST` characters, and says so once."""

    def write(self, string: str) -> int | None:  # type: ignore[override]
        """Write a text, or the part of it that may still be written."""
        cell = self.parent_header.get("msg_id") if self.parent_header else None
        if getattr(self, "_cell", None) != cell:
            self._cell, self._left = cell, MOST
        left = getattr(self, "_left", MOST)
        if left < 0 or not isinstance(string, str):
            return None if isinstance(string, str) else super().write(string)
        self._left = left - len(string)
        if self._left < 0:
            string, self._left = string[:left] + END, -1
        written: int | None = super().write(string)
        return written


def main() -> None:
    """Start the kernel."""
    # A file that a notebook writes and imports is found last: it stands in for nothing else.
    sys.path[:] = [*(entry for entry in sys.path if entry), os.getcwd()]
    settings: dict[str, Any] = {"outstream_class": f"{__name__}.CappedStream"}
    if __name__ == "__main__":
        settings["outstream_class"] = "jaxbits_grader.running.output_limited_kernel.CappedStream"
    IPKernelApp.launch_instance(**settings)


if __name__ == "__main__":
    main()
