"""Split the stored chapters into sections for the tests."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
STEMS = sorted(path.stem for path in (ROOT / "chapters").glob("*.md"))


@dataclass
class Section:
    """A second-level heading and the cells below it."""

    chapter: str
    heading: str
    cells: list[nbformat.NotebookNode] = field(default_factory=list)

    @property
    def code(self) -> str:
        return "\n".join(cell.source for cell in self.cells if cell.cell_type == "code")

    @property
    def claimed_ids(self) -> set[str]:
        return set(re.findall(r'\bclaims\(\s*"([^"]+)"', self.code))

    @property
    def rows(self) -> dict[str, str]:
        """The code of the rows in the section's *Also sharp* tables, keyed by entry id."""
        tables = [c.source for c in self.cells if "also_sharp(" in c.source]
        found = {}
        for table in tables:
            parts = re.split(r'^ +"([a-z0-9-]+)": \(', table, flags=re.M)
            found |= dict(zip(parts[1::2], parts[2::2], strict=True))
        return found

    @property
    def errors(self) -> list[tuple[nbformat.NotebookNode, nbformat.NotebookNode]]:
        """Pairs of a cell and its stored error, except for cells with the tag `comparison`."""
        return [
            (cell, output)
            for cell in self.cells
            if cell.cell_type == "code" and "comparison" not in cell.metadata.get("tags", [])
            for output in cell.outputs
            if output.output_type == "error"
        ]


@functools.cache
def read_sections(stem: str) -> list[Section]:
    """Split a stored chapter at its headings, including those in the middle of a cell."""
    notebook = nbformat.read(ROOT / "chapters" / f"{stem}.ipynb", as_version=4)
    found = [Section(stem, "")]
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            found[-1].cells.append(cell)
            continue
        for part in re.split(r"^(?=## )", cell.source, flags=re.M):
            if part.startswith("## "):
                found.append(Section(stem, part.split("\n")[0][3:].strip()))
            found[-1].cells.append(nbformat.v4.new_markdown_cell(part))
    return found
