"""Check that pages contain links to the project's repository if and only if it has one."""

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
EXTERNAL_ADDRESSES = (
    "colab.research.google.com",
    "github.com/owner",
    "github.io",
    "executablebooks",
)


def build_page(folder: Path, repository: str | None, name: str) -> BeautifulSoup:
    """Build a two-page book with this project's extension, and return one of the pages."""
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
        # Jupyter Book sets this URL if a book specifies no repository.
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


def test_chapter_with_repository_links_to_published_notebook(tmp_path: Path) -> None:
    page = build_page(tmp_path, REPOSITORY, "chapters/01-topic")
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


def test_only_chapters_have_colab_button(tmp_path: Path) -> None:
    page = build_page(tmp_path, REPOSITORY, "index")
    assert not page.select('a[href*="colab.research.google.com"]')
    assert REPOSITORY in links(page)


def test_page_without_repository_contains_no_address(tmp_path: Path) -> None:
    page = build_page(tmp_path, None, "chapters/01-topic")
    assert page.find("link", rel="canonical") is None
    assert not [link for link in links(page) if any(other in link for other in EXTERNAL_ADDRESSES)]


@pytest.mark.parametrize("kind", ["*.html", "*.ipynb", "*.js"])
def test_built_book_contains_no_other_address(built: Path, kind: str) -> None:
    repository = project_metadata.repository_url()
    site = project_metadata.site_url(repository) if repository else None
    found = 0
    for path in sorted(built.rglob(kind)):
        if "_static" in path.relative_to(built).parts:
            continue
        found += 1
        text = path.read_text("utf8")
        if site:
            text = text.replace(site, "").replace(site.rstrip("/"), "")
        assert ".github.io" not in text, path.relative_to(built)
        if not repository:
            assert "colab.research.google.com" not in text, path.relative_to(built)
    assert found
