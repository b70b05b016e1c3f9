"""What a stored chapter must look like, rule by rule, without running it.

Every rule takes one chapter and yields what is wrong, as ``(cell or None, what and what to do)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from book_tools.chapters.chapter_files import Pair, difference
from book_tools.chapters.folding import has_title, without_title
from book_tools.chapters.normalize_outputs import scrub_outputs

Finding = tuple[NotebookNode | None, str]

LONGEST_CELL = 14
LONGEST_LIST = 60  # claims and tables of small ones: lists, folded on the page
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
    """A chapter as its two files say, and the set-up cell it must begin with."""

    pair: Pair
    source: NotebookNode
    stored: NotebookNode
    setup: str

    @property
    def code(self) -> list[NotebookNode]:
        """The code cells of the stored notebook."""
        return [cell for cell in self.stored.cells if cell.cell_type == "code"]


def tags(cell: NotebookNode) -> list[str]:
    """The cell's tags."""
    return list(cell.metadata.get("tags", []))


def _errors(cell: NotebookNode) -> list[NotebookNode]:
    return [output for output in cell.outputs if output.output_type == "error"]


def _texts(cell: NotebookNode) -> Iterator[str]:
    """Every text a reader sees in the cell's outputs."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.text
        elif output.output_type == "error":
            yield output.evalue
            yield from output.traceback
        else:
            for kind, value in output.data.items():
                if kind.startswith("text/") or kind == "image/svg+xml":
                    yield "".join(value)


def in_sync(chapter: Chapter) -> Iterator[Finding]:
    """The notebook is the executed text."""
    if reason := difference(chapter.source, chapter.stored):
        yield None, f"{reason}; run: make chapter NAME={chapter.pair.name}"


def set_up(chapter: Chapter) -> Iterator[Finding]:
    """The first cell is the set-up cell, hidden on the page."""
    cell = chapter.stored.cells[0] if chapter.stored.cells else None
    if cell is None or cell.cell_type != "code" or without_title(cell.source) != chapter.setup:
        yield (
            cell,
            (
                "the first cell must be the set-up cell, with the address and version of "
                f"pyproject.toml:\n{chapter.setup}"
            ),
        )
    elif tags(cell) != ["remove-cell"]:
        yield cell, "the set-up cell must have the tag remove-cell and no other"


def execution(chapter: Chapter) -> Iterator[Finding]:
    """Every cell ran once, in order, from a fresh kernel."""
    for number, cell in enumerate(chapter.code, 1):
        if not cell.source.strip():
            yield cell, "is empty; delete it"
        elif cell.execution_count != number:
            yield cell, f"has execution count {cell.execution_count}, not {number}; execute again"
        for output in cell.outputs:
            if output.get("execution_count", number) != number:
                yield cell, f"holds a result of another run, {output.execution_count}"


def raises(chapter: Chapter) -> Iterator[Finding]:
    """An error is stored exactly where one is announced, and it is the announced one."""
    for cell in chapter.code:
        names = [error.ename for error in _errors(cell)]
        named = re.search(r"^# raises: (\S+)$", cell.source, re.M)
        if "raises-exception" not in tags(cell):
            if names:
                yield cell, f"stores a {names[0]} and is not tagged raises-exception"
            elif named:
                yield cell, f"says '{named[0]}' and is not tagged raises-exception"
            if "comparison" in tags(cell):
                yield cell, "is tagged comparison, which is for errors: add raises-exception"
        elif not names:
            yield cell, "is tagged raises-exception and stores no error"
        elif not named:
            yield cell, f"wants a line '# raises: {names[0]}'"
        elif named[1] != names[0]:
            yield cell, f"says it raises {named[1]} and stores a {names[0]}"


def source_form(chapter: Chapter) -> Iterator[Finding]:
    """Code that behaves the same in the book, in Colab and under the test."""
    for cell in chapter.code:
        text = without_title(cell.source) if "cellView" in cell.metadata else cell.source
        lines = text.splitlines()
        if has_title(text):
            yield cell, "has a line '#@title' in the text; delete it: the tag hide-input adds one"
        if re.search(r";\s*$", cell.source):
            yield cell, "ends with ';', which does not hide a result everywhere; assign it to _"
        if unknown := sorted(set(tags(cell)) - TAGS):
            yield cell, f"has the tag {unknown[0]}; the tags are {', '.join(sorted(TAGS))}"
        if marker := re.search(r"^#\s*(?:NBVAL|PYTEST_VALIDATE)_\w+", cell.source, re.M):
            yield cell, f"says {marker[0]!r}, which would switch its check off"
        if cell is chapter.stored.cells[0]:
            continue  # set_up() looks at it
        is_list = re.search(r"^(?:claims|also_sharp)\(", cell.source, re.M)
        longest = LONGEST_LIST if is_list else LONGEST_CELL
        if len(lines) > longest:
            yield cell, f"has {len(lines)} lines; split it: {longest} at most"
        for line in lines:
            if re.match(r"\s*(?:%|!(?!=))", line) and line.strip() not in MAGICS:
                yield cell, f"uses {line.strip()!r}; of magics only {', '.join(sorted(MAGICS))}"


def outputs(chapter: Chapter) -> Iterator[Finding]:
    """Outputs that belong in the book."""
    for cell in chapter.code:
        text = "\n".join(_texts(cell))
        if path := _LOCAL_PATH.search(text):
            around = text[path.start() : path.start() + 60].splitlines()[0]
            yield cell, f"prints a path of one machine: {around!r}"
        if "UsageError:" in text:
            yield cell, "stores a failed magic (UsageError)"
        if "✗" in text:
            yield cell, f"stores a failed claim: {_failed(text)}"
        stored = [_plain(output) for output in cell.outputs]
        if scrub_outputs(stored) != stored:
            yield (
                cell,
                "stores colours, addresses or whole tracebacks; execute again",
            )


def _failed(text: str) -> str:
    """The first line that names a failed claim, rather than counts them or is HTML."""
    lines = [line.strip() for line in text.splitlines() if "✗" in line]
    plain = [line for line in lines if not line.startswith("<")]
    named = [line for line in plain if not re.search(r"checks? failed here", line)]
    return (named or plain or lines)[0]


def _plain(output: NotebookNode) -> dict[str, Any]:
    plain = dict(output)
    if "data" in plain:
        plain["data"] = dict(plain["data"])
    return plain


def figures(chapter: Chapter) -> Iterator[Finding]:
    """Every figure is a drawing with a text for who cannot see it."""
    for cell in chapter.code:
        for output in cell.outputs:
            data = output.get("data", {})
            for kind in data:
                if kind.startswith("image/") and kind != "image/svg+xml":
                    yield (
                        cell,
                        f"shows an {kind}; draw it with jaxbits.book.figures, which makes SVG",
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
                yield cell, "shows a figure without a text in its aria-label"


def markdown(chapter: Chapter) -> Iterator[Finding]:
    """Text that Colab shows as it is meant: plain Markdown and HTML."""
    for cell in chapter.source.cells:
        if cell.cell_type != "markdown":
            continue
        text = _FENCE.sub("", cell.source)
        for pattern, what in ((_DIRECTIVE, "directive"), (_ROLE, "role"), (_TARGET, "target")):
            if match := pattern.search(text):
                yield (
                    cell,
                    (
                        f"uses the MyST {what} {match[0].strip()!r}: raw text in Colab; "
                        "use plain Markdown or HTML"
                    ),
                )
        if match := _TEXT_LINK.search(text):
            yield (
                cell,
                (
                    f"links to {match[1]!r}, which Jupyter and GitHub show as plain text; "
                    "link to the notebook, .ipynb"
                ),
            )
        if any("\n\n" in shown for shown in _PRE.findall(text)):
            yield (
                cell,
                "has an empty line in a <pre>, which ends the fold around it: write &#10; for it",
            )


RULES: tuple[Callable[[Chapter], Iterator[Finding]], ...] = (
    in_sync,
    set_up,
    execution,
    raises,
    source_form,
    outputs,
    figures,
    markdown,
)
