"""What a page has of the project's address: all of it, or nothing."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from book_tools import project_metadata
from book_tools.website import set_repository_url

REPOSITORY = "https://github.com/owner/name"
ELSEWHERE = ("colab.research.google.com", "github.com/owner", "github.io", "executablebooks")


def page_of_a_small_book(folder: Path, repository: str | None, name: str) -> BeautifulSoup:
    """Build a book of a chapter and another page with this project's extension."""
    (folder / "chapters").mkdir(parents=True)
    (folder / "index.md").write_text("# Book\n\n```{toctree}\nchapters/01-topic\n```\n")
    (folder / "chapters" / "01-topic.md").write_text("# Topic\n\nText.\n")
    for file in set_repository_url.FILES:
        shutil.copy(project_metadata.ROOT / file, folder)
    set_repository_url.write_url(repository, folder)
    settings = {
        "extensions": ["myst_parser", "_ext.published_links"],
        "html_theme": "sphinx_book_theme",
        "exclude_patterns": ["README.md"],
        "suppress_warnings": ["config.cache"],
        # What Jupyter Book sets for a book that names no repository.
        "html_theme_options": {"repository_url": "https://github.com/executablebooks/jupyter-book"},
    }
    sys.path.append(str(project_metadata.ROOT))
    try:
        with patch_docutils(), docutils_namespace():
            app = Sphinx(folder, None, folder / "html", folder / "doctrees", "html",
                         confoverrides=settings, status=None, warning=io.StringIO())  # fmt: skip
            app.confdir = folder
            app.build()
    finally:
        sys.path.remove(str(project_metadata.ROOT))
    return BeautifulSoup((folder / "html" / f"{name}.html").read_text("utf8"), "html.parser")


def links(page: BeautifulSoup) -> list[str]:
    return [tag["href"] for tag in page.find_all(href=True)]


def test_with_an_address_a_chapter_opens_in_colab_as_it_was_published(tmp_path: Path) -> None:
    page = page_of_a_small_book(tmp_path, REPOSITORY, "chapters/01-topic")
    (button,) = page.select('a[href*="colab.research.google.com"]')
    assert button["href"] == (
        "https://colab.research.google.com/github/owner/name/blob/gh-pages/"
        "_sources/chapters/01-topic.ipynb"
    )
    assert button.get_text(strip=True) == "Open in Colab"
    assert page.find("link", rel="canonical")["href"] == (
        "https://owner.github.io/name/chapters/01-topic.html"
    )
    assert REPOSITORY in links(page)
    assert any(link.startswith(f"{REPOSITORY}/issues/new") for link in links(page))


def test_only_chapters_open_in_colab(tmp_path: Path) -> None:
    page = page_of_a_small_book(tmp_path, REPOSITORY, "index")
    assert not page.select('a[href*="colab.research.google.com"]')
    assert REPOSITORY in links(page)


def test_without_an_address_a_page_contains_none(tmp_path: Path) -> None:
    page = page_of_a_small_book(tmp_path, None, "chapters/01-topic")
    assert page.find("link", rel="canonical") is None
    assert not [link for link in links(page) if any(other in link for other in ELSEWHERE)]


@pytest.mark.parametrize("kind", ["*.html", "*.ipynb", "*.js"])
def test_the_built_book_contains_the_projects_address_or_none(built: Path, kind: str) -> None:
    here = project_metadata.repository_url()
    site = project_metadata.site_url(here) if here else None
    found = 0
    for path in sorted(built.rglob(kind)):
        if "_static" in path.relative_to(built).parts:
            continue
        found += 1
        text = path.read_text("utf8")
        if site:
            text = text.replace(site, "").replace(site.rstrip("/"), "")
        assert ".github.io" not in text, path.relative_to(built)
        if not here:
            assert "colab.research.google.com" not in text, path.relative_to(built)
    assert found
