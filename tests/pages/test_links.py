"""Every link, picture and script of the built book is there; nothing is loaded from elsewhere."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from book_tools import project_metadata
from jaxbits import _catalogue

LOADED = (
    ("img", "src"),
    ("script", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
)
OPENED = ("http", "https", "mailto")
ADDRESS = project_metadata.repository_url()
ROOT = urlsplit(project_metadata.site_url(ADDRESS)).path if ADDRESS else "/"


@functools.cache
def soup(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text("utf8"), "html.parser")


@functools.cache
def ids(page: Path) -> frozenset[str]:
    return frozenset(tag.get("id") or tag.get("name") for tag in soup(page).find_all(True))


@pytest.fixture(scope="module")
def pages(built: Path) -> list[Path]:
    return [page for page in sorted(built.rglob("*.html")) if "_static" not in page.parts]


def problem(built: Path, page: Path, address: str) -> str | None:
    """Say what is wrong with an address inside the book, if anything."""
    parts = urlsplit(address)
    path = unquote(parts.path)
    if page.name == "404.html" and path.startswith(ROOT):  # shown at any address, so from the root
        path = path.removeprefix(ROOT) or "."
    target = (page.parent / path).resolve() if path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(built.resolve()) and target != page:
        return "leads out of the book"
    if not target.exists():
        return "does not exist"
    fragment = unquote(parts.fragment)
    if fragment and target.suffix == ".html" and fragment not in ids(target):
        return "has no such place on the page"
    return None


def test_every_link_inside_the_book_leads_somewhere(built: Path, pages: list[Path]) -> None:
    found, wrong = 0, []
    for page in pages:
        for tag in soup(page).find_all("a", href=True):
            address = tag["href"]
            if urlsplit(address).scheme in OPENED:
                continue
            found += 1
            if why := problem(built, page, address):
                wrong.append(f"{page.relative_to(built)}: {address} {why}")
    assert not wrong, "\n".join(wrong)
    assert found > 20 * len(pages) / 2, f"only {found} links on {len(pages)} pages: were they read?"


def test_whatever_a_page_loads_is_part_of_the_book(built: Path, pages: list[Path]) -> None:
    wrong = []
    for page in pages:
        wanted = [
            tag[key] for name, key in LOADED for tag in soup(page).find_all(name) if tag.get(key)
        ]
        for tag in soup(page).find_all("link", href=True):
            if {"stylesheet", "icon", "preload", "modulepreload"} & set(tag.get("rel", ())):
                wanted.append(tag["href"])
        for address in wanted:
            if address.startswith("data:"):
                continue
            why = (
                "is on another host" if urlsplit(address).netloc else problem(built, page, address)
            )
            if why:
                wrong.append(f"{page.relative_to(built)}: {address} {why}")
    assert not wrong, "\n".join(wrong)


def test_style_sheets_load_only_what_is_part_of_the_book(built: Path) -> None:
    wrong = []
    for sheet in built.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text("utf8"), flags=re.S)
        for address in re.findall(r"""(?:url\(\s*['"]?|@import\s+['"])([^'")\s]+)""", text):
            path = urlsplit(address).path
            if address.startswith(("data:", "#")) or (
                not urlsplit(address).netloc and (sheet.parent / unquote(path)).exists()
            ):
                continue
            wrong.append(f"{sheet.relative_to(built)}: {address}")
    assert not wrong, "\n".join(wrong)


def test_no_id_stands_twice_on_a_page(built: Path, pages: list[Path]) -> None:
    wrong = []
    for page in pages:
        seen: set[str] = set()
        for tag in soup(page).find_all(id=True):
            if tag["id"] in seen:
                wrong.append(f"{page.relative_to(built)}: #{tag['id']}")
            seen.add(tag["id"])
    assert not wrong, "\n".join(wrong)


def test_every_picture_says_what_it_shows(built: Path, pages: list[Path]) -> None:
    wrong = [
        f"{page.relative_to(built)}: {image.get('src')}"
        for page in pages
        for image in soup(page).select("article img")
        if not (image.get("alt") or "").strip() or image["alt"].startswith(("../", "_images/"))
    ]
    assert not wrong, "\n".join(wrong)


def test_every_sharp_bit_of_the_catalogue_has_its_place(built: Path) -> None:
    wrong = [
        f"[{bit.id}] {bit.page}"
        for bit in _catalogue.load().values()
        if problem(built, built / "intro.html", bit.page)
    ]
    assert not wrong, "the catalogue names places that the book lacks:\n" + "\n".join(wrong)
