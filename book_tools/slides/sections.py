"""Split an executed chapter into the parts from which its slides are made.

Every main section of a chapter has the same parts: a *Predict* question, the failing cell, the
reason (**Why.**), the fix (**The fix**), and a check (**Catch it**).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from nbformat import NotebookNode

from book_tools.chapters.folding import without_title

# The parts of a section in the order in which they usually appear.
PARTS = ("before", "predict", "why", "fix", "catch")
_MARKS = {"Predict": "predict", "Why": "why", "The fix": "fix", "Catch it": "catch"}
_MARK = re.compile(r"\*\*(Predict|Why|The fix|Catch it)\b\.?\*\*\.?\s*")
_END = "Also sharp"
_FIGURES = ("image/svg+xml", "image/png")


@dataclass(frozen=True)
class Text:
    """A paragraph, with the part of the section that it belongs to and the heading above it.

    Attributes:
        part: One of `PARTS`.
        text: The paragraph as Markdown, including the mark with which the part begins.
        heading: The heading of the nearest third-level section, or an empty string.
        begins_part: Whether the paragraph begins with the mark of its part.
    """

    part: str
    text: str
    heading: str
    begins_part: bool


@dataclass(frozen=True)
class Cell:
    """A code cell that the chapter shows, or a figure.

    Attributes:
        part: One of `PARTS`.
        source: The code, without a title line.
        heading: The heading of the nearest third-level section, or an empty string.
        output: The text that the cell printed, or an empty string.
        error: The error that the cell raised, such as ``TypeError: …``, or an empty string.
        figure: The figure's MIME type and data, or None.
        alt_text: The description of the figure.
        is_folded: Whether the chapter folds the code.
        is_comparison: Whether the cell shows what another library does.
    """

    part: str
    source: str
    heading: str = ""
    output: str = ""
    error: str = ""
    figure: tuple[str, str] | None = None
    alt_text: str = ""
    is_folded: bool = False
    is_comparison: bool = False

    @property
    def is_only_figure(self) -> bool:
        """Whether the cell does nothing but draw a figure."""
        return bool(self.figure) and (self.is_folded or self.source.startswith("draw."))

    @property
    def has_result(self) -> bool:
        """Whether the cell has an output that a slide can show as text."""
        return bool(self.output or self.error)


@dataclass
class Section:
    """A main section of a chapter."""

    heading: str
    items: list[Text | Cell] = field(default_factory=list)

    def cells(self, *parts: str) -> list[Cell]:
        """Return the cells in the given parts, or all cells."""
        found = [item for item in self.items if isinstance(item, Cell)]
        return [cell for cell in found if not parts or cell.part in parts]

    def text(self, part: str) -> str:
        """Return the first paragraph of a part, or an empty string."""
        found = (i for i in self.items if isinstance(i, Text) and i.part == part and i.begins_part)
        return next((item.text for item in found), "")

    def split_at_headings(self) -> list[Section]:
        """Return a section for the text before the first third-level heading and for each below.

        Each section has the title of its third-level heading, and the first one that of the whole
        section.
        """
        found: dict[str, Section] = {}
        for item in self.items:
            heading = item.heading or self.heading
            found.setdefault(heading, Section(heading)).items.append(item)
        return list(found.values())

    @property
    def has_several_fixes(self) -> bool:
        """Whether third-level sections have fixes of their own, as in a case study."""
        found = {i.heading for i in self.items if isinstance(i, Text) and i.part == "fix"}
        return len(found) > 1

    @property
    def is_sharp_bit(self) -> bool:
        """Whether the section shows a failure and its fix."""
        return bool(self.text("fix"))


def read_sections(notebook: NotebookNode) -> tuple[str, list[Section]]:
    """Return a chapter's opening and its main sections.

    Args:
        notebook: The executed notebook.

    Returns:
        The Markdown text of the opening, and the sections before *Also sharp*.
    """
    opening: list[str] = []
    sections: list[Section] = []
    part, heading = "before", ""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if sections and (found := _read_cell(cell, part, heading)):
                sections[-1].items.append(found)
            continue
        for paragraph in _paragraphs(cell.source):
            if paragraph.startswith("## "):
                title = paragraph[3:].strip()
                if title == _END:
                    return "\n\n".join(opening), sections
                sections.append(Section(title))
                part, heading = "before", ""
            elif paragraph.startswith("### "):
                part, heading = "before", paragraph[4:].strip()
            elif not sections:
                opening.append(paragraph)
            else:
                mark = _MARK.match(paragraph)
                part = _MARKS[mark[1]] if mark else part
                sections[-1].items.append(Text(part, paragraph, heading, bool(mark)))
    return "\n\n".join(opening), sections


def _paragraphs(source: str) -> Iterator[str]:
    """Yield the paragraphs and headings of a text, and split a paragraph at each mark."""
    for block in re.split(r"\n\s*\n|\n(?=#)|(?<=\n)(?=- )", source):
        lines = block.strip()
        if lines.startswith("#"):
            first, _, rest = lines.partition("\n")
            yield first
            lines = rest.strip()
        starts = [0, *(found.start() for found in _MARK.finditer(lines) if found.start())]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            if piece := lines[start:end].strip():
                yield piece


def _read_cell(cell: NotebookNode, part: str, heading: str) -> Cell | None:
    """Return what a slide can show of a code cell, or None if that is nothing."""
    tags = cell.metadata.get("tags", [])
    source = without_title(cell.source).strip("\n")
    is_folded = "hide-input" in tags or "remove-cell" in tags
    output, error, alt_text = "", "", ""
    figure: tuple[str, str] | None = None
    for one in cell.outputs:
        data = one.get("data", {})
        if kind := next((kind for kind in _FIGURES if kind in data), None):
            figure = figure or (kind, data[kind])
            alt_text = re.sub(r"^Picture: ", "", data.get("text/plain", ""))
        elif one.output_type == "error":
            error = f"{one.ename}: {one.evalue}" if one.evalue else one.ename
        elif "text/html" not in data:
            output += one.get("text", "") or data.get("text/plain", "")
    if is_folded and not figure:
        return None
    return Cell(
        part,
        source,
        heading,
        output.rstrip(),
        error.strip(),
        figure,
        alt_text,
        is_folded,
        "comparison" in tags,
    )
