"""Write the solutions of the library into the chapters, folded under their exercises.

    .venv/bin/python tools/solutions.py

The changed chapters then have to be executed again (``make book`` does).
"""

from __future__ import annotations

import ast
import html
import re
import sys

from nbformat import NotebookNode
from pairs import Pair, PairError, find, read_source, replace_file

from jaxbits.book.exercises import get_exercise

_FOLDED = re.compile(
    r'(?<=^check\(")(?P<id>[^"]+)(?P<end>", \w+\)\n```\n+)<details class="solution">.*?</details>$',
    re.M | re.S,
)


def imported(notebook: NotebookNode) -> set[str]:
    """The names that the cells of a chapter import."""
    names: set[str] = set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        lines = [line for line in cell.source.splitlines() if not line.lstrip().startswith("%")]
        try:
            body = ast.parse("\n".join(lines)).body
        except SyntaxError:  # a cell that shows one
            continue
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names


def folded(source: str) -> str:
    r"""A solution as it stands in the text of a chapter: HTML without blank lines.

    Example:
        >>> print(folded("import math\n\nmath.inf > 1"))
        <details class="solution"><summary>Solution</summary>
        <pre><code>import math
        &#10;math.inf &gt; 1
        </code></pre></details>
    """
    text = html.escape(source.rstrip() + "\n", quote=False)
    # A blank line would end the HTML.
    text = re.sub(r"\n(\n+)", lambda blank: "\n" + "&#10;" * len(blank[1]), text)
    return (
        '<details class="solution"><summary>Solution</summary>\n'
        f"<pre><code>{text}</code></pre></details>"
    )


def with_solutions(pair: Pair) -> str:
    """The text of a chapter with the solutions of the library under its exercises.

    Raises:
        PairError: the text cannot be read as a notebook.
    """
    known = imported(read_source(pair))
    text = pair.source.read_text(encoding="utf-8")
    return _FOLDED.sub(
        lambda found: (
            found["id"] + found["end"] + folded(get_exercise(found["id"]).solution_source(known))
        ),
        text,
    )


def main() -> int:
    """Write all chapters; returns the exit status."""
    status = 0
    for pair in find():
        try:
            if replace_file(pair.source, with_solutions(pair)):
                print(f"{pair.source.name}: written")
        except PairError as error:
            print(error, file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
