"""Files that are never half-written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_file(path: Path, text: str) -> bool:
    """Write a file in one step, its folder too; what stood there before is replaced.

    Args:
        path: the file.
        text: what it shall hold, as UTF-8, its line ends as they are. What is no text, such as
            half of a file name's letter, is written as its number.

    Returns:
        Whether anything changed: a file that holds the text already is not touched.
    """
    data = text.encode("utf-8", "backslashreplace")
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return True
