"""Show outputs for what they are: claims as a list, errors with their lines told apart."""

from __future__ import annotations

import html
import re
from typing import Any, ClassVar

from docutils import nodes
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Generic, Text
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

KINDS = {"✓": "held", "✗": "failed", "–": "open", "○": "open"}
_LINE = re.compile(rf"([{''.join(KINDS)}]) +(\S.*)")


def claims(text: str) -> list[tuple[str, str]] | None:
    r"""Return the mark and the text of each claim, or None for output that is something else.

    Example:
        >>> claims("✓ one and one is two\n– said of others\n")
        [('✓', 'one and one is two'), ('–', 'said of others')]
        >>> claims("✓ one\nand more") is None
        True
    """
    found: list[tuple[str, str]] = []
    for line in text.rstrip("\n").split("\n"):
        if start := _LINE.fullmatch(line):
            found.append((start[1], start[2]))
        elif found and line.startswith("  ") and line.strip():  # a claim that runs on
            mark, before = found.pop()
            found.append((mark, f"{before}\n{line.strip()}"))
        else:
            return None
    return found


def as_list(found: list[tuple[str, str]]) -> str:
    """Return claims as an HTML list."""
    items = "".join(
        f'<li class="claim-{KINDS[mark]}"><b>{mark}</b> '
        + html.escape(text, quote=False).replace("\n", "<br>")
        + "</li>\n"
        for mark, text in found
    )
    return f'<ul class="claims">\n{items}</ul>\n'


class Claims(SphinxTransform):
    """Replace the printed lines of claims by a list, which wraps well and reads well aloud."""

    default_priority = 860

    def apply(self, **kwargs: Any) -> None:
        """Work through the page's outputs."""
        for block in list(self.document.findall(nodes.literal_block)):
            if "stream" not in block["classes"] or "stderr" in block["classes"]:
                continue
            if found := claims(block.astext()):
                block.replace_self(nodes.raw("", as_list(found), format="html"))


class Traceback(RegexLexer):
    """A traceback without colours, as the chapters store it."""

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
    """Register with Sphinx."""
    app.add_transform(Claims)
    app.add_lexer("cell-traceback", Traceback)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
