"""Provide the project's folders, version, and addresses to the programs that need them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# These folders and files contain all Python code except the chapters.
PYTHON_CODE = (
    "src",
    "grader",
    "book_tools",
    "tests",
    "benchmarks",
    "assignments",
    "_ext",
    "conftest.py",
)

BRANCH = "gh-pages"
"""The branch that contains the pages, notebooks, and wheels of the published book."""


def _project(root: Path) -> dict[str, object]:
    with (root / "pyproject.toml").open("rb") as file:
        project: dict[str, object] = tomllib.load(file)["project"]
    return project


def repository_url(root: Path = ROOT) -> str | None:
    """Return the repository's address without a trailing slash, or None if it has no address.

    `make address` sets this address. All other addresses are derived from it.
    """
    urls = _project(root).get("urls", {})
    assert isinstance(urls, dict)
    found = urls.get("Repository")
    return None if found is None else str(found)


def package_version(root: Path = ROOT) -> str:
    """Return the version of jaxbits, which pyproject.toml also reads from the package."""
    text = (root / "src" / "jaxbits" / "__init__.py").read_text("utf8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.M)
    if found is None:
        raise ValueError('src/jaxbits/__init__.py must contain a line __version__ = "..."')
    return found[1]


def site_url(repository: str) -> str:
    """Return the address of a GitHub repository's published book.

    Example:
        >>> site_url("https://github.com/Owner/name")
        'https://owner.github.io/name/'
    """
    owner, name = repository.rstrip("/").split("/")[-2:]
    return f"https://{owner.lower()}.github.io/{name}/"


def colab_url(repository: str, path: str) -> str:
    """Return the address that opens a notebook from the published book in Colab.

    Args:
        repository: The address of the repository.
        path: The notebook's path in the built book.

    Example:
        >>> colab_url("https://github.com/owner/name", "_sources/chapters/04.ipynb")
        'https://colab.research.google.com/github/owner/name/blob/gh-pages/_sources/chapters/04.ipynb'
    """
    slug = "/".join(repository.rstrip("/").split("/")[-2:])
    return f"https://colab.research.google.com/github/{slug}/blob/{BRANCH}/{path}"
