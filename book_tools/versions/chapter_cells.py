"""A chapter's cells with the section each stands in, from its text and its stored notebook."""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from nbformat import NotebookNode

from book_tools.chapters.chapter_files import Pair, read_source, read_stored
from book_tools.chapters.folding import without_title
from book_tools.chapters.normalize_outputs import scrub_text

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_DECLARED = re.compile(r"^\s*# raises: (\w+)\s*$", re.MULTILINE)
_TORCH = re.compile(r"^\s*(?:import|from) torch\b", re.MULTILINE)
_NUMBER = re.compile(r"((?<![\w.])-?(?:\d+\.\d*|\.\d+)(?:e[+-]?\d+)?(?![\w.]))")
# Claims and the answers to exercises, which are compared for themselves.
_CLAIMS = re.compile(r'<(?:details class="claims"|table class="also-sharp")')
_ANSWER = re.compile(r"^[✓✗–] .*\n?", re.MULTILINE)
# A folder of this machine in a message, such as that of another Python; addresses of pages stay.
_FOLDERS = re.compile(r"(?<![\w:/.~…])/(?:[^\s:'\"/()]+/){2,}(?=[^\s:'\"/()]+)")


@dataclass(frozen=True)
class Cell:
    """A code cell of a chapter and its place in the book.

    Attributes:
        source: its text, without the title that folding gives it.
        headings: the headings above it, the nearest first, without the chapter's title.
        tags: its tags.
        stored: the outputs that the book shows for it, as one text; None when it was never run.
    """

    source: str
    headings: tuple[str, ...]
    tags: frozenset[str]
    stored: str | None

    @property
    def declared(self) -> str:
        """The class of error that the cell says it raises, or empty."""
        found = _DECLARED.search(self.source)
        return found[1] if found else ""


@dataclass(frozen=True)
class Chapter:
    """A chapter's title, the notebook to run and what is known of each of its code cells."""

    stem: str
    title: str
    notebook: NotebookNode
    cells: dict[int, Cell]

    @property
    def code(self) -> str:
        """A digest of the code, by which a recorded result is known to be of this text."""
        return hashlib.sha256(
            "\0".join(c.source for c in self.cells.values()).encode()
        ).hexdigest()[:12]

    @property
    def uses_torch(self) -> bool:
        """Whether a cell imports torch."""
        return any(_TORCH.search(cell.source) for cell in self.cells.values())


def clean(text: str) -> str:
    """Return a text without what differs from run to run: colours, addresses, folders.

    >>> clean("f at /tmp/ipykernel_17/203.py:3, <object at 0x7f0112345678>, /usr/lib/x/ast.py")
    'f at <cell>:3, <object at 0x…>, ast.py'
    """
    return _FOLDERS.sub("", scrub_text(text)).strip()


def alike(stored: str, here: str) -> bool:
    """Tell whether two lines say the same, numbers to a relative 1e-5 and white space aside.

    >>> alike("[2.4401896 0.5]", "[2.4401898  0.5 ]"), alike("[1. 2.]", "[1. 3.]")
    (True, False)
    """
    (words, numbers), (other_words, other_numbers) = _parts(stored), _parts(here)
    return words == other_words and all(
        math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-7)
        for a, b in zip(numbers, other_numbers, strict=True)
    )


def _parts(line: str) -> tuple[list[str], list[float]]:
    parts = _NUMBER.split(line)
    return ["".join(part.split()) for part in parts[::2]], [float(part) for part in parts[1::2]]


def printed(outputs: list[NotebookNode]) -> str:
    """Return the outputs of a cell as one text: what was printed and shown.

    Without pictures, and without what is compared for itself: claims and errors.
    """
    text = ""
    for output in outputs:
        if output.output_type == "stream" and output.name == "stdout":
            text += output.text
        elif output.output_type in {"execute_result", "display_data"} and not (
            any(kind.startswith("image/") for kind in output.data)
            or _CLAIMS.match(output.data.get("text/html", ""))
        ):
            text += output.data.get("text/plain", "") + "\n"
    return clean(_ANSWER.sub("", text))


def _with_headings(notebook: NotebookNode) -> Iterator[tuple[int, NotebookNode, tuple[str, ...]]]:
    above: dict[int, str] = {}
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            yield (
                index,
                cell,
                tuple(above[level] for level in sorted(above, reverse=True) if level > 1),
            )
        elif cell.cell_type == "markdown":
            fenced = False
            for line in cell.source.splitlines():
                fenced ^= line.lstrip().startswith("```")
                if not fenced and (found := _HEADING.match(line)):
                    level = len(found[1])
                    above = {k: v for k, v in above.items() if k < level} | {level: found[2]}


def read(pair: Pair) -> Chapter:
    """Read a chapter's text, with the outputs of the notebook beside it, if there is one.

    Raises:
        PairError: when either cannot be read.
    """
    notebook, beside = read_source(pair), read_stored(pair)
    stored: dict[str, list[str]] = defaultdict(list)
    for cell in beside.cells if beside else ():
        if cell.cell_type == "code":
            stored[without_title(cell.source)].append(printed(cell.outputs))
    cells = {}
    for index, cell, headings in _with_headings(notebook):
        source = without_title(cell.source)
        outputs = stored[source]
        tags = frozenset(cell.metadata.get("tags", []))
        cells[index] = Cell(source, headings, tags, outputs.pop(0) if outputs else None)
    titles = (
        m[1] for c in notebook.cells for m in re.finditer(r"^# (.+)$", c.source, re.MULTILINE)
    )
    return Chapter(pair.name, next(titles, pair.name), notebook, cells)
