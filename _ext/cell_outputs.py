"""Fold claims and helper code, and format outputs, tracebacks, and exercise results."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from docutils import nodes
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Generic, Text
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

KINDS = {"✓": "solved", "○": "open"}
_LINE = re.compile(rf"([{''.join(KINDS)}]) +(\S.*)")
_CLAIMS = '<details class="claims"'
_END = "</details>"
# The groups match the start of the summary, the number of checks that passed, the number of checks
# that do not apply, the list, and the end.
_FOLD = re.compile(
    r"(<details class=\"claims\"><summary[^>]*>)✓ (\d+) checks? passed here"
    r"(?: \((\d+) do(?:es)? not apply here\))?</summary>(\s*<ul.*?</ul>)(\s*</details>)",
    re.S,
)


class _Strip(NamedTuple):
    """The closed fold of a claims cell.

    Attributes:
        cell: The cell.
        shown: The fold that `claims` wrote.
        code: The cell's code.
        prompt: The title of the fold that contains the code.
    """

    cell: nodes.Element
    shown: nodes.raw
    code: nodes.Element
    prompt: str

    @property
    def is_whole_output(self) -> bool:
        """Whether the cell's only output is a fold in which no check has failed."""
        outputs = self.cell.children[-1].children
        return len(outputs) == 1 and bool(_FOLD.fullmatch(self.shown.astext()))


class Folds(SphinxTransform):
    """A transform that removes Colab titles from folded cells and merges claims folds."""

    default_priority = 855

    def apply(self, **kwargs: Any) -> None:
        """Transform the page's cells."""
        from book_tools.chapters.folding import CLAIMS_TITLE, TABLE_TITLE, read_title, without_title

        prompts = {CLAIMS_TITLE: "How it is checked", TABLE_TITLE: "How the rows are checked"}
        strips = []
        for cell in list(self.document.findall(nodes.container)):
            if cell.get("nb_element") != "cell_code" or not cell.children:
                continue
            code = cell.children[0]
            if code.get("nb_element") != "cell_code_source":
                continue
            prompt = "How it is checked"
            for block in code.findall(nodes.literal_block):
                if title := read_title(block.astext()):
                    prompt = prompts.get(title, title)
                    cell["prompt_show"] = cell["prompt_hide"] = prompt
                    # Sphinx highlights a block only if its rawsource is the same as its text:
                    # https://github.com/sphinx-doc/sphinx/blob/v7.4.7/sphinx/writers/html5.py
                    block.rawsource = without_title(block.astext())
                    block.clear()
                    block += nodes.Text(block.rawsource)
            if shown := [raw for raw in cell.findall(nodes.raw) if _is_claims(raw.astext())]:
                strips.append(_Strip(cell, _merge_folds(shown), code, prompt))
                cell.attributes.pop("hide_mode", None)
        for adjacent in _group_adjacent(strips):
            first, *others = adjacent
            shown_first = _merge_folds([strip.shown for strip in adjacent])
            _nest_code(shown_first, [strip.code for strip in adjacent], first.prompt)
            for strip in others:
                strip.cell.parent.remove(strip.cell)


def _group_adjacent(strips: Iterable[_Strip]) -> Iterator[list[_Strip]]:
    """Yield the strips in groups that follow one another on the page without text between them.

    A long section has several claims cells. Their strips would look alike.
    """
    group: list[_Strip] = []
    for strip in strips:
        if group:
            last = group[-1]
            siblings = strip.cell.parent.children
            follows = strip.cell.parent is last.cell.parent and (
                siblings.index(strip.cell) == siblings.index(last.cell) + 1
            )
            if not (follows and last.is_whole_output and strip.is_whole_output):
                yield group
                group = []
        group.append(strip)
    if group:
        yield group


def _is_claims(text: str) -> bool:
    """Return whether an HTML fragment consists of exactly one fold that `claims` wrote."""
    return text.startswith(_CLAIMS) and text.endswith(_END) and text.count(_END) == 1


def _merge_folds(shown: list[nodes.raw]) -> nodes.raw:
    """Return one fold with the lists of several `claims` calls."""
    folds = [_FOLD.fullmatch(one.astext()) for one in shown]
    if len(shown) == 1 or not all(folds):  # The fold of a failed check stays separate.
        return shown[0]
    passed, skipped = (sum(int(fold[n] or 0) for fold in folds if fold) for n in (2, 3))
    text = f"✓ {passed} checks passed here"
    if skipped:
        text += f" ({skipped} {'does' if skipped == 1 else 'do'} not apply here)"
    head, *_, end = folds[0].group(1, 2, 3, 4, 5)  # type: ignore[union-attr]
    items = "".join(fold[4] for fold in folds if fold)
    for one in shown[1:]:
        bundle = _bundle(one)
        bundle.parent.remove(bundle)
    joined = nodes.raw("", f"{head}{text}</summary>{items}{end}", format="html")
    shown[0].replace_self(joined)
    return joined


