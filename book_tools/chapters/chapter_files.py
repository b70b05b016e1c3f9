"""A chapter is a pair of files: the text that people edit and the executed notebook.

``chapters/NN-topic.md`` is the source. ``chapters/NN-topic.ipynb`` holds the same cells with their
outputs, and is only ever written from the source.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from book_tools.chapters.folding import fold, without_title

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = ROOT / "chapters"

# No patch version of Python, no jupytext key: a newer patch changes no byte, and no editor starts
# to write the .md from the .ipynb by itself.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}


class PairError(Exception):
    """A chapter that cannot be read; the message names it and says what to do."""


@dataclass(frozen=True)
class Pair:
    """The two files of one chapter."""

    source: Path

    @property
    def name(self) -> str:
        """The chapter's name, ``NN-topic``."""
        return self.source.stem

    @property
    def stored(self) -> Path:
        """The executed notebook beside the source."""
        return self.source.with_suffix(".ipynb")


def find(names: Iterable[str] = (), chapters: Path = CHAPTERS) -> list[Pair]:
    """The chapters with the given names, all of them when no name is given.

    Args:
        names: a chapter's name, its file, or an unambiguous beginning such as ``04``.
        chapters: where the chapters are.

    Raises:
        PairError: no chapter, or more than one, goes by a name.
    """
    pairs = [Pair(path) for path in sorted(chapters.glob("*.md"))]
    wanted = []
    for name in names:
        stem = Path(name).name.removesuffix(".md").removesuffix(".ipynb")
        found = [p for p in pairs if p.name == stem] or [
            p for p in pairs if p.name.startswith(stem)
        ]
        if len(found) != 1:
            known = ", ".join(p.name for p in pairs) or "none"
            raise PairError(f"no single chapter is called {name!r}; the chapters are: {known}")
        wanted += [p for p in found if p not in wanted]
    return wanted if list(names) else pairs


def _with_ids(notebook: NotebookNode) -> NotebookNode:
    """Cell ids made from the cells, so that an edit changes no other cell's id."""
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        base = hashlib.sha256(f"{cell.cell_type}{cell.source}".encode()).hexdigest()[:8]
        seen[base] = seen.get(base, 0) + 1
        cell["id"] = base if seen[base] == 1 else f"{base}-{seen[base]}"
    return notebook


def read_source(pair: Pair) -> NotebookNode:
    """The chapter's cells as its text says, folded as it says, without outputs.

    Raises:
        PairError: the text cannot be read as a notebook.
    """
    try:
        text = pair.source.read_text(encoding="utf-8")
        notebook: NotebookNode = jupytext.reads(text, fmt="md:myst")
    except Exception as error:  # jupytext lets the errors of YAML and of its own parser through
        reason = " ".join(str(error).split())[:200]
        raise PairError(f"{pair.source.name} cannot be read as MyST text: {reason}") from error
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    _with_ids(notebook)  # before folding, so that another title is no other cell
    for cell in notebook.cells:
        fold(cell)
    return notebook


def read_stored(pair: Pair) -> NotebookNode | None:
    """The executed notebook, or None when there is none.

    Raises:
        PairError: the file is not a notebook.
    """
    if not pair.stored.exists():
        return None
    try:
        notebook: NotebookNode = nbformat.read(pair.stored, as_version=4)
    except Exception as error:  # nbformat raises errors of json, of its own and of its validator
        raise PairError(
            f"{pair.stored.name} is not a notebook ({str(error).splitlines()[0]}); delete it, "
            f"then run: make chapter NAME={pair.name}"
        ) from error
    return notebook


def difference(source: NotebookNode, stored: NotebookNode | None) -> str | None:
    """What the stored notebook lacks to be the executed source; None when they agree."""
    if stored is None:
        return "was never executed"
    for number, (new, old) in enumerate(zip(source.cells, stored.cells, strict=False), 1):
        where = f"cell {number} ({first_line(new)})"
        if new.cell_type != old.cell_type:
            return f"{where} is {new.cell_type} in the text, {old.cell_type} in the notebook"
        if new.source != old.source:
            return f"{where} was edited since"
        if new.metadata != old.metadata:
            return f"{where} has other tags or metadata than the notebook"
        if new.id != old.get("id"):
            return f"{where} has another id than the notebook"
        if new.cell_type == "code" and new.source.strip() and old.execution_count is None:
            return f"{where} was stored without being run"
    if len(source.cells) != len(stored.cells):
        return f"the text has {len(source.cells)} cells, the notebook {len(stored.cells)}"
    if source.metadata != stored.metadata:
        return "the notebook's metadata differ"
    return None


def first_line(cell: NotebookNode) -> str:
    """The first line of a cell that says something, other than its title, shortened."""
    lines = (line.strip() for line in without_title(cell.source).splitlines())
    line = next((line for line in lines if line), "empty")
    return line if len(line) <= 60 else line[:59] + "…"


def replace_file(path: Path, text: str) -> bool:
    """Write a file in one step. Returns False, touching nothing, if it holds the text already.

    The library has one of its own: no tool shall need JAX to write a file.
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


def notebook_text(notebook: NotebookNode) -> str:
    """The notebook as a file's text, laid out as Jupyter does it."""
    nbformat.validate(notebook)
    lines = nbformat.v4.rwbase.split_lines(nbformat.from_dict(json.loads(json.dumps(notebook))))
    return json.dumps(lines, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def write_stored(pair: Pair, notebook: NotebookNode) -> bool:
    """Store an executed notebook. Returns whether the file changed."""
    return replace_file(pair.stored, notebook_text(notebook))
