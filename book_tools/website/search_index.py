"""Build the search index of the book: one record per section, row, or entry of a reference page.

The index is static. The script _static/search.js loads it in pieces when a reader searches.
Pagefind (https://pagefind.app) writes it; this module decides what a record contains:

- `title`: the heading; `page`: the page's title.
- `signs`: what the catalogue says of the section, such as error messages and what readers notice.
- `also`: words that readers type and that the text lacks, from reference/search-words.toml.
- The text, in which code weighs less than sentences. Folded code, claims, and printed results other
  than errors are left out: they would outnumber the sentences.
"""

from __future__ import annotations

import html as markup
import json
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pagefind_bin  # type: ignore[import-untyped]
from bs4 import BeautifulSoup, Tag
from bs4.filter import SoupStrainer

from jaxbits import _catalogue
from jaxbits._catalogue import SharpBit

ROOT = Path(__file__).resolve().parents[2]
WORDS = ROOT / "reference" / "search-words.toml"
FOLDER = "pagefind"
# Pages without text of their own.
LEFT_OUT = {"index.html", "search.html", "genindex.html", "404.html"}
# Interfaces that Pagefind brings and the book does not use.
UNUSED = ("*-ui.js", "*-ui.css", "pagefind-highlight.js", "wasm.unknown.pagefind")
# How much a word counts in a place other than a sentence, where it counts 1.
CODE, ERROR, OPTION = 0.3, 0.3, 0.5
LONGEST_ERROR = 600
KIND_OF_FOLDER = {"chapters": "section", "reference": "reference"}
# Reference pages that lead a reader on, and do not only list.
GUIDES = ("reference/by-symptom.html", "reference/coming-from-")

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = ("dd", "div", "dt", "li", "p", "pre", "summary", "td", "th")
_CODE_COLORS = re.compile(r"</?span\b[^>]*>")
_PRE = re.compile(r"<pre\b.*?</pre>", re.S)
_SPACE = re.compile(r"\s+")


@dataclass
class Record:
    """One place of the book that a search can find.

    Attributes:
        url: the page and the anchor, relative to the book's root.
        title: the heading.
        page: the title of the page.
        kind: section, row (an entry under "Also sharp"), exercise, opening (of a page), guide
            (such as "By symptom"), or reference.
        text: pieces of the text, each with how much its words count.
        signs: the catalogue's titles, error messages, and symptoms.
        also: words that readers type and that the text lacks.
    """

    url: str
    title: str
    page: str
    kind: str
    text: list[tuple[float, str]] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)

    def html(self) -> str:
        """Return the record as a page for Pagefind, whose metadata is searched and never shown."""
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
            # Sentences first, since the excerpt of a result is the first part that fits best.
            for weight, piece in sorted(self.text, key=lambda piece: -piece[0])
        )
        return (
            '<!DOCTYPE html><html lang="en"><body>'
            f'<p data-pagefind-filter="kind[data-is]" data-is="{self.kind}"></p>'
            f"{meta}{text}</body></html>"
        )


@dataclass(frozen=True)
class Words:
    """The words of readers that are not those of the book.

    Attributes:
        places: for each sharp bit or address, what readers call it.
        groups: words that mean much the same, so that a search for one finds the others.
    """

    places: Mapping[str, str]
    groups: Sequence[Sequence[str]]


def read_words(path: Path | None = None) -> Words:
    """Return the contents of reference/search-words.toml.

    Raises:
        ValueError: naming the entry that lacks a key or has one too many.
    """
    with (path or WORDS).open("rb") as file:
        found = tomllib.load(file)
    places: dict[str, str] = {}
    for number, entry in enumerate(found.get("place", []), 1):
        if not {"words"} < set(entry) <= {"words", "bit", "at"}:
            raise ValueError(f"place {number} must have words, and bit or at; got {sorted(entry)}")
        place = entry.get("bit") or entry["at"]
        if place in places:
            raise ValueError(f"each place must be listed once, got {place} again")
        places[place] = entry["words"]
    groups = []
    for number, entry in enumerate(found.get("synonyms", []), 1):
        if set(entry) != {"words", "reason"}:
            raise ValueError(f"synonyms {number} must have words and reason, got {sorted(entry)}")
        groups.append([word.lower() for word in entry["words"]])
    return Words(places, groups)


def _text(node: Tag) -> str:
    """Return the text of an element in one line, with a space after each block."""
    for block in node.find_all(_BLOCKS):
        block.append(" ")
    return _SPACE.sub(" ", node.get_text()).strip()


def _heading(section: Tag) -> str:
    """Return the heading of a section, or an empty string."""
    heading = section.find(_HEADINGS, recursive=False)
    if not isinstance(heading, Tag):
        return ""
    for link in heading.find_all("a", class_="headerlink"):
        link.decompose()
    return _text(heading)


def _classes(node: Tag) -> set[str]:
    return set(node.get_attribute_list("class")) - {None}


def _pieces_of_cell(cell: Tag) -> Iterator[tuple[float, str]]:
    """Yield the text of a cell: its code unless it is folded, and the end of an error."""
    if "tag_hide-input" not in _classes(cell):
        for block in cell.select(".cell_input pre"):
            yield CODE, _text(block)
    for block in cell.select(".cell_output .traceback pre"):
        yield ERROR, _SPACE.sub(" ", block.get_text()).strip()[-LONGEST_ERROR:]


