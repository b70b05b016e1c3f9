"""What pyproject.toml says about the project: its version and, once it has one, its address."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Everything in Python but the chapters.
PYTHON_CODE = ("src", "book_tools", "tests", "benchmarks", "assignments", "_ext", "conftest.py")

BRANCH = "gh-pages"
"""The branch that holds the published book: its pages, its notebooks and its wheels."""

_WHEEL = 'WHEEL = ""'
_SETUP = """\
import importlib.util
import subprocess
import sys
from importlib.metadata import distributions

WHEEL = ""  # the address of this book's library, in published notebooks
IN_COLAB = "google.colab" in sys.modules

problem = ""
is_missing = importlib.util.find_spec("jaxbits") is None
installed = distributions(name="jaxbits")
origins = [one.read_text("direct_url.json") or "" for one in installed]
is_outdated = any("/wheels/" in o and WHEEL not in o for o in origins)
if IN_COLAB and WHEEL and (is_missing or is_outdated):
    # Without dependencies: JAX, NumPy and PyTorch stay as Colab has them.
    install = [sys.executable, "-m", "pip", "install", "--no-deps"]
    install += ["--force-reinstall", WHEEL]
    if subprocess.run(install, capture_output=True).returncode != 0:
        problem = (
            f"Colab could not download this book's library from {WHEEL}. "
            "Run this cell again in a minute, or open the notebook again "
            "from its page in the book."
        )
    importlib.invalidate_caches()
elif is_missing:
    command = (
        f'%pip install "jaxbits[book] @ {WHEEL}"` in a new cell'
        if WHEEL
        else 'pip install ".[book]"` in a copy of the project'
    )
    problem = (
        "This book's library, jaxbits, is not installed here. "
        f"Run `{command}, and then restart the kernel."
    )
if problem:
    raise RuntimeError(problem)

from jaxbits.runtime import on_accelerator, report

if IN_COLAB or on_accelerator():
    report()"""


def _project(root: Path) -> dict[str, object]:
    with (root / "pyproject.toml").open("rb") as file:
        project: dict[str, object] = tomllib.load(file)["project"]
    return project


def address(root: Path = ROOT) -> str | None:
    """Return the repository's address without a slash at the end, None before it has one.

    `make address` sets it. Everything that needs an address derives it from this one.
    """
    urls = _project(root).get("urls", {})
    assert isinstance(urls, dict)
    found = urls.get("Repository")
    return None if found is None else str(found)


def version(root: Path = ROOT) -> str:
    """Return the version of jaxbits, which pyproject.toml takes from the package."""
    text = (root / "src" / "jaxbits" / "__init__.py").read_text("utf8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.M)
    if found is None:
        raise ValueError('src/jaxbits/__init__.py must contain a line __version__ = "..."')
    return found[1]


def site(repository: str) -> str:
    """Return the address of the published book of a repository on GitHub.

    Example:
        >>> site("https://github.com/Owner/name")
        'https://owner.github.io/name/'
    """
    owner, name = repository.rstrip("/").split("/")[-2:]
    return f"https://{owner.lower()}.github.io/{name}/"


def colab(repository: str, path: str) -> str:
    """Return the address that opens a notebook of the published book in Colab.

    Args:
        repository: the address of the repository.
        path: the notebook's path in the built book.

    Example:
        >>> colab("https://github.com/owner/name", "_sources/chapters/04.ipynb")
        'https://colab.research.google.com/github/owner/name/blob/gh-pages/_sources/chapters/04.ipynb'
    """
    slug = "/".join(repository.rstrip("/").split("/")[-2:])
    return f"https://colab.research.google.com/github/{slug}/blob/{BRANCH}/{path}"


def setup_cell(wheel: str = "") -> str:
    """Return the first cell of every chapter and assignment.

    Args:
        wheel: the address of the published library; empty in the repository's own notebooks.
    """
    return with_wheel(_SETUP, wheel)


def with_wheel(source: str, wheel: str) -> str:
    """Return a set-up cell with the address of the published library filled in.

    Example:
        >>> with_wheel('WHEEL = ""', "https://owner.github.io/name/wheels/a/jaxbits.whl")
        'WHEEL = "https://owner.github.io/name/wheels/a/jaxbits.whl"'
    """
    return source.replace(_WHEEL, f"WHEEL = {json.dumps(wheel)}", 1)
