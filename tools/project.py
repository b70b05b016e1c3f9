"""Where the project lives and which version it has, as pyproject.toml says."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Everything in Python but the chapters.
PYTHON_CODE = ("src", "tools", "tests", "benchmarks", "assignments", "_ext", "conftest.py")

_SETUP = """\
import sys

if "google.colab" in sys.modules:
    %pip install -q --no-deps "jaxbits @ git+{address}@v{version}"
    from jaxbits.runtime import report

    report()"""


def _project(root: Path) -> dict[str, object]:
    with (root / "pyproject.toml").open("rb") as file:
        project: dict[str, object] = tomllib.load(file)["project"]
    return project


def address(root: Path = ROOT) -> str:
    """The repository's address, without a slash at the end."""
    urls = _project(root)["urls"]
    assert isinstance(urls, dict)
    return str(urls["Repository"])


def version(root: Path = ROOT) -> str:
    """The package's version; its tag is this with a ``v`` before it."""
    return str(_project(root)["version"])


def site(repository: str) -> str:
    """The address of the published book of a repository on GitHub.

    Example:
        >>> site("https://github.com/jaxbits/jax-sharp-bits")
        'https://jaxbits.github.io/jax-sharp-bits/'
    """
    owner, name = repository.rstrip("/").split("/")[-2:]
    return f"https://{owner.lower()}.github.io/{name}/"


def setup_cell(root: Path = ROOT) -> str:
    """The first cell of every chapter: it installs this version in Colab, and nothing elsewhere."""
    return _SETUP.format(address=address(root), version=version(root))
