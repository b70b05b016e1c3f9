"""Write files atomically, and format notebooks as text."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode


def write_atomically(path: Path, text: str) -> bool:
    """Write a file in one step, so that nobody ever reads a partially written file.

    This function creates missing folders. It does not touch a file that already contains the text.

    Args:
        path: The path of the file.
        text: The new content, written as UTF-8 with its line endings unchanged. Lone surrogates,
            which represent undecodable bytes in a file name, are written as escape sequences.

    Returns:
        Whether the content of the file changed.
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


def notebook_text(notebook: NotebookNode) -> str:
    """Return a notebook as a JSON string in Jupyter's format, but with sorted keys.

    Raises:
        nbformat.ValidationError: If the notebook is not valid.
    """
    nbformat.validate(notebook)
    lines = nbformat.v4.rwbase.split_lines(nbformat.from_dict(json.loads(json.dumps(notebook))))
    return json.dumps(lines, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
