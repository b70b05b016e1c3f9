"""Test the notebooks in the built book for projects with and without an address."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest

from book_tools import project_metadata
from book_tools.website import library_wheel, published_notebooks

SITE, REPOSITORY = "https://owner.github.io/name/", "https://github.com/owner/name"
NOTEBOOKS = [
    *sorted(project_metadata.ROOT.glob("chapters/*.ipynb")),
    *sorted(project_metadata.ROOT.glob("assignments/*/*.ipynb")),
]
LIBRARY = "wheels/0123/jaxbits-0.1.0-py3-none-any.whl"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_complete_notebook_adds_wheel_and_absolute_links(path: Path) -> None:
    before = nbformat.read(path, as_version=4)
    folder = path.parent.relative_to(project_metadata.ROOT).as_posix()
    after = published_notebooks.complete_notebook(before, folder, SITE, LIBRARY)
    nbformat.validate(after)
    first = next(cell for cell in after.cells if cell.cell_type == "code")
    assert f'\nWHEEL = "{SITE}{LIBRARY}"  # ' in first.source
    links = []
    for cell in after.cells:
        if cell.cell_type == "markdown":
            links += re.findall(r"\]\(([^)\s]+)|\bhref=[\"']([^\"']+)", cell.source)
    relative = [a or b for a, b in links if not re.match(r"https?://|#|mailto:", a or b)]
    assert relative == []
    for old, new in zip(before.cells, after.cells, strict=True):
        if old.cell_type == "code" and new is not first:
            assert new == old


def test_complete_notebook_links_to_existing_pages() -> None:
    pages = {path.stem for path in project_metadata.ROOT.glob("chapters/*.md")}
    reference = {
        *(path.stem for path in project_metadata.ROOT.glob("reference/*.md")),
        *re.findall(r"reference/([\w-]+)", (project_metadata.ROOT / "_toc.yml").read_text("utf8")),
    }
    found = 0
    for path in NOTEBOOKS:
        folder = path.parent.relative_to(project_metadata.ROOT).as_posix()
        after = published_notebooks.complete_notebook(nbformat.read(path, 4), folder, SITE, LIBRARY)
        for cell in after.cells:
            for part, name in re.findall(rf"{re.escape(SITE)}(\w+)/([\w-]+)\.html", cell.source):
                found += 1
                assert name in {"chapters": pages, "reference": reference}[part], path.name
    assert found > 100


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("04-out-of-bounds.ipynb#exercises", f"{SITE}chapters/04-out-of-bounds.html#exercises"),
        ("../reference/errors.md", f"{SITE}reference/errors.html"),
        ("https://docs.jax.dev/en/latest/", "https://docs.jax.dev/en/latest/"),
        ("#below", "#below"),
        ("mailto:someone@example.org", "mailto:someone@example.org"),
    ],
)
def test_make_absolute(link: str, expected: str) -> None:
    assert published_notebooks.make_absolute(link, "chapters", SITE) == expected


def test_make_links_absolute_ignores_code() -> None:
    text = "```python\n[x](y.md)\n```\n`[x](y.md)` and <a href='y.md'>x</a>"
    assert published_notebooks.make_links_absolute(text, "chapters", SITE) == (
        f"```python\n[x](y.md)\n```\n`[x](y.md)` and <a href='{SITE}chapters/y.html'>x</a>"
    )


def test_write_notebooks_copies_originals_without_address(tmp_path: Path) -> None:
    published_notebooks.write_notebooks(tmp_path, None, None)
    for path in NOTEBOOKS:
        chapter = path.parent.name == "chapters"
        folder = published_notebooks.CHAPTERS if chapter else published_notebooks.ASSIGNMENTS
        published = json.loads((tmp_path / folder / path.name).read_text("utf8"))
        assert published == json.loads(path.read_text("utf8"))
    assert (tmp_path / library_wheel.wheel_path(None, None)).exists()


def test_write_notebooks_names_wheel_with_address(tmp_path: Path) -> None:
    published_notebooks.write_notebooks(tmp_path, SITE, REPOSITORY)
    library = library_wheel.wheel_path(SITE, REPOSITORY)
    assert (tmp_path / library).exists()
    for path in (
        *tmp_path.glob("_sources/chapters/*.ipynb"),
        *tmp_path.glob("assignments/*.ipynb"),
    ):
        assert f'WHEEL = \\"{SITE}{library}\\"' in path.read_text("utf8"), path.name
