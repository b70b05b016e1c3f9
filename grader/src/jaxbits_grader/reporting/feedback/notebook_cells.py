"""A student's notebook as HTML, cell by cell, with the points under each test cell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from nbconvert.filters import Highlight2HTML
from nbformat import NotebookNode

from jaxbits_grader.authoring import release_notebook as release
from jaxbits_grader.authoring.assignment_source import marks
from jaxbits_grader.reporting.feedback import cell_outputs as outputs
from jaxbits_grader.reporting.feedback import markdown_cells as markdown
from jaxbits_grader.reporting.feedback.score_table import marked
from jaxbits_grader.reporting.feedback.text_rendering import (
    CHARACTERS,
    cut,
    printable,
    string,
    word,
)
from jaxbits_grader.reporting.grade_records import Mark

# What is more is left out unread: to render it takes longer than to show it. Images aside.
TEXT_CHARACTERS = 1_500_000

_COLOURS = Highlight2HTML(
    pygments_lexer="ipython3", extra_formatter_options={"nowrap": True, "stripnl": False}
)


def rendered(
    notebook: NotebookNode, by_id: Mapping[str, Mark], room: int
) -> tuple[list[str], set[str]]:
    """A notebook's cells as HTML, and the ids of the marks that stand under one.

    Args:
        notebook: the student's notebook.
        by_id: the marks to show, by the grade_id of their cell.
        room: how many characters the cells may take, more or less.
    """
    shown: list[str] = []
    placed: set[str] = set()
    text_room = TEXT_CHARACTERS
    for cell in notebook.cells:
        if room > 0 and text_room > 0:
            shown.append(_cell(cell))
            room -= len(shown[-1])
            text_room -= _text_in(shown[-1]) + min(len(string(cell.get("source"))), CHARACTERS)
            if room <= 0 or text_room <= 0:
                shown.append(word("The rest of the notebook is left out: it is too long."))
        grade_id = str(marks(cell).get("grade_id"))
        if cell.cell_type == "code" and grade_id in by_id and grade_id not in placed:
            placed.add(grade_id)
            shown.append(marked(by_id[grade_id]))
    return shown, placed


def _text_in(html: str) -> int:
    return len(html) - sum(map(len, re.findall(r'"data:image/[^"]*"', html)))


def _cell(cell: NotebookNode) -> str:
    source = cut(string(cell.get("source")))
    if cell.cell_type == "markdown":
        return _section(markdown.rendered(source, cell.get("attachments")))
    if cell.cell_type != "code":
        return _section(f'<pre tabindex="0">{escape(printable(source))}</pre>')
    count = cell.get("execution_count")
    label = f"In [{count}]" if isinstance(count, int) else "In [ ]"
    code = _COLOURS(printable(release.shown(source))).rstrip("\n")
    return _section(
        f'<p class="label">{label}</p><pre class="source" tabindex="0"><code>{code}</code></pre>',
        *outputs.rendered(cell.get("outputs") or [], label),
    )


def _section(*parts: str) -> str:
    return f'<section class="cell">{"".join(parts)}</section>'
