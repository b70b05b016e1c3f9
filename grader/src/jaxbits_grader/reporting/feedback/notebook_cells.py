"""Render the cells of an executed notebook, with the points below each test cell."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from markupsafe import Markup
from nbconvert.filters import Highlight2HTML
from nbformat import NotebookNode

from jaxbits_grader.authoring.cell_markers import MarkerError, visible_tests
from jaxbits_grader.grade_records import CellPoints
from jaxbits_grader.notebook import nbgrader_metadata
from jaxbits_grader.reporting.feedback.cell_outputs import render_outputs
from jaxbits_grader.reporting.feedback.markdown_cells import render_markdown
from jaxbits_grader.reporting.feedback.text import (
    MAX_CHARACTERS,
    printable,
    remark,
    to_string,
    truncate,
)

# The limit on text, which does not include images, is lower than the limit on the whole page,
# because rendering text takes a long time.
MAX_TEXT_CHARACTERS = 1_500_000

_highlight = Highlight2HTML(
    pygments_lexer="ipython3", extra_formatter_options={"nowrap": True, "stripnl": False}
)


@dataclass(frozen=True)
class PlacedPoints:
    """The points for a test cell, which the page shows below that cell."""

    cell: CellPoints


def render_cells(
    notebook: NotebookNode, points: Mapping[str, CellPoints], max_characters: int
) -> tuple[list[Markup | PlacedPoints], set[str]]:
    """Render the cells of a notebook, and insert the points below the test cells.

    Args:
        notebook: The student's notebook.
        points: The points to show, keyed by the grade_id of the test cell.
        max_characters: The approximate maximum number of characters in the cells' HTML.

    Returns:
        The parts of the page, and the grade_ids of the test cells whose points they contain.
    """
    parts: list[Markup | PlacedPoints] = []
    placed: set[str] = set()
    text_left = MAX_TEXT_CHARACTERS
    for cell in notebook.cells:
        if max_characters > 0 and text_left > 0:
            html = _render_cell(cell)
            parts.append(Markup(html))
            max_characters -= len(html)
            source = min(len(to_string(cell.get("source"))), MAX_CHARACTERS)
            text_left -= _count_text(html) + source
            if max_characters <= 0 or text_left <= 0:
                text = "The rest of the notebook is left out because it is too long."
                parts.append(Markup(remark(text)))
        grade_id = str(nbgrader_metadata(cell).get("grade_id"))
        if cell.cell_type == "code" and grade_id in points and grade_id not in placed:
            placed.add(grade_id)
            parts.append(PlacedPoints(points[grade_id]))
    return parts, placed


def _count_text(html: str) -> int:
    return len(html) - sum(map(len, re.findall(r'"data:image/[^"]*"', html)))


def _render_cell(cell: NotebookNode) -> str:
    source = truncate(to_string(cell.get("source")))
    if cell.cell_type == "markdown":
        return _section(render_markdown(source, cell.get("attachments")))
    if cell.cell_type != "code":
        return _section(f'<pre tabindex="0">{escape(printable(source))}</pre>')
    count = cell.get("execution_count")
    label = f"In [{count}]" if isinstance(count, int) else "In [ ]"
    # Ignore malformed markers. The student must have written them, because this run had no hidden
    # tests.
    with contextlib.suppress(MarkerError):
        source = visible_tests(source)
    code = _highlight(printable(source)).rstrip("\n")
    return _section(
        f'<p class="label">{label}</p><pre class="source" tabindex="0"><code>{code}</code></pre>',
        *render_outputs(cell.get("outputs") or [], label),
    )


def _section(*parts: str) -> str:
    return f'<section class="cell">{"".join(parts)}</section>'
