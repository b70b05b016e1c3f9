"""Define the rules that stored chapters must follow, all checked without executing any cells.

Each rule takes a chapter and yields each violation as ``(cell, message)``. The cell is None if the
violation concerns the whole chapter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from book_tools.chapters.chapter_files import ChapterFiles, describe_difference
from book_tools.chapters.folding import has_title, without_title
from book_tools.chapters.normalize_outputs import normalize_outputs

Violation = tuple[NotebookNode | None, str]

MAX_CELL_LINES = 14
MAX_CLAIMS_LINES = 60  # Claims cells may be longer, because the page folds them.
TAGS = {"remove-cell", "raises-exception", "comparison", "hide-input", "hide-output"}
MAGICS = {"%load_ext jaxbits", "%unload_ext jaxbits"}

_LOCAL_PATH = re.compile(
    r"(?<![\w./:…<])(?:/(?:home|root|Users|tmp|var|private|opt|usr|mnt|srv)/[\w.]"
    r"|(?:/[\w.-]+)+/[\w.-]+\.(?:pyx?|ipynb|so)\b)|\b[A-Za-z]:\\\w|(?<!\w)~/\w"
)
_DIRECTIVE = re.compile(r"^ *(?:`{3,}|~{3,}|:{3,})\{[\w:.-]+\}", re.M)
_ROLE = re.compile(r"\{[\w:.+-]+\}`[^`]")
_TARGET = re.compile(r"^\([\w-]+\)=\s*$", re.M)
_TEXT_LINK = re.compile(r"\]\((\d\d-[\w-]+\.md)")
_PRE = re.compile(r"<pre>.*?</pre>", re.DOTALL)
_FENCE = re.compile(r"^( *)(`{3,}|~{3,})(?!\{).*?^\1\2", re.M | re.S)
_SVG = re.compile(r"<svg\b[^>]*>", re.S)
_LABEL = re.compile(r"""\baria-label\s*=\s*(["'])(?P<text>.*?)\1""", re.S)


@dataclass(frozen=True)
class Chapter:
    """The two notebooks of a chapter.

    Attributes:
        files: The chapter's files.
        source: The notebook without outputs, read from the text.
        stored: The executed notebook.
        setup: The source that the first cell must have.
    """

    files: ChapterFiles
    source: NotebookNode
    stored: NotebookNode
    setup: str

    @property
    def code(self) -> list[NotebookNode]:
        """The code cells of the stored notebook."""
        return [cell for cell in self.stored.cells if cell.cell_type == "code"]


def _tags(cell: NotebookNode) -> list[str]:
    return list(cell.metadata.get("tags", []))


def _announced_error(cell: NotebookNode) -> re.Match[str] | None:
    return re.search(r"^# raises: (\S+)$", cell.source, re.M)


def _output_texts(cell: NotebookNode) -> Iterator[str]:
    """Yield the text of each output that a reader sees."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.text
        elif output.output_type == "error":
            yield output.evalue
            yield from output.traceback
        else:
            for mime_type, value in output.data.items():
                if mime_type.startswith(("text/", "image/svg+xml")):
                    yield "".join(value)


def check_sync(chapter: Chapter) -> Iterator[Violation]:
    """Check that the notebook was executed from the current text."""
    if reason := describe_difference(chapter.source, chapter.stored):
        yield None, f"{reason}; run: make chapter NAME={chapter.files.name}"


def check_setup_cell(chapter: Chapter) -> Iterator[Violation]:
    """Check that the first cell is the setup cell, which the page hides."""
    cell = chapter.stored.cells[0] if chapter.stored.cells else None
    if cell is None or cell.cell_type != "code" or without_title(cell.source) != chapter.setup:
        yield cell, f"the first cell must be the setup cell:\n{chapter.setup}"
    elif _tags(cell) != ["remove-cell"]:
        yield cell, "the setup cell's only tag must be remove-cell"


def check_execution(chapter: Chapter) -> Iterator[Violation]:
    """Check that the cells ran once each, in order, in a new kernel."""
    for number, cell in enumerate(chapter.code, 1):
        if not cell.source.strip():
            yield cell, "is empty; delete it"
        elif cell.execution_count != number:
            yield cell, f"execution count must be {number}, got {cell.execution_count}; execute it"
        for output in cell.outputs:
            if output.get("execution_count", number) != number:
                yield cell, f"contains a result from a different run, {output.execution_count}"


def check_announced_errors(chapter: Chapter) -> Iterator[Violation]:
    """Check that each cell raised the error that it announces, and no other error."""
    for cell in chapter.code:
        names = [output.ename for output in cell.outputs if output.output_type == "error"]
        announced = _announced_error(cell)
        if "raises-exception" not in _tags(cell):
            if names:
                yield cell, f"stores the error {names[0]} but is not tagged raises-exception"
            elif announced:
                yield cell, f"contains '{announced[0]}' but is not tagged raises-exception"
            if "comparison" in _tags(cell):
                yield cell, "is tagged comparison, which is for errors; add raises-exception"
        elif not names:
            yield cell, "is tagged raises-exception but stores no error"
        elif not announced:
            yield cell, f"needs a line '# raises: {names[0]}'"
        elif announced[1] != names[0]:
            yield cell, f"announces {announced[1]} but stores {names[0]}"


def check_source(chapter: Chapter) -> Iterator[Violation]:
    """Check that the code behaves the same in the book, in Colab, and in the tests."""
    for cell in chapter.code:
        text = without_title(cell.source) if "cellView" in cell.metadata else cell.source
        lines = text.splitlines()
        if has_title(text):
            yield cell, "contains a line '#@title'; delete it, because the tag hide-input adds one"
        if re.search(r";\s*$", cell.source):
            yield cell, "ends with ';', which hides a result only in Jupyter; assign it to _"
        if unknown := sorted(set(_tags(cell)) - TAGS):
            yield cell, f"tags must be among {', '.join(sorted(TAGS))}; got {unknown[0]}"
        if marker := re.search(r"^#\s*(?:NBVAL|PYTEST_VALIDATE)_\w+", cell.source, re.M):
            yield cell, f"contains {marker[0]!r}, which would disable its check"
        if cell is chapter.stored.cells[0]:
            continue  # check_setup_cell checks this cell.
        is_list = re.search(r"^(?:claims|also_sharp)\(", cell.source, re.M)
        longest = MAX_CLAIMS_LINES if is_list else MAX_CELL_LINES
        if len(lines) > longest:
            yield cell, f"must have at most {longest} lines, got {len(lines)}; split it"
        for line in lines:
            if re.match(r"\s*(?:%|!(?!=))", line) and line.strip() not in MAGICS:
                yield (
                    cell,
                    f"magics must be among {', '.join(sorted(MAGICS))}; got {line.strip()!r}",
                )


def check_outputs(chapter: Chapter) -> Iterator[Violation]:
    """Check that the outputs are normalized and contain no failures or local paths."""
    for cell in chapter.code:
        text = "\n".join(_output_texts(cell))
        if path := _LOCAL_PATH.search(text):
            around = text[path.start() : path.start() + 60].splitlines()[0]
            yield cell, f"prints a machine-specific path: {around!r}"
        if "UsageError:" in text:
            yield cell, "stores an error from a magic (UsageError)"
        if "✗" in text:
            yield cell, f"stores a failed claim: {_failed_claim(text)}"
        stored = [_as_dict(output) for output in cell.outputs]
        if normalize_outputs(stored) != stored:
            yield cell, "stores color codes, addresses, or whole tracebacks; execute it again"


def _failed_claim(text: str) -> str:
    """Return the line that names a failed claim, or else the line that counts the failures."""
    lines = [line.strip() for line in text.splitlines() if "✗" in line]
    plain = [line for line in lines if not line.startswith("<")]
    named = [line for line in plain if not re.search(r"checks? failed here", line)]
    return (named or plain or lines)[0]


def _as_dict(output: NotebookNode) -> dict[str, Any]:
    plain = dict(output)
    if "data" in plain:
        plain["data"] = dict(plain["data"])
    return plain


def check_figures(chapter: Chapter) -> Iterator[Violation]:
    """Check that each figure is an SVG with a description for readers who cannot see it."""
    for cell in chapter.code:
        for output in cell.outputs:
            data = output.get("data", {})
            for mime_type in data:
                if mime_type.startswith("image/") and mime_type != "image/svg+xml":
                    yield (
                        cell,
                        f"a figure must be an SVG drawn with jaxbits.book.figures, got {mime_type}",
                    )
            svg = _SVG.search("".join(data.get("image/svg+xml", "")))
            if not svg:
                if "image/svg+xml" in data:
                    yield cell, "stores an SVG without an <svg> element"
                continue
            label = _LABEL.search(svg[0])
            if not re.search(r"""\brole\s*=\s*["']img["']""", svg[0]):
                yield (
                    cell,
                    'shows a figure without role="img"; return a jaxbits.book.figures.Picture',
                )
            if not label or not label["text"].strip():
                yield cell, "shows a figure without a description in its aria-label"


def check_markdown(chapter: Chapter) -> Iterator[Violation]:
    """Reject MyST syntax that Colab would display as raw text."""
    for cell in chapter.source.cells:
        if cell.cell_type != "markdown":
            continue
        text = _FENCE.sub("", cell.source)
        for pattern, syntax in ((_DIRECTIVE, "directive"), (_ROLE, "role"), (_TARGET, "target")):
            if match := pattern.search(text):
                yield (
                    cell,
                    f"uses the MyST {syntax} {match[0].strip()!r}, which Colab displays as raw "
                    "text; use plain Markdown or HTML",
                )
        if match := _TEXT_LINK.search(text):
            yield (
                cell,
                f"links to {match[1]!r}, which Jupyter and GitHub show as plain text; link to the "
                ".ipynb file",
            )
        if any("\n\n" in block for block in _PRE.findall(text)):
            # A blank line ends an HTML block: https://spec.commonmark.org/0.31.2/#html-blocks
            yield cell, "contains a blank line in a <pre>, which ends the fold; write &#10;"


RULES: tuple[Callable[[Chapter], Iterator[Violation]], ...] = (
    check_sync,
    check_setup_cell,
    check_execution,
    check_announced_errors,
    check_source,
    check_outputs,
    check_figures,
    check_markdown,
)
