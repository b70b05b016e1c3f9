"""Copy the library's solutions into the chapters, folded below their exercises.

    python -m book_tools solutions

Changed chapters must then be executed again, which ``make book`` does.
"""

from __future__ import annotations

import argparse
import ast
import html
import re
import sys

from nbformat import NotebookNode

from book_tools.chapters.chapter_files import (
    ChapterFileError,
    ChapterFiles,
    find_chapters,
    read_source,
)
from book_tools.files import write_if_changed
from jaxbits.book.exercises import get_exercise

_FOLDED = re.compile(
    r'(?<=^check\(")(?P<id>[^"]+)(?P<end>", \w+\)\n```\n+)<details class="solution">.*?</details>$',
    re.M | re.S,
)


def imported_names(notebook: NotebookNode) -> set[str]:
    """Return the names that a chapter's cells import."""
    names: set[str] = set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        lines = [line for line in cell.source.splitlines() if not line.lstrip().startswith("%")]
        try:
            body = ast.parse("\n".join(lines)).body
        except SyntaxError:  # Some cells demonstrate a syntax error.
            continue
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names


def fold_solution(source: str) -> str:
    r"""Return a solution as an HTML fold for a chapter's text.

    The fold contains no blank line, because a blank line would end the HTML block:
    https://spec.commonmark.org/0.31.2/#html-blocks

    Example:
        >>> print(fold_solution("import math\n\nmath.inf > 1"))
        <details class="solution"><summary>Solution</summary>
        <pre><code>import math
        &#10;math.inf &gt; 1
        </code></pre></details>
    """
    text = html.escape(source.rstrip() + "\n", quote=False)
    text = re.sub(r"\n(\n+)", lambda blank: "\n" + "&#10;" * len(blank[1]), text)
    return (
        '<details class="solution"><summary>Solution</summary>\n'
        f"<pre><code>{text}</code></pre></details>"
    )


def insert_solutions(chapter: ChapterFiles) -> str:
    """Return the text of a chapter with the library's solutions below its exercises.

    Raises:
        ChapterFileError: If the text cannot be read as a notebook.
    """
    known = imported_names(read_source(chapter))
    text = chapter.source.read_text(encoding="utf-8")

    def replace(match: re.Match[str]) -> str:
        return (
            match["id"]
            + match["end"]
            + fold_solution(get_exercise(match["id"]).solution_source(known))
        )

    return _FOLDED.sub(replace, text)


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args(arguments)
    status = 0
    for chapter in find_chapters():
        try:
            if write_if_changed(chapter.source, insert_solutions(chapter)):
                print(f"{chapter.source.name}: solutions updated")
        except ChapterFileError as error:
            print(error, file=sys.stderr)
            status = 1
    return status
