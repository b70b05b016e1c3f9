"""Complete the notebooks in the built book, which readers download and Colab opens.

The notebooks in the repository do not contain the book's address. Their copies in the built book
contain the address of the library's wheel and link to the published pages, so each file works on
its own.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path, PurePosixPath
from urllib.parse import urljoin, urlsplit

import nbformat
from nbformat import NotebookNode

from book_tools import project_metadata
from book_tools.chapters.chapter_files import notebook_text
from book_tools.chapters.setup_cell import set_wheel_url
from book_tools.files import write_if_changed
from book_tools.website import library_wheel

CHAPTERS = "_sources/chapters"
ASSIGNMENTS = "assignments"

_FENCED = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2`*[^\n]*$|`[^`\n]+`", re.M | re.S)
_MARKDOWN = re.compile(r"(?<=\]\()[^)\s]+")
_HTML = re.compile(r"""(?<=\bhref=["'])[^"']+""")


def make_absolute(link: str, folder: str, site: str) -> str:
    """Return the address in the published book for a link in a notebook.

    Args:
        link: The link as it appears in the notebook.
        folder: The notebook's folder in the repository, such as ``chapters``.
        site: The address of the published book, with a trailing slash.

    Example:
        >>> make_absolute("../reference/errors.md", "chapters", "https://owner.github.io/name/")
        'https://owner.github.io/name/reference/errors.html'
        >>> make_absolute("#exercises", "chapters", "https://owner.github.io/name/")
        '#exercises'
    """
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or not parts.path:
        return link
    page = PurePosixPath(parts.path)
    if page.suffix in (".md", ".ipynb"):
        page = page.with_suffix(".html")
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return urljoin(f"{site}{folder}/", f"{page}{fragment}")


def make_links_absolute(text: str, folder: str, site: str) -> str:
    """Return the source of a Markdown cell with relative links made absolute, except in code.

    Args:
        text: The cell's source.
        folder: The notebook's folder in the repository, such as ``chapters``.
        site: The address of the published book, with a trailing slash.

    Example:
        >>> text = "See [Errors](../reference/errors.md), not `[x](y.md)`."
        >>> make_links_absolute(text, "chapters", "https://owner.github.io/name/")
        'See [Errors](https://owner.github.io/name/reference/errors.html), not `[x](y.md)`.'
    """

    def convert(words: str) -> str:
        for pattern in (_MARKDOWN, _HTML):
            words = pattern.sub(lambda m: make_absolute(m[0], folder, site), words)
        return words

    done, begin = "", 0
    for code in _FENCED.finditer(text):
        done += convert(text[begin : code.start()]) + code[0]
        begin = code.end()
    return done + convert(text[begin:])


def complete_notebook(notebook: NotebookNode, folder: str, site: str, library: str) -> NotebookNode:
    """Return a copy of a notebook that works wherever it is opened.

    Args:
        notebook: A notebook in the repository.
        folder: The notebook's folder in the repository, such as ``chapters``.
        site: The address of the published book, with a trailing slash.
        library: The path of the library's wheel in the published book.
    """
    done = copy.deepcopy(notebook)
    first = next(cell for cell in done.cells if cell.cell_type == "code")
    first.source = set_wheel_url(first.source, f"{site}{library}")
    for cell in done.cells:
        if cell.cell_type == "markdown":
            cell.source = make_links_absolute(cell.source, folder, site)
    return done


def write_notebooks(
    html: Path, site: str | None, repository: str | None, root: Path = project_metadata.ROOT
) -> None:
    """Build the library's wheel into the book, and complete the book's notebooks with its address.

    Args:
        html: The folder of the built book.
        site: The address of the published book, with a trailing slash. If it is None, the
            notebooks stay the same as in the repository.
        repository: The address of the repository, or None if it has none.
        root: The project's folder.

    Raises:
        library_wheel.WheelError: If the wheel cannot be built.
    """
    library = library_wheel.build_wheel(html, site, repository, root).relative_to(html).as_posix()
    sources = {path: html / CHAPTERS / path.name for path in root.glob("chapters/*.ipynb")}
    sources |= {path: html / ASSIGNMENTS / path.name for path in root.glob("assignments/*/*.ipynb")}
    for source, target in sources.items():
        notebook = nbformat.read(source, as_version=4)
        if site:
            folder = source.parent.relative_to(root).as_posix()
            notebook = complete_notebook(notebook, folder, site, library)
        write_if_changed(target, notebook_text(notebook))
