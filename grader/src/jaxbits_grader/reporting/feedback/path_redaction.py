"""Redact the grading machine's file paths in a string."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

_OWN_FOLDERS = sorted(
    {str(p) for p in (sys.prefix, sys.base_prefix, Path.home(), tempfile.gettempdir(), Path.cwd())},
    key=len,
    reverse=True,
)
_CELL_FILE = re.compile(r"\S*?/ipykernel_\d+/\d+\.py|<ipython-input-(\d+)-[0-9a-f]+>")
_PATH = re.compile(
    r"(?:file://|(?<![\w.)\]}/\\~-]))(?:~|/[A-Za-z_.][^\s/'\"<>|:;,()\[\]{}]*)"
    r"(?:/[^\s/'\"<>|:;,()\[\]{}]+)+/?|\b[A-Za-z]:\\(?:[^\\\s:*?\"<>|]+\\)*[^\\\s:*?\"<>|]*"
)


def redact_paths(text: str) -> str:
    """Return a string in which each path is reduced to its last component.

    Example:
        >>> redact_paths("File /srv/course/x.py, line 3")
        'File x.py, line 3'
    """
    text = _CELL_FILE.sub(
        lambda m: f"your notebook, cell {m[1]}" if m[1] else "your notebook", text
    )
    for folder in _OWN_FOLDERS:
        if len(folder) > 3:  # Skip short paths such as /.
            text = text.replace(f"{folder}/", "/tmp/…/")
    return _PATH.sub(lambda m: re.split(r"[/\\]", m[0].rstrip("/\\"))[-1], text)
