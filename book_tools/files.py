"""Write text files atomically, and only if their content changes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_if_changed(path: Path, text: str) -> bool:
    """Atomically replace the content of a file, unless the file already contains the text.

    The library and the grader have similar functions. This one exists because most of the
    maintainer's programs must work without JAX.

    Args:
        path: The file. Missing parent folders are created.
        text: The new content, which is written as UTF-8.

    Returns:
        True if the file changed.

    Raises:
        OSError: If the file cannot be written. The file then keeps its old content.
    """
    data = text.encode()
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return True
