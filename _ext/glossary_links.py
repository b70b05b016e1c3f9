"""Link the first use of each glossary term in every chapter.

The links exist only in the built pages. The chapters stay plain Markdown for Jupyter and Colab.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_SKIPPED = (nodes.title, nodes.literal, nodes.literal_block, nodes.reference, nodes.raw, nodes.math)


def _in_prose(node: nodes.Text) -> bool:
    parent: Any = node.parent
    while parent is not None:
        if isinstance(parent, _SKIPPED):
            return False
        parent = parent.parent
    return True


def _link(words: str, term: Any) -> nodes.raw:
    definition = html.escape(re.sub(r"`", "", term.text))
    return nodes.raw(
        "",
        f'<a class="term" href="../reference/glossary.html#{term.anchor}" title="{definition}">'
        f"{html.escape(words, quote=False)}</a>",
        format="html",
    )


def link_terms(doctree: nodes.document, terms: list[Any]) -> list[str]:
    """Link the first use of each term in a document's prose, and return the linked terms.

    If two terms overlap, such as “weak type” and “type”, the function links the longer one.

    Args:
        doctree: The document, which is modified in place.
        terms: The glossary terms to link.
    """
    linked: list[str] = []
    for text in list(doctree.findall(nodes.Text)):
        if not _in_prose(text):
            continue
        found = [
            (*span, term)
            for term in terms
            if term.name not in linked and (span := term.find(text.astext()))
        ]
        pieces: list[nodes.Node] = []
        done = 0
        for start, end, term in sorted(found, key=lambda entry: (entry[0], -entry[1])):
            if start < done:
                continue  # This use overlaps another term, so link a later use.
            pieces += [nodes.Text(text[done:start]), _link(text[start:end], term)]
            linked.append(term.name)
            done = end
        if pieces:
            text.parent.replace(text, [p for p in (*pieces, nodes.Text(text[done:])) if p.astext()])
    return linked


def _terms_of_chapters(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if docname.startswith("chapters/"):
        from book_tools.pages import glossary

        terms = glossary.read_terms(Path(app.confdir) / "reference" / "glossary.toml")
        number = docname.removeprefix("chapters/")[:2]
        link_terms(doctree, [term for term in terms if number not in term.not_in])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("doctree-resolved", _terms_of_chapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
