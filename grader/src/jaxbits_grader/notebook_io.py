"""Notebooks as text and back."""

from __future__ import annotations

import json

import nbformat
from nbformat import NotebookNode


def text(notebook: NotebookNode) -> str:
    """A notebook as a file's text, laid out as Jupyter does it, the same for the same cells."""
    nbformat.validate(notebook)
    lines = nbformat.v4.rwbase.split_lines(nbformat.from_dict(json.loads(json.dumps(notebook))))
    return json.dumps(lines, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
