"""Where files lie on the grading machine, which is nobody else's business."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

_OWN = sorted(
    {str(p) for p in (sys.prefix, sys.base_prefix, Path.home(), tempfile.gettempdir(), Path.cwd())},
    key=len,
    reverse=True,
)
_NOTEBOOK = re.compile(r"\S*?/ipykernel_\d+/\d+\.py|<ipython-input-(\d+)-[0-9a-f]+>")
_PATH = re.compile(
    r"(?:file://|(?<![\w.)\]}/\\~-]))(?:~|/[A-Za-z_.][^\s/'\"<>|:;,()\[\]{}]*)"
    r"(?:/[^\s/'\"<>|:;,()\[\]{}]+)+/?|\b[A-Za-z]:\\(?:[^\\\s:*?\"<>|]+\\)*[^\\\s:*?\"<>|]*"
)


def without_paths(text: str) -> str:
    """Text in which files go by their names: where they lie on the grading machine is its own."""
    text = _NOTEBOOK.sub(lambda m: f"your notebook, cell {m[1]}" if m[1] else "your notebook", text)
    for folder in _OWN:
        if len(folder) > 3:
            text = text.replace(f"{folder}/", "/tmp/…/")
    return _PATH.sub(lambda m: re.split(r"[/\\]", m[0].rstrip("/\\"))[-1], text)