def _pieces(node: Tag) -> Iterator[tuple[float, str]]:
    """Yield the texts of an element of a section, each with its weight."""
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
    """Yield a record for each row that has an anchor, and take the rows out of the section."""
    for row in section.select("table tr[id]"):
        cells = [_text(cell) for cell in row.find_all(["td", "th"])]
        told = [cell for cell in cells if len(cell) > 1]  # not the mark that says whether it holds
        record = Record(f"{url}#{row['id']}", told[0] if told else "", page, "row")
        record.text = [(1.0, cell) for cell in told]
        yield record
        row.decompose()


def _items(section: Tag, url: str, page: str) -> Iterator[Record]:
    """Yield a record for each paragraph that begins with an anchor, and take it out.

    The cells below the paragraph, up to the next paragraph, belong to it.
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
    """Yield a record for each term or signature with an anchor, and take it out of the section."""
    for term in section.select("dt[id]"):
        told = term.find_next_sibling("dd")
        for link in term.select("a.headerlink, .viewcode-link"):
            link.decompose()
        record = Record(f"{url}#{term['id']}", _text(term), page, "reference")
        is_signature = "sig" in _classes(term)
        if is_signature:  # the name, and not its arguments
            record.title = str(term["id"]).removeprefix("jaxbits.")
        if isinstance(told, Tag):
            record.text = [(1.0, _text(told))]
        if is_signature and record.title.count(".") > 1:
            continue  # an attribute or a method belongs to its class
        yield record
    for list_ in section.select("dl"):
        if list_.find("dt", id=True):
            list_.decompose()


def _sections(section: Tag, url: str, page: str, kind: str) -> Iterator[Record]:
    """Yield the records of a section and of what it contains."""
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


def records_of_page(page: str, url: str) -> list[Record]:
    """Return the records of a page.

    Args:
        page: the page's HTML.
        url: its address relative to the book's root.

    Example:
        >>> page = '<article><section id="a"><h1>A</h1><p>b</p></section></article>'
        >>> [(r.url, r.title, r.text) for r in records_of_page(page, "a.html")]
        [('a.html', 'A', [(1.0, 'b')])]
    """
    # Most elements of a chapter color its code. Without them parsing takes a third of the time.
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


def signs(bit: SharpBit) -> list[str]:
    """Return what the catalogue says of a sharp bit: its title, errors, symptoms, and fix."""
    errors = [f"{symptom.error} {symptom.text}" for symptom in bit.symptoms]
    told = [bit.title, bit.look_for, bit.fix]
    return [part.replace("`", "") for part in (*told, *errors) if part]


def records(html: Path, words: Words) -> list[Record]:
    """Return all records of the built book, in a stable order.

    Args:
        html: the folder of the built book.
        words: the words of readers.

    Raises:
        ValueError: a place in `words` does not exist.
    """
    found: list[Record] = []
    pages = [*html.glob("*.html"), *html.glob("chapters/*.html"), *html.glob("reference/*.html")]
    for path in sorted(pages):
        url = path.relative_to(html).as_posix()
        if url not in LEFT_OUT:
            found += records_of_page(path.read_text(encoding="utf-8"), url)
    by_url = {record.url: record for record in found}
    bits = _catalogue.load()
    for bit in bits.values():
        if record := by_url.get(bit.page):
            if record.kind == "row":  # its first cell is code
                record.title = bit.title.replace("`", "")
            record.signs += signs(bit)
    for place, also in words.places.items():
        url = bits[place].page if place in bits else place
        if url not in by_url:
            raise ValueError(f"{WORDS.name} must name places of the book, got {place}")
        by_url[url].also.append(also)
    return [record for record in found if record.title and record.text]


def _run_pagefind(found: Iterable[Record], folder: Path) -> None:
    """Let Pagefind index the records, each as a page whose path holds the anchor."""
    with tempfile.TemporaryDirectory() as site:
        for record in found:
            page, _, anchor = record.url.partition("#")
            path = Path(site) / page / f"{anchor}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(record.html(), encoding="utf-8")
        command = [str(pagefind_bin.get_executable()), "--site", site, "--output-path", str(folder)]
        done = subprocess.run(
            [*command, "--force-language", "en", "--silent"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    if done.returncode != 0:
        raise RuntimeError(f"Pagefind must index the book, got: {done.stdout.strip()}")


def write(html: Path) -> int:
    """Write the index into the built book and return the number of records.

    Args:
        html: the folder of the built book.

    Raises:
        RuntimeError: Pagefind fails.
        ValueError: reference/search-words.toml is malformed or names a place that does not exist.
    """
    words = read_words()
    found = records(html, words)
    folder = html / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    _run_pagefind(found, folder)
    for pattern in UNUSED:
        for path in folder.glob(pattern):
            path.unlink()
    book = json.dumps({"records": len(found), "synonyms": words.groups}, ensure_ascii=False)
    (folder / "book.json").write_text(book + "\n", encoding="utf-8")
    return len(found)