def _bundle(shown: nodes.Element) -> nodes.Element:
    """Return the node of the cell output that contains an HTML fragment."""
    while shown.get("nb_element") != "mime_bundle":
        shown = shown.parent
    return shown


def _nest_code(shown: nodes.raw, codes: Iterable[nodes.Element], prompt: str) -> None:
    """Move the code of cells into a nested fold at the end of the fold in a cell's output."""
    codes = list(codes)
    bundle = _bundle(shown)
    head = f'<div class="output text_html">\n{shown.astext().removesuffix(_END)}'
    head += f'<details class="how"><summary>{html.escape(prompt)}</summary>\n'
    foot = f"{_END}\n{_END}\n</div>\n"
    for code in codes:
        code.parent.remove(code)
    bundle.replace_self(
        [nodes.raw("", head, format="html"), *codes, nodes.raw("", foot, format="html")]
    )


def parse_results(text: str) -> list[tuple[str, str]] | None:
    r"""Return the mark and text of each exercise result, or None if there are other lines.

    Example:
        >>> parse_results("✓ one and one is two\n○ not yet\n")
        [('✓', 'one and one is two'), ('○', 'not yet')]
        >>> parse_results("✓ one\nand more") is None
        True
    """
    found: list[tuple[str, str]] = []
    for line in text.rstrip("\n").split("\n"):
        if start := _LINE.fullmatch(line):
            found.append((start[1], start[2]))
        elif found and line.startswith("  ") and line.strip():  # This line continues a result.
            mark, before = found.pop()
            found.append((mark, f"{before}\n{line.strip()}"))
        else:
            return None
    return found


def results_html(found: list[tuple[str, str]]) -> str:
    """Return exercise results as an HTML list."""
    items = "".join(
        f'<li class="{KINDS[mark]}"><b>{mark}</b> '
        + html.escape(text, quote=False).replace("\n", "<br>")
        + "</li>\n"
        for mark, text in found
    )
    return f'<ul class="results">\n{items}</ul>\n'


_REPORT_LINE = re.compile(r"^ +(?:seen|fix|read|Fix|Read): ", re.M)
_MAX_COLUMNS = 110


def is_laid_out(text: str) -> bool:
    r"""Return whether an output is a table, a matrix, or code, which is unreadable if it wraps.

    Reports of detectors and other messages are indented, too, but their sentences may wrap.

    Example:
        >>> is_laid_out("NumPy   2\nJAX    10"), is_laid_out("[[1 2]\n [3 4]\n [5 6]]")
        (True, True)
        >>> is_laid_out("a long sentence\nand another"), is_laid_out("one  line")
        (False, False)
    """
    lines = text.rstrip("\n").split("\n")
    if _REPORT_LINE.search(text) or max(map(len, lines)) > _MAX_COLUMNS:
        return False
    has_columns = sum(bool(re.search(r"\S {2,}\S", line)) for line in lines) >= 2
    return has_columns or sum(line.startswith(" ") for line in lines) >= 2


class Results(SphinxTransform):
    """A transform that turns the lines that `check` prints into a list.

    Lists wrap on narrow screens, and screen readers announce their items. Outputs whose lines must
    not wrap get a class.
    """

    default_priority = 860

    def apply(self, **kwargs: Any) -> None:
        """Transform the page's outputs."""
        for block in list(self.document.findall(nodes.literal_block)):
            classes = set(block["classes"])
            if not classes & {"stream", "text_plain"} or "stderr" in classes:
                continue
            if "stream" in classes and (found := parse_results(block.astext())):
                block.replace_self(nodes.raw("", results_html(found), format="html"))
            elif is_laid_out(block.astext()):
                block["classes"].append("laid-out")


class TracebackLexer(RegexLexer):
    """A lexer for tracebacks without color codes, as the notebooks store them."""

    name = "A traceback of a notebook cell"
    aliases: ClassVar[list[str]] = ["cell-traceback"]  # type: ignore[misc]
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"^-{20,}\n", Generic.Traceback),
            (r"^([A-Za-z_]\w*)( +)(Traceback \(most recent call last\)\n)",
             bygroups(Generic.Error, Text, Comment)),
            (r"^(?:Cell In\s*\[\d+\]|File .*?)[,:].*\n", Generic.Subheading),
            (r"^ *… \d+ frames? .*\n", Comment),
            (r"^-+> *\d+.*\n", Generic.Strong),
            (r"^([A-Za-z_][\w.]*)(: .*\n)", bygroups(Generic.Error, Text)),
            (r".*\n", Text),
        ]
    }  # fmt: skip


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_transform(Folds)
    app.add_transform(Results)
    app.add_lexer("cell-traceback", TracebackLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
