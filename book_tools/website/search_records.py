"""Extract the search index's records from the HTML of the built pages.

A record is one place that a search can find, such as a section, a row of a table, or an entry on a
reference page. The docstring of `search_index` explains the parts of a record.
"""

from __future__ import annotations

import html as markup
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, Tag
from bs4.filter import SoupStrainer

# The weights of words outside sentences. A word in a sentence has weight 1.
CODE, ERROR, OPTION = 0.3, 0.3, 0.5
MAX_ERROR = 600
KIND_OF_FOLDER = {"chapters": "section", "reference": "reference"}
# These reference pages lead a reader to a section instead of just listing entries.
GUIDES = ("reference/by-symptom.html", "reference/coming-from-")

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = ("dd", "div", "dt", "li", "p", "pre", "summary", "td", "th")
_CODE_COLORS = re.compile(r"</?span\b[^>]*>")
_PRE = re.compile(r"<pre\b.*?</pre>", re.S)
_SPACE = re.compile(r"\s+")


@dataclass
class Record:
    """One place in the book that a search can find.

    Attributes:
        url: The address of the place, including the anchor, relative to the book's root.
        title: The heading or term at the place.
        page: The title of the page.
        kind: Section, row (an entry under "Also sharp"), exercise, opening (of a page), guide (such
            as "By symptom"), or reference.
        text: Pieces of the text, each with the weight of its words.
        signs: Titles, error messages, and symptoms from the catalogue.
        also: Words that readers type but that the text does not contain.
    """

    url: str
    title: str
    page: str
    kind: str
    text: list[tuple[float, str]] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)

    def html(self) -> str:
        """Return the record as a page for Pagefind. Searches use the metadata but never show it."""
        named = {
            "title": self.title,
            "page": self.page,
            "signs": " ".join(self.signs),
            "also": " ".join(self.also),
        }
        meta = "".join(
            f'<p data-pagefind-meta="{name}[data-is]" data-is="{markup.escape(value)}"></p>'
            for name, value in named.items()
            if value
        )
        text = "".join(
            f'<p data-pagefind-weight="{weight}">{markup.escape(piece)}</p>'
            # Sentences come first, because a result shows the first of several equal matches.
            for weight, piece in sorted(self.text, key=lambda piece: -piece[0])
        )
        return (
            '<!DOCTYPE html><html lang="en"><body>'
            f'<p data-pagefind-filter="kind[data-is]" data-is="{self.kind}"></p>'
            f"{meta}{text}</body></html>"
        )


def _text(node: Tag) -> str:
    """Return the text of an element on one line, with a space after each block element."""
    for block in node.find_all(_BLOCKS):
        block.append(" ")
    return _SPACE.sub(" ", node.get_text()).strip()


def _heading(section: Tag) -> str:
    """Return the heading of a section, or an empty string if it has none."""
    heading = section.find(_HEADINGS, recursive=False)
    if not isinstance(heading, Tag):
        return ""
    for link in heading.find_all("a", class_="headerlink"):
        link.decompose()
    return _text(heading)


def _classes(node: Tag) -> set[str]:
    return set(node.get_attribute_list("class")) - {None}


def _pieces_of_cell(cell: Tag) -> Iterator[tuple[float, str]]:
    """Yield a cell's code, unless the code is folded, and the end of its error message."""
    if "tag_hide-input" not in _classes(cell):
        for block in cell.select(".cell_input pre"):
            yield CODE, _text(block)
    for block in cell.select(".cell_output .traceback pre"):
        yield ERROR, _SPACE.sub(" ", block.get_text()).strip()[-MAX_ERROR:]


def _pieces(node: Tag) -> Iterator[tuple[float, str]]:
    """Yield pieces of an element's text, each with its weight."""
    classes = _classes(node)
    if node.name in {"script", "style", *_HEADINGS} or classes & {"toctree-wrapper", "finder"}:
        return
    if "cell" in classes:
        yield from _pieces_of_cell(node)
    elif "solution" in classes:
        return
    elif "predict" in classes:
        yield OPTION, _text(node)
    elif any(name.startswith("highlight") for name in classes):
        yield CODE, _text(node)
    elif node.name == "div" and node.find(["p", "dl", "pre", "table"], recursive=False):
        for child in node.find_all(recursive=False):
            yield from _pieces(child)
    elif found := _text(node):
        yield 1.0, found


