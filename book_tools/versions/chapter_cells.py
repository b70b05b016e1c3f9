"""Read a chapter's code cells together with their sections and stored outputs."""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from nbformat import NotebookNode

from book_tools.chapters.chapter_files import ChapterFiles, read_source, read_stored
from book_tools.chapters.folding import without_title
from book_tools.chapters.normalize_outputs import normalize_text
from book_tools.versions.version_noise import without_noise

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_ANNOUNCED = re.compile(r"^\s*# raises: (\w+)\s*$", re.MULTILINE)
_NUMBER = re.compile(r"((?<![\w.])-?(?:\d+\.\d*|\.\d+)(?:e[+-]?\d+)?(?![\w.]))")
# Claims and the results of exercises are compared separately.
_CLAIMS = re.compile(r'<(?:details class="claims"|table class="also-sharp")')
_RESULT = re.compile(r"^[✓✗–] .*\n?", re.MULTILINE)
# Matches folders of a different Python installation on this machine, but not web addresses.
_FOLDERS = re.compile(r"(?<![\w:/.~…])/(?:[^\s:'\"/()]+/){2,}(?=[^\s:'\"/()]+)")


@dataclass(frozen=True)
class Cell:
    """A code cell in a chapter and its position in the book.

    Attributes:
        source: The code, without the title that folding adds.
        headings: The headings above the cell, nearest first, excluding the chapter's title.
        tags: The cell's tags.
        stored: The outputs in the book as one string, or None if the cell was never executed.
    """

    source: str
    headings: tuple[str, ...]
    tags: frozenset[str]
    stored: str | None

    @property
    def declared(self) -> str:
        """The class of the error that the cell announces, or an empty string if there is none."""
        found = _ANNOUNCED.search(self.source)
        return found[1] if found else ""


@dataclass(frozen=True)
class ChapterCells:
    """A chapter to execute.

    Attributes:
        stem: The chapter's name, such as ``04-out-of-bounds``.
        title: The chapter's first heading.
        notebook: The notebook to execute, without outputs.
        cells: The code cells, keyed by their index in the notebook.
    """

    stem: str
    title: str
    notebook: NotebookNode
    cells: dict[int, Cell]

    @property
    def code_digest(self) -> str:
        """A digest of the code. Results recorded with the same digest come from the same code."""
        return hashlib.sha256(
            "\0".join(cell.source for cell in self.cells.values()).encode()
        ).hexdigest()[:12]


def normalize_message(text: str) -> str:
    """Return a string without color codes, object addresses, or local folders.

    Example:
        >>> normalize_message(
        ...     "f at /tmp/ipykernel_17/203.py:3, <object at 0x7f0112345678>, /usr/lib/x/ast.py"
        ... )
        'f at <cell>:3, <object at 0x…>, ast.py'
    """
    return _FOLDERS.sub("", normalize_text(text)).strip()


def is_similar(stored: str, here: str) -> bool:
    """Return whether two lines are equal, ignoring noise, whitespace, and rounding.

    Numbers may differ by a relative error of 1e-5. Noise, such as the name of a cell, says nothing
    about the version (`version_noise`).

    Args:
        stored: A line of output in the book.
        here: The same line in another run.

    Example:
        >>> is_similar("[2.4401896 0.5]", "[2.4401898  0.5 ]"), is_similar("[1. 2.]", "[1. 3.]")
        (True, False)
        >>> is_similar("1 [JitTracer(float32[])]", "1 [JitTracer<float32[]>]")
        True
    """
    (words, numbers), (other_words, other_numbers) = _split_numbers(stored), _split_numbers(here)
    return words == other_words and all(
        math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-7)
        for a, b in zip(numbers, other_numbers, strict=True)
    )


def _split_numbers(line: str) -> tuple[list[str], list[float]]:
    parts = _NUMBER.split(without_noise(line))
    return ["".join(part.split()) for part in parts[::2]], [float(part) for part in parts[1::2]]


def printed_text(outputs: list[NotebookNode]) -> str:
    """Return what a cell printed and displayed as one string.

    The string contains no figures. It also omits claims and errors, which are compared separately.
    """
    text = ""
    for output in outputs:
        if output.output_type == "stream" and output.name == "stdout":
            text += output.text
        elif output.output_type in {"execute_result", "display_data"} and not (
            any(mime_type.startswith("image/") for mime_type in output.data)
            or _CLAIMS.match(output.data.get("text/html", ""))
        ):
            text += output.data.get("text/plain", "") + "\n"
    return normalize_message(_RESULT.sub("", text))


def _code_cells(notebook: NotebookNode) -> Iterator[tuple[int, NotebookNode, tuple[str, ...]]]:
    """Yield the index of each code cell, the cell, and the headings above it, nearest first."""
    above: dict[int, str] = {}
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            headings = (above[level] for level in sorted(above, reverse=True) if level > 1)
            yield index, cell, tuple(headings)
        elif cell.cell_type == "markdown":
            is_fenced = False
            for line in cell.source.splitlines():
                is_fenced ^= line.lstrip().startswith("```")
                if not is_fenced and (found := _HEADING.match(line)):
                    level = len(found[1])
                    above = {k: v for k, v in above.items() if k < level} | {level: found[2]}


def read_chapter_cells(chapter: ChapterFiles) -> ChapterCells:
    """Return a chapter's cells with their stored outputs, if the chapter was executed.

    Raises:
        ChapterFileError: If the text or the notebook cannot be read.
    """
    notebook, executed = read_source(chapter), read_stored(chapter)
    stored: dict[str, list[str]] = defaultdict(list)
    for cell in executed.cells if executed else ():
        if cell.cell_type == "code":
            stored[without_title(cell.source)].append(printed_text(cell.outputs))
    cells = {}
    for index, cell, headings in _code_cells(notebook):
        source = without_title(cell.source)
        outputs = stored[source]
        tags = frozenset(cell.metadata.get("tags", []))
        cells[index] = Cell(source, headings, tags, outputs.pop(0) if outputs else None)
    titles = (
        m[1] for c in notebook.cells for m in re.finditer(r"^# (.+)$", c.source, re.MULTILINE)
    )
    return ChapterCells(chapter.name, next(titles, chapter.name), notebook, cells)
