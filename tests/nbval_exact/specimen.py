"""Provide a small executed chapter, as outputs from the kernel and as a stored notebook."""

from __future__ import annotations

import base64
import copy
import io
import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from PIL import Image

from book_tools.chapters.chapter_files import METADATA, ChapterFiles, assign_cell_ids
from book_tools.chapters.folding import fold, without_title
from book_tools.chapters.lint_rules import Chapter
from book_tools.chapters.normalize_outputs import normalize_outputs

SETUP = 'import sys\nif "google.colab" in sys.modules:\n    %pip install -q jaxbits'
SITE_PACKAGES = "/home/me/book/.venv/lib/python3.11/site-packages"
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Two bars, the right one higher"'
    ' width="9" height="9"><path d="M0 0h3v9z" fill="#1f77b4"/></svg>'
)


def png(width: int = 20, color: tuple[int, int, int] = (31, 119, 180)) -> str:
    """Return a single-color PNG image, encoded as the kernel would send it."""
    file = io.BytesIO()
    Image.new("RGB", (width, 10), color).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def stream(name: str, text: str) -> dict[str, Any]:
    """Return a stream output that contains the text a cell wrote to stdout or stderr."""
    return {"output_type": "stream", "name": name, "text": text}


def rich_output(
    kind: str = "execute_result", count: int | None = None, **data: Any
) -> dict[str, Any]:
    """Return a result or display output. Keys of `data` have an underscore instead of a slash."""
    output: dict[str, Any] = {"output_type": kind, "metadata": {}}
    output["data"] = {key.replace("_", "/", 1): value for key, value in data.items()}
    return output | ({"execution_count": count} if count is not None else {})


ERROR = {
    "output_type": "error",
    "ename": "TypeError",
    "evalue": "The error occurred while tracing f at /tmp/ipykernel_12/34567.py:2 for jit.",
    "traceback": [
        "\x1b[31m" + "-" * 75 + "\x1b[39m",
        "\x1b[31mTypeError\x1b[39m                  Traceback (most recent call last)",
        "\x1b[36mCell\x1b[39m \x1b[32mIn[4]\x1b[39m\x1b[32m, line 4\x1b[39m\n"
        "      2 @jax.jit\n      3 def f(x): return g(x)\n"
        "\x1b[32m----> \x1b[39m\x1b[32m4\x1b[39m f(1)\n",
        "    \x1b[31m[... skipping hidden 13 frame]\x1b[39m\n",
        "\x1b[36mCell\x1b[39m \x1b[32mIn[4]\x1b[39m\x1b[32m, line 3\x1b[39m, in f(x)\n"
        "----> 3 g(x)\n",
        f"\x1b[36mFile \x1b[39m\x1b[32m{SITE_PACKAGES}/jax/_src/core.py:1961\x1b[39m, in error(x)\n"
        "   1960 def error(x):\n-> 1961   raise TypeError(x)\n",
        "\x1b[31mTypeError\x1b[39m: The error occurred while tracing f at "
        "/tmp/ipykernel_12/34567.py:2 for jit.",
    ],
}

# Each row contains a code cell's source, its tags, and the outputs that the kernel sent.
CELLS: list[tuple[str, list[str], list[dict[str, Any]]]] = [
    (SETUP, ["remove-cell"], []),
    (
        "print(f, x)\nx",
        [],
        [
            stream("stdout", "<function f at 0x7f00aa11bb22> "),
            stream("stdout", "3.0\n"),
            rich_output(count=2, text_plain="\x1b[35mArray(3., dtype=float32)\x1b[39m"),
        ],
    ),
    (
        "warnings.warn('look')\ndisplay(table)\nprint('done')",
        [],
        [
            stream("stderr", "/tmp/ipykernel_12/99999.py:1: UserWarning: look\n"),
            rich_output("display_data", text_html="<table><tr id='a'></table>", text_plain="table"),
            stream("stdout", "done\n"),
        ],
    ),
    ("# raises: TypeError\n@jax.jit\ndef f(x): return g(x)\nf(1)", ["raises-exception"], [ERROR]),
    ("bars()", [], [rich_output(count=5, image_svg_xml=SVG, text_plain="Picture")]),
    (
        "claims('bit', {'it holds': True})",
        ["hide-input"],
        [
            rich_output(
                "display_data",
                text_html='<details class="claims"><summary>✓ 1 check passed here</summary>\n'
                "<ul>\n<li>✓ it holds</li>\n</ul>\n</details>",
                text_plain="✓ 1 check passed here\n✓ it holds",
            )
        ],
    ),
]
for _, _, _outputs in CELLS:  # A keyword cannot contain the + in image/svg+xml.
    for _output in _outputs:
        if "image/svg_xml" in _output.get("data", {}):
            _output["data"]["image/svg+xml"] = _output["data"].pop("image/svg_xml")


def source() -> NotebookNode:
    """Return the chapter's source as a notebook without outputs."""
    cells: list[NotebookNode] = []
    for number, (text, tags, _) in enumerate(CELLS):
        cells.append(new_code_cell(text, metadata={"tags": tags} if tags else {}))
        cells.append(new_markdown_cell(f"## Part {number}\n\nWords with `code` and a [link](#a)."))
    notebook = new_notebook(cells=cells, metadata=copy.deepcopy(METADATA))
    notebook.nbformat_minor = 5
    assign_cell_ids(notebook)
    for cell in notebook.cells:
        fold(cell)
    return notebook


def fresh() -> list[list[dict[str, Any]]]:
    """Return the outputs that the kernel sent for each code cell."""
    return copy.deepcopy([outputs for _, _, outputs in CELLS])


def stored() -> NotebookNode:
    """Return the notebook as the repository stores it."""
    notebook = source()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, (cell, outputs) in enumerate(zip(code, fresh(), strict=True), 1):
        cell.execution_count = number
        cell.outputs = [nbformat.from_dict(output) for output in normalize_outputs(outputs)]
    return notebook


def chapter(
    changed_notebook: NotebookNode | None = None, changed_source: NotebookNode | None = None
) -> Chapter:
    """Return the specimen, with any given changes, in the form that the linter reads."""
    pair = ChapterFiles(Path("01-specimen.md"))
    notebook = stored() if changed_notebook is None else changed_notebook
    return Chapter(pair, changed_source or source(), notebook, SETUP)


def as_myst(notebook: NotebookNode) -> str:
    """Return a notebook's cells as a chapter in MyST Markdown."""
    parts = ["---\nkernelspec:\n  display_name: Python 3\n  name: python3\n---\n"]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source + "\n")
            continue
        tags = cell.metadata.get("tags")
        head = f":tags: [{', '.join(tags)}]\n\n" if tags else ""
        parts.append(f"```{{code-cell}} ipython3\n{head}{without_title(cell.source)}\n```\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))
