"""Check that no raw Markdown shows on a reference page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from contents import PAGES

REFERENCE = [page for page in PAGES if page.startswith("reference/")]
# Elements whose text is code, or that show no text.
NOT_PROSE = ["code", "kbd", "pre", "samp", "script", "style", "svg", "textarea", "title"]
RAW_MARKDOWN = {
    "a backtick": re.compile(r"`"),
    "bold text": re.compile(r"(?<![\w*])\*\*(?=\S)[^*\n]*?\S\*\*(?!\w)"),
    "a link": re.compile(r"\]\("),
    "emphasis": re.compile(r"(?<![\w*])\*[A-Za-z][^*\n]*\*(?![\w*])"),
    "a role": re.compile(r"\{\w+\}(?=`)"),
    "a heading": re.compile(r"^#{1,6} \w", re.M),
}


def raw_markdown(html: str) -> list[str]:
    """Return a description of each piece of raw Markdown in a page's visible text."""
    article = BeautifulSoup(html, "html.parser").find("article")
    assert article is not None, "the page has no article"
    for element in article.find_all(NOT_PROSE):
        element.replace_with(" ")
    for signature in article.select("dt.sig, .sig-prename"):
        signature.decompose()
    text = article.get_text()
    return [
        f"{kind}: {text[max(found.start() - 40, 0) : found.end() + 40]!r}"
        for kind, pattern in RAW_MARKDOWN.items()
        for found in pattern.finditer(text)
    ]


@pytest.mark.parametrize("page", REFERENCE)
def test_page_shows_no_raw_markdown(built: Path, page: str) -> None:
    problems = raw_markdown((built / f"{page}.html").read_text("utf8"))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        ("use `x`", "a backtick"),
        ("this is **it**", "bold text"),
        ("see [the page](errors.md)", "a link"),
        ("its *outputs* are finite", "emphasis"),
        ("## A heading", "a heading"),
        ("<code>`x` ** [a](b)</code> 2 * 3 * 4, f(*args, **kwargs) is fine", ""),
    ],
)
def test_raw_markdown_reports_each_kind(html: str, kind: str) -> None:
    if "kwargs" in html:
        html = html.replace("f(*args, **kwargs)", "<code>f(*args, **kwargs)</code>")
    found = raw_markdown(f"<article><p>{html}</p></article>")
    assert {problem.partition(":")[0] for problem in found} == ({kind} if kind else set())
