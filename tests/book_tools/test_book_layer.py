"""`make book` installs less than the tests, and building must not need more.

A process in which only the packages of the book's layer can be imported generates the pages and
loads what Sphinx loads.
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys

from book_tools.environment import bootstrap
from book_tools.project_metadata import ROOT

PROGRAM = """
import importlib, importlib.abc, sys
from pathlib import Path

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Blocker())
for module in MODULES:
    importlib.import_module(module)
from book_tools.pages import write_pages
write_pages.write_pages(Path.cwd())
"""


def blocked_modules() -> set[str]:
    """Return the modules that .venv contains, but that the book's layer does not install."""
    lock, projects, _ = bootstrap.LAYERS["book"]
    pins = re.findall(r"^([\w.-]+)==", (ROOT / lock).read_text("utf8"), re.MULTILINE)
    texts = [(ROOT / project / "pyproject.toml").read_text("utf8") for project in projects]
    own = [name for text in texts for name in re.findall(r'^name = "(.+)"', text, re.MULTILINE)]
    # venv itself installs pip and setuptools.
    installed = {normalize(name) for name in [*pins, *own, "pip", "setuptools"]}
    modules = importlib.metadata.packages_distributions()
    return {
        module
        for module, distributions in modules.items()
        if not installed & {normalize(distribution) for distribution in distributions}
    }


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def build_with_book_layer(blocked: set[str]) -> subprocess.CompletedProcess[str]:
    extensions = [f"_ext.{path.stem}" for path in sorted((ROOT / "_ext").glob("*.py"))]
    modules = [*extensions, "book_tools.website.build", "book_tools.lint"]
    program = f"BLOCKED = {sorted(blocked)!r}\nMODULES = {modules!r}\n{PROGRAM}"
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


def test_pages_need_only_packages_of_book_layer() -> None:
    blocked = blocked_modules()
    assert {"torch", "nbgrader", "pytest"} <= blocked, "these are not part of the book's layer"
    done = build_with_book_layer(blocked)
    assert done.returncode == 0, done.stderr


def test_missing_package_stops_build() -> None:
    done = build_with_book_layer({"jaxbits_grader"})
    assert "No module named 'jaxbits_grader'" in done.stderr
