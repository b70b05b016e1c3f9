"""Test the glossary and the links to it from the first use of each term in a chapter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from contents import ROOT
from docutils import nodes
from docutils.utils import new_document
from test_generated import load_extension

from book_tools.pages import glossary
from jaxbits import _catalogue

TERMS = glossary.read_terms(ROOT / "reference" / "glossary.toml")
CHAPTERS = sorted(path.stem for path in (ROOT / "chapters").glob("*.md"))


def document_of(*texts: str) -> nodes.document:
    document = new_document("chapter")
    document.extend(nodes.paragraph("", "", nodes.Text(text)) for text in texts)
    return document


def test_link_terms_links_only_first_use() -> None:
    document = document_of("A tracer, and more tracers.", "Another tracer.")
    assert load_extension("glossary_links").link_terms(document, TERMS) == ["tracer"]
    links = list(document.findall(nodes.raw))
    assert [BeautifulSoup(link.astext(), "html.parser").text for link in links] == ["tracer"]
    assert document.astext().count("and more tracers.") == 1


def test_link_terms_prefers_longer_overlapping_term() -> None:
    document = document_of("A static argument is not traced.")
    assert load_extension("glossary_links").link_terms(document, TERMS) == [
        "static argument",
        "trace",
    ]


@pytest.mark.parametrize("node_class", [nodes.literal, nodes.title, nodes.reference])
def test_link_terms_skips_code_headings_and_links(node_class: type[nodes.TextElement]) -> None:
    document = new_document("chapter")
    document += nodes.paragraph("", "", node_class("", "a tracer"))
    assert load_extension("glossary_links").link_terms(document, TERMS) == []


def test_link_terms_ignores_words_that_resemble_terms() -> None:
    document = document_of("It leaves the room; the first four keystrokes do so, too. Nan smiles.")
    assert load_extension("glossary_links").link_terms(document, TERMS) == []


def test_glossary_rejects_term_without_known_bits(tmp_path: Path) -> None:
    file = tmp_path / "glossary.toml"
    file.write_text('[[term]]\nname = "trace"\ntext = "A path."\n', "utf8")
    with pytest.raises(glossary.GlossaryError, match="must have name, text, and bits"):
        glossary.read_terms(file)
    file.write_text('[[term]]\nname = "a"\ntext = "b"\nbits = ["no-such-bit"]\n', "utf8")
    with pytest.raises(
        glossary.GlossaryError, match="'a': bits must be in the catalogue, got 'no-such-bit'"
    ):
        glossary.glossary_page(glossary.read_terms(file), _catalogue.load())


@pytest.mark.parametrize("term", TERMS, ids=[term.anchor for term in TERMS])
def test_definition_is_in_full_sentences(term: glossary.Term) -> None:
    assert re.match(r"[A-Z]|bfloat16|float16|x64", term.text)
    assert term.text.endswith(".")
    first = re.split(r"(?<=[.])\s", term.text)[0]
    assert term.name.lower() in first.lower(), "the first sentence must contain the term"


def test_glossary_page_has_bar_of_letters_and_names_chapters() -> None:
    page = glossary.glossary_page(TERMS, _catalogue.load())
    linked = re.findall(r'<li><a href="#letter-([a-z])">([A-Z])</a></li>', page)
    letters = sorted({term.name[0].lower() for term in TERMS})
    assert [letter for letter, _ in linked] == letters
    assert re.findall(r'<h2 class="letter" id="letter-([a-z])">', page) == letters
    assert len(re.findall(r"<li><span>[A-Z]</span></li>", page)) == 26 - len(letters)
    dispatch = page[page.index('id="asynchronous-dispatch"') :]
    assert 'Explained in <a href="../chapters/12-async-dispatch.html">chapter 12</a>' in dispatch


@pytest.mark.parametrize("stem", CHAPTERS)
def test_chapter_links_each_term_once(built: Path, stem: str) -> None:
    page = BeautifulSoup((built / "chapters" / f"{stem}.html").read_text("utf8"), "html.parser")
    links = [link["href"].split("#")[1] for link in page.find_all("a", class_="term")]
    assert len(links) > 5
    assert len(links) == len(set(links))
    first = page.find("a", class_="term")
    assert isinstance(first, Tag)
    before = " ".join(str(text) for text in first.find_all_previous(string=True) if is_prose(text))
    term = next(term for term in TERMS if term.anchor == links[0])
    assert term.find(re.sub(r"\s+", " ", before)) is None


def is_prose(text: object) -> bool:
    parents = {parent.name for parent in getattr(text, "parents", ())}
    return "p" in parents and not parents & {"code", "a", "pre", "h1", "h2", "h3", "header", "nav"}


def test_glossary_names_page_of_term_only_if_no_chapter_links_it(built: Path) -> None:
    used = set()
    for stem in CHAPTERS:
        text = (built / "chapters" / f"{stem}.html").read_text("utf8")
        used |= set(re.findall(r'class="term" href="\.\./reference/glossary\.html#([\w-]+)"', text))
    assert {term.anchor for term in TERMS if not term.met} - used == set()
    assert {term.anchor for term in TERMS if term.met} & used == set()
