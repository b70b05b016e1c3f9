"""Build the book's search index, with a record for each section, table row, and entry.

The index is static. The script _static/search.js loads parts of it when a reader searches. Pagefind
(https://pagefind.app) writes the index, and this module determines what a record contains:

- `title` is the heading, and `page` is the page's title.
- `signs` is the catalogue's description of the section, such as error messages and symptoms.
- `also` contains words from reference/search-words.toml that readers type but the text lacks.
- `text` gives code less weight than sentences. It omits folded code, claims, and printed results
  other than errors, because there are far more of them than sentences.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pagefind_bin  # type: ignore[import-untyped]

from book_tools.project_metadata import ROOT
from book_tools.website.search_records import Record, extract_records
from jaxbits import _catalogue
from jaxbits._catalogue import SharpBit

WORDS = ROOT / "reference" / "search-words.toml"
FOLDER = "pagefind"
# These pages have no text of their own.
LEFT_OUT = {"index.html", "search.html", "genindex.html", "404.html"}
# Pagefind writes these user interfaces, but the book does not use them.
UNUSED = ("*-ui.js", "*-ui.css", "pagefind-highlight.js", "wasm.unknown.pagefind")


@dataclass(frozen=True)
class Words:
    """Words that readers type although the book does not use them.

    Attributes:
        places: The words that readers use for each place, keyed by catalogue id or address.
        groups: Groups of synonyms. A search for one word also finds its synonyms.
    """

    places: Mapping[str, str]
    groups: Sequence[Sequence[str]]


def read_words(path: Path | None = None) -> Words:
    """Return the contents of reference/search-words.toml.

    Raises:
        ValueError: If an entry lacks a key or has an unknown key.
    """
    with (path or WORDS).open("rb") as file:
        found = tomllib.load(file)
    places: dict[str, str] = {}
    for number, entry in enumerate(found.get("place", []), 1):
        if not {"words"} < set(entry) <= {"words", "bit", "at"}:
            raise ValueError(
                f"place {number} must have words and either bit or at, got {sorted(entry)}"
            )
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


def describe_bit(bit: SharpBit) -> list[str]:
    """Return a sharp bit's title, symptom, fix, and errors as plain text."""
    errors = [f"{symptom.error} {symptom.text}" for symptom in bit.symptoms]
    parts = [bit.title, bit.look_for, bit.fix]
    return [part.replace("`", "") for part in (*parts, *errors) if part]


def collect_records(html: Path, words: Words) -> list[Record]:
    """Return all search records for the built book, in a stable order.

    Args:
        html: The folder of the built book.
        words: The words that readers type but the book does not use.

    Raises:
        ValueError: If `words` names a place that does not exist.
    """
    found: list[Record] = []
    pages = [*html.glob("*.html"), *html.glob("chapters/*.html"), *html.glob("reference/*.html")]
    for path in sorted(pages):
        url = path.relative_to(html).as_posix()
        if url not in LEFT_OUT:
            found += extract_records(path.read_text(encoding="utf-8"), url)
    by_url = {record.url: record for record in found}
    bits = _catalogue.load()
    for bit in bits.values():
        if record := by_url.get(bit.page):
            if record.kind == "row":  # The row's own title is code.
                record.title = bit.title.replace("`", "")
            record.signs += describe_bit(bit)
    for place, also in words.places.items():
        url = bits[place].page if place in bits else place
        if url not in by_url:
            raise ValueError(f"places in {WORDS.name} must be in the book, got {place}")
        by_url[url].also.append(also)
    return [record for record in found if record.title and record.text]


def _run_pagefind(found: Iterable[Record], folder: Path) -> None:
    """Index the records with Pagefind. Each record is a page whose path contains the anchor."""
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
        raise RuntimeError(f"Pagefind cannot index the book: {done.stdout.strip()}")


def write_search_index(html: Path) -> int:
    """Write the index into the built book and return the number of records.

    Args:
        html: The folder of the built book.

    Raises:
        RuntimeError: If Pagefind fails.
        ValueError: If reference/search-words.toml is malformed or names a place that does not
            exist.
    """
    words = read_words()
    found = collect_records(html, words)
    folder = html / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    _run_pagefind(found, folder)
    for pattern in UNUSED:
        for path in folder.glob(pattern):
            path.unlink()
    book = json.dumps({"records": len(found), "synonyms": words.groups}, ensure_ascii=False)
    (folder / "book.json").write_text(book + "\n", encoding="utf-8")
    return len(found)
