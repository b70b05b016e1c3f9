"""Read and write a chapter's two files, its editable text and its executed notebook.

``chapters/NN-topic.md`` is the source. ``chapters/NN-topic.ipynb`` contains the same cells with
their outputs and is always generated from the source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from book_tools.chapters.folding import fold, without_title
from book_tools.files import write_if_changed
from book_tools.project_metadata import ROOT

CHAPTERS = ROOT / "chapters"

# The patch version of Python is omitted, so that an upgrade changes no notebook. There is no
# jupytext key, because with one, an editor might overwrite the .md file from the .ipynb file.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}


class ChapterFileError(Exception):
    """Raised if a chapter cannot be found or read. The message names it and says what to do."""


@dataclass(frozen=True)
class ChapterFiles:
    """The two files of one chapter.

    Attributes:
        source: The path of the chapter's MyST text.
    """

    source: Path

    @property
    def name(self) -> str:
        """The chapter's name, in the form ``NN-topic``."""
        return self.source.stem

    @property
    def stored(self) -> Path:
        """The path of the executed notebook."""
        return self.source.with_suffix(".ipynb")


def find_chapters(names: Iterable[str] = (), folder: Path = CHAPTERS) -> list[ChapterFiles]:
    """Return the chapters with the given names, or all chapters if there are no names.

    Args:
        names: The names or files of the chapters, or unambiguous prefixes such as ``04``.
        folder: The folder that contains the chapters.

    Raises:
        ChapterFileError: If a name matches no chapter or more than one.
    """
    chapters = [ChapterFiles(path) for path in sorted(folder.glob("*.md"))]
    names = list(names)
    wanted: list[ChapterFiles] = []
    for name in names:
        stem = Path(name).name.removesuffix(".md").removesuffix(".ipynb")
        found = [one for one in chapters if one.name == stem] or [
            one for one in chapters if one.name.startswith(stem)
        ]
        if len(found) != 1:
            known = ", ".join(one.name for one in chapters) or "none"
            raise ChapterFileError(
                f"NAME must match exactly one chapter among {known}; got {name!r}"
            )
        wanted += [one for one in found if one not in wanted]
    return wanted if names else chapters


def assign_cell_ids(notebook: NotebookNode) -> None:
    """Derive each cell's id from its content, so that editing a cell does not change other ids."""
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        base = hashlib.sha256(f"{cell.cell_type}{cell.source}".encode()).hexdigest()[:8]
        seen[base] = seen.get(base, 0) + 1
        cell["id"] = base if seen[base] == 1 else f"{base}-{seen[base]}"


def read_source(chapter: ChapterFiles) -> NotebookNode:
    """Return the chapter's text as a notebook without outputs, with its cells folded.

    Raises:
        ChapterFileError: If the text cannot be parsed as a notebook.
    """
    try:
        text = chapter.source.read_text(encoding="utf-8")
        notebook: NotebookNode = jupytext.reads(text, fmt="md:myst")
    except Exception as error:  # jupytext does not wrap errors from YAML or its parser.
        reason = " ".join(str(error).split())[:200]
        raise ChapterFileError(
            f"{chapter.source.name} cannot be read as MyST text: {reason}"
        ) from error
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    assign_cell_ids(notebook)  # Assign ids first, so that a new title changes no id.
    for cell in notebook.cells:
        fold(cell)
    return notebook


def read_stored(chapter: ChapterFiles) -> NotebookNode | None:
    """Return the executed notebook, or None if the chapter was never executed.

    Raises:
        ChapterFileError: If the file is not a notebook.
    """
    if not chapter.stored.exists():
        return None
    try:
        notebook: NotebookNode = nbformat.read(chapter.stored, as_version=4)
    except Exception as error:  # nbformat raises several kinds of errors.
        raise ChapterFileError(
            f"{chapter.stored.name} is not a notebook ({str(error).splitlines()[0]}); delete it, "
            f"then run: make chapter NAME={chapter.name}"
        ) from error
    return notebook


def describe_difference(source: NotebookNode, stored: NotebookNode | None) -> str | None:
    """Describe how the stored notebook differs from its source, or return None if it does not.

    Args:
        source: The chapter's text, as `read_source` returns it.
        stored: The executed notebook, as `read_stored` returns it.
    """
    if stored is None:
        return "was never executed"
    for number, (new, old) in enumerate(zip(source.cells, stored.cells, strict=False), 1):
        where = f"cell {number} ({first_line(new)})"
        if new.cell_type != old.cell_type:
            return f"{where} is {new.cell_type} in the text but {old.cell_type} in the notebook"
        if new.source != old.source:
            return f"{where} has been edited"
        if new.metadata != old.metadata:
            return f"{where} and the notebook's cell have different tags or metadata"
        if new.id != old.get("id"):
            return f"{where} and the notebook's cell have different ids"
        if new.cell_type == "code" and new.source.strip() and old.execution_count is None:
            return f"{where} was stored without being executed"
    if len(source.cells) != len(stored.cells):
        return f"the text has {len(source.cells)} cells but the notebook has {len(stored.cells)}"
    if source.metadata != stored.metadata:
        return "the notebook's metadata differ"
    return None


def first_line(cell: NotebookNode) -> str:
    """Return up to 60 characters of a cell's first line, ignoring blank lines and the title."""
    lines = (line.strip() for line in without_title(cell.source).splitlines())
    line = next((line for line in lines if line), "empty")
    return line if len(line) <= 60 else line[:59] + "…"


def notebook_text(notebook: NotebookNode) -> str:
    """Return a notebook as JSON in the format that Jupyter writes.

    Raises:
        nbformat.ValidationError: If the notebook is not valid.
    """
    # Validate first, because nbformat.writes only logs problems:
    # https://github.com/jupyter/nbformat/blob/v5.11.1/nbformat/__init__.py
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)) + "\n"


def write_stored(chapter: ChapterFiles, notebook: NotebookNode) -> bool:
    """Store an executed notebook, and return whether the file changed.

    Args:
        chapter: The chapter whose notebook is written.
        notebook: The notebook with normalized outputs.
    """
    return write_if_changed(chapter.stored, notebook_text(notebook))