def _rows(section: Tag, url: str, page: str) -> Iterator[Record]:
    """Yield a record for each row with an anchor, and remove the rows from the section."""
    for row in section.select("table tr[id]"):
        cells = [_text(cell) for cell in row.find_all(["td", "th"])]
        texts = [cell for cell in cells if len(cell) > 1]  # Skip the cell with ✓ or ✗.
        record = Record(f"{url}#{row['id']}", texts[0] if texts else "", page, "row")
        record.text = [(1.0, cell) for cell in texts]
        yield record
        row.decompose()


def _items(section: Tag, url: str, page: str) -> Iterator[Record]:
    """Yield a record for each paragraph that begins with an anchor, and remove the paragraph.

    The cells between this paragraph and the next one belong to the record.
    """
    for anchor in section.select("p > a[id]:first-child"):
        paragraph = anchor.parent
        if not isinstance(paragraph, Tag) or not _text(paragraph):
            continue
        bold = paragraph.find("strong")
        title = _text(bold).removesuffix(".") if isinstance(bold, Tag) else ""
        record = Record(f"{url}#{anchor['id']}", title, page, "row")
        parts = [paragraph]
        for sibling in paragraph.find_next_siblings():
            if "cell" not in _classes(sibling):
                break
            parts.append(sibling)
        for part in parts:
            record.text += [(weight, piece) for weight, piece in _pieces(part) if piece]
            part.decompose()
        yield record


def _terms(section: Tag, url: str, page: str) -> Iterator[Record]:
    """Yield a record for each term or signature with an anchor, and remove it from the section."""
    for term in section.select("dt[id]"):
        description = term.find_next_sibling("dd")
        for link in term.select("a.headerlink, .viewcode-link"):
            link.decompose()
        record = Record(f"{url}#{term['id']}", _text(term), page, "reference")
        is_signature = "sig" in _classes(term)
        if is_signature:  # Use the name without the arguments.
            record.title = str(term["id"]).removeprefix("jaxbits.")
        if isinstance(description, Tag):
            record.text = [(1.0, _text(description))]
        if is_signature and record.title.count(".") > 1:
            continue  # An attribute or a method belongs to the record of its class.
        yield record
    for list_ in section.select("dl"):
        if list_.find("dt", id=True):
            list_.decompose()


def _sections(section: Tag, url: str, page: str, kind: str) -> Iterator[Record]:
    """Yield the records for a section and for everything in it."""
    is_opening = section.find("h1", recursive=False) is not None
    title = _heading(section)
    anchor = "" if is_opening else f"#{section['id']}"
    record = Record(f"{url}{anchor}", title, page, kind)
    if is_opening and kind == "section":
        record.kind = "opening"
    elif title == "Exercises" and kind == "section":
        record.kind = kind = "exercise"
    inner = section.find_all("section", recursive=False)
    for child in inner:
        child.extract()
    entries = [
        *_rows(section, url, page),
        *_items(section, url, page),
        *_terms(section, url, page),
    ]
    for node in section.find_all(recursive=False):
        record.text += [(weight, piece) for weight, piece in _pieces(node) if piece]
    yield record
    yield from entries
    for child in inner:
        yield from _sections(child, url, page, kind)


def extract_records(page: str, url: str) -> list[Record]:
    """Return the search records for a page.

    Args:
        page: The page's HTML.
        url: The page's address relative to the book's root.

    Example:
        >>> page = '<article><section id="a"><h1>A</h1><p>b</p></section></article>'
        >>> [(r.url, r.title, r.text) for r in extract_records(page, "a.html")]
        [('a.html', 'A', [(1.0, 'b')])]
    """
    # Most elements in a chapter only color its code. Parsing is three times as fast without them.
    page = _PRE.sub(lambda block: _CODE_COLORS.sub("", block[0]), page)
    soup = BeautifulSoup(page, "html.parser", parse_only=SoupStrainer("article"))
    kind = KIND_OF_FOLDER.get(url.partition("/")[0], "section")
    if url.startswith(GUIDES):
        kind = "guide"
    found: list[Record] = []
    for section in soup.select("article > section"):
        title = _heading(section)
        heading = section.find("h1", recursive=False)
        assert isinstance(heading, Tag), f"{url} has no title"
        found += _sections(section, url, title, kind)
    return found
