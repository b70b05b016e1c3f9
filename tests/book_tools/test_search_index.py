"""Test how the search index is built from pages and from words that readers might type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from book_tools.website import search_index
from book_tools.website.search_index import Words, collect_records, read_words, write_search_index
from book_tools.website.search_records import CODE, ERROR, OPTION, Record, extract_records
from jaxbits import _catalogue

PAGE = """<html><body><nav>navigation</nav><article class="bd-article">
<section id="topic"><h1>Topic<a class="headerlink" href="#topic">#</a></h1><p>Opening.</p>
<section id="trap"><h2>A trap</h2><p>It <em>snaps</em>.</p>
<details class="predict"><summary>Yes</summary>Never.</details>
<div class="cell docutils"><div class="cell_input">
<pre><span>shown</span><span>(1)</span></pre></div>
<div class="cell_output"><div class="output"><pre>printed</pre></div></div></div>
<div class="cell tag_hide-input"><div class="cell_input"><pre>folded</pre></div>
<div class="cell_output"><div class="output text_html">claimed</div>
<div class="output traceback"><pre>frames TypeError: wrong</pre></div></div></div></section>
<section id="also-sharp"><h2>Also sharp</h2><table><tbody>
<tr id="row-one"><td>✓</td><td><code>x[1]</code></td><td>Another value</td></tr>
</tbody></table></section>
<section id="exercises"><h2>Exercises</h2><p>Try.</p>
<details class="solution"><summary>Solution</summary><pre>answer</pre></details></section>
</section></article></body></html>"""


@pytest.fixture
def records() -> dict[str, Record]:
    return {record.url: record for record in extract_records(PAGE, "chapters/99-topic.html")}


def test_extract_records_returns_each_section_and_row(records: dict[str, Record]) -> None:
    page = "chapters/99-topic.html"
    assert {
        url.removeprefix(page): (record.title, record.kind) for url, record in records.items()
    } == {
        "": ("Topic", "opening"),
        "#trap": ("A trap", "section"),
        "#also-sharp": ("Also sharp", "section"),
        "#row-one": ("x[1]", "row"),
        "#exercises": ("Exercises", "exercise"),
    }
    assert {record.page for record in records.values()} == {"Topic"}


def test_extract_records_weights_prose_above_code(
    records: dict[str, Record],
) -> None:
    text = {piece: weight for weight, piece in records["chapters/99-topic.html#trap"].text}
    assert text == {
        "It snaps.": 1.0,
        "Yes Never.": OPTION,
        "shown(1)": CODE,
        "frames TypeError: wrong": ERROR,
    }
    assert records["chapters/99-topic.html#exercises"].text == [(1.0, "Try.")]
    assert records["chapters/99-topic.html"].text == [(1.0, "Opening.")]


def test_record_html_escapes_title_and_puts_prose_first() -> None:
    record = Record("a.html#b", 'x["<y>"]', "A", "row", [(0.3, "code <1>"), (1.0, "said")])
    html = record.html()
    assert 'data-is="x[&quot;&lt;y&gt;&quot;]"' in html
    assert html.index("said") < html.index("code &lt;1&gt;")


def write_book(folder: Path) -> Path:
    """Write a one-page book, and return its folder."""
    (folder / "chapters").mkdir()
    (folder / "chapters" / "99-topic.html").write_text(PAGE, encoding="utf-8")
    return folder


def test_collect_records_adds_words_to_their_place(tmp_path: Path) -> None:
    place = "chapters/99-topic.html#trap"
    records = collect_records(write_book(tmp_path), Words({place: "pitfall"}, []))
    assert {record.url: record.also for record in records if record.also} == {place: ["pitfall"]}


def test_collect_records_rejects_words_for_unknown_place(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be in the book, got chapters/99-topic\.html#x"):
        collect_records(write_book(tmp_path), Words({"chapters/99-topic.html#x": "pitfall"}, []))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[place]]\nwords = "a"', "place 1 must have words and either bit or at"),
        ('[[place]]\nbit = "b"\nword = "a"', "place 1 must have words and either bit or at"),
        ('[[place]]\nbit = "b"\nwords = "a"\n[[place]]\nat = "b"\nwords = "c"', "got b again"),
        ('[[synonyms]]\nwords = ["a"]', "synonyms 1 must have words and reason"),
    ],
)
def test_read_words_rejects_malformed_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "words.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_words(path)


def test_read_words_names_bits_by_id() -> None:
    pages = {bit.page: bit.id for bit in _catalogue.load().values()}
    named_by_address = {place: pages[place] for place in read_words().places if place in pages}
    assert not named_by_address, "name a bit by its id, because a heading may change"


def test_write_search_index_writes_files_for_pagefind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "words.toml"
    empty.write_text('[[synonyms]]\nwords = ["A", "b"]\nreason = "one thing"\n', encoding="utf-8")
    monkeypatch.setattr(search_index, "WORDS", empty)
    html = tmp_path / "html"
    html.mkdir()
    assert write_search_index(write_book(html)) == 4  # "Also sharp" has no text besides its row
    folder = html / "pagefind"
    book = json.loads((folder / "book.json").read_text(encoding="utf-8"))
    assert book == {"records": 4, "synonyms": [["a", "b"]]}
    assert len(list((folder / "fragment").iterdir())) == 4
    assert (folder / "pagefind.js").is_file()
    assert (folder / "pagefind-worker.js").is_file()
    assert not list(folder.glob("*-ui.*"))
