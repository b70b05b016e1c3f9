"""Fold the notebook cells that are also folded on the chapter's page.

A chapter's text marks such a cell with the tag ``hide-input``, and marks the setup cell with
``remove-cell``. Only Jupyter Book reads these tags, so the notebook also gets the settings that
JupyterLab (``jupyter.source_hidden``) and Colab (``cellView`` and a ``#@title`` line) read.

VS Code keeps the metadata but shows the code, because no extension can tell its notebook editor to
fold a cell: https://github.com/microsoft/vscode/issues/158716. If a reader collapses the cells
there, only the title stays visible.
"""

from __future__ import annotations

import ast
import re

from nbformat import NotebookNode

SETUP_TITLE = "Setup (run this cell first)"
CLAIMS_TITLE = "Check what this section says"
TABLE_TITLE = "Also sharp: a table with every row checked"
_MARK = "#@title "
_MOST_NAMES = 3


def derive_title(source: str) -> str:
    r"""Return the title of a folded cell, derived from what the cell does.

    Example:
        >>> derive_title("x = jnp.ones(3)\nclaims('a-bit', {'it is one': (x[0], 1)})")
        'Check what this section says'
        >>> derive_title("def traces_of(start):\n    return start")
        'Helper code: traces_of'
    """
    if re.search(r"^claims\(", source, re.M):
        return CLAIMS_TITLE
    if re.search(r"^also_sharp\(", source, re.M):
        return TABLE_TITLE
    if re.search(r"^draw\.\w+\(", source, re.M):
        return "Draw the figure"
    names = [name for name in _bound_names(source) if name != "_"]
    more = ", …" if len(names) > _MOST_NAMES else ""
    return "Helper code" + (f": {', '.join(names[:_MOST_NAMES])}{more}" if names else "")


def _bound_names(source: str) -> list[str]:
    """Return the functions and classes that a cell defines, or else the names that it assigns."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # The cell contains a magic, which is not Python syntax.
        return []
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    defined = [statement.name for statement in body if isinstance(statement, definitions)]
    assigned = [
        node.id
        for statement in body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name)
    ]
    return defined or list(dict.fromkeys(assigned))


def read_title(source: str) -> str | None:
    r"""Return the title that :func:`fold` gave a cell, or None if it has no title.

    Example:
        >>> read_title("#@title Draw the figure\ndraw.where_indices_land()")
        'Draw the figure'
    """
    first = source.partition("\n")[0]
    return first.removeprefix(_MARK) if first.startswith(_MARK) else None


def without_title(source: str) -> str:
    r"""Return the source of a cell without the title that :func:`fold` gave it.

    Example:
        >>> without_title("#@title Draw the figure\ndraw.where_indices_land()")
        'draw.where_indices_land()'
    """
    return source.partition("\n")[2] if read_title(source) else source


def has_title(source: str) -> bool:
    """Return whether the source contains the title of a Colab form."""
    return re.search(r"^# ?@title\b", source, re.M) is not None


def fold(cell: NotebookNode) -> None:
    """Modify a cell in place by adding the metadata and the title that its tags require."""
    tags = cell.metadata.get("tags", [])
    hidden = {}
    if "hide-input" in tags or "remove-cell" in tags:
        text = SETUP_TITLE if "remove-cell" in tags else derive_title(cell.source)
        cell.source = f"{_MARK}{text}\n{cell.source}"
        cell.metadata["cellView"] = "form"
        hidden["source_hidden"] = True
    if "hide-output" in tags:
        hidden["outputs_hidden"] = True
    if hidden:
        cell.metadata["jupyter"] = hidden
