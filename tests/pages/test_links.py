"""Check that all link targets in the built book exist and that pages load nothing external."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from book_tools import project_metadata
from jaxbits import _catalogue

LOADING_ATTRIBUTES = (
    ("img", "src"),
    ("script", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
)
EXTERNAL_SCHEMES = ("http", "https", "mailto")
REPOSITORY_URL = project_metadata.repository_url()
SITE_PATH = urlsplit(project_metadata.site_url(REPOSITORY_URL)).path if REPOSITORY_URL else "/"


@functools.cache
def parse_page(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text("utf8"), "html.parser")


@functools.cache
def page_ids(page: Path) -> frozenset[str]:
    return frozenset(tag.get("id") or tag.get("name") for tag in parse_page(page).find_all(True))


@pytest.fixture(scope="module")
def pages(built: Path) -> list[Path]:
    return [page for page in sorted(built.rglob("*.html")) if "_static" not in page.parts]


def link_problem(built: Path, page: Path, address: str) -> str | None:
    """Return what is wrong with a link that should lead to a place in the book, or None."""
    parts = urlsplit(address)
    path = unquote(parts.path)
    # The server shows 404.html at any address, so its links are relative to the site's root.
    if page.name == "404.html" and path.startswith(SITE_PATH):
        path = path.removeprefix(SITE_PATH) or "."
    target = (page.parent / path).resolve() if path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(built.resolve()) and target != page:
        return "is outside the book"
    if not target.exists():
        return "does not exist"
    fragment = unquote(parts.fragment)
    if fragment and target.suffix == ".html" and fragment not in page_ids(target):
        return "names an id that the page lacks"
    return None


def test_internal_links_have_targets(built: Path, pages: list[Path]) -> None:
    link_count, problems = 0, []
    for page in pages:
        for tag in parse_page(page).find_all("a", href=True):
            address = tag["href"]
            if urlsplit(address).scheme in EXTERNAL_SCHEMES:
                continue
            link_count += 1
            if problem := link_problem(built, page, address):
                problems.append(f"{page.relative_to(built)}: {address} {problem}")
    assert not problems, "\n".join(problems)
    assert link_count > 20 * len(pages) / 2, f"only {link_count} links on {len(pages)} pages"


def test_pages_load_only_book_files(built: Path, pages: list[Path]) -> None:
    problems = []
    for page in pages:
        addresses = [
            tag[key]
            for name, key in LOADING_ATTRIBUTES
            for tag in parse_page(page).find_all(name)
            if tag.get(key)
        ]
        for tag in parse_page(page).find_all("link", href=True):
            if {"stylesheet", "icon", "preload", "modulepreload"} & set(tag.get("rel", ())):
                addresses.append(tag["href"])
        for address in addresses:
            if address.startswith("data:"):
                continue
            problem = (
                "is on another host"
                if urlsplit(address).netloc
                else link_problem(built, page, address)
            )
            if problem:
                problems.append(f"{page.relative_to(built)}: {address} {problem}")
    assert not problems, "\n".join(problems)


def test_style_sheets_load_only_book_files(built: Path) -> None:
    problems = []
    for sheet in built.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text("utf8"), flags=re.S)
        for address in re.findall(r"""(?:url\(\s*['"]?|@import\s+['"])([^'")\s]+)""", text):
            path = urlsplit(address).path
            if address.startswith(("data:", "#")) or (
                not urlsplit(address).netloc and (sheet.parent / unquote(path)).exists()
            ):
                continue
            problems.append(f"{sheet.relative_to(built)}: {address}")
    assert not problems, "\n".join(problems)


def test_ids_are_unique_on_page(built: Path, pages: list[Path]) -> None:
    problems = []
    for page in pages:
        seen: set[str] = set()
        for tag in parse_page(page).find_all(id=True):
            if tag["id"] in seen:
                problems.append(f"{page.relative_to(built)}: #{tag['id']}")
            seen.add(tag["id"])
    assert not problems, "\n".join(problems)


def test_images_have_alt_text(built: Path, pages: list[Path]) -> None:
    problems = [
        f"{page.relative_to(built)}: {image.get('src')}"
        for page in pages
        for image in parse_page(page).select("article img")
        if not (image.get("alt") or "").strip() or image["alt"].startswith(("../", "_images/"))
    ]
    assert not problems, "\n".join(problems)


def test_catalogue_entries_have_anchors(built: Path) -> None:
    problems = [
        f"[{bit.id}] {bit.page}"
        for bit in _catalogue.load().values()
        if link_problem(built, built / "intro.html", bit.page)
    ]
    assert not problems, "the book lacks these anchors from the catalogue:\n" + "\n".join(problems)
