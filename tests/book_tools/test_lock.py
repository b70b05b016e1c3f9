"""Test that the lock files agree with each other and satisfy every project's dependencies."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from book_tools.environment import lock, pins

pytestmark = pytest.mark.slow

ROOT = pins.ROOT
LOCKS = ("requirements.txt", "requirements-book.txt")


def direct_dependencies(name: str) -> list[tuple[str, str]]:
    """Return the package name and the comment on each line of a .in file."""
    lines = (ROOT / name).read_text("utf8").splitlines()
    dependencies = [line for line in lines if line and line[0] not in "#-"]
    parts = [line.partition("#") for line in dependencies]
    return [(Requirement(left.strip()).name, right.strip()) for left, _, right in parts]


def projects() -> list[Path]:
    return [ROOT / "pyproject.toml", *ROOT.glob("grader/pyproject.toml")]


def test_book_lock_is_subset_of_full_lock() -> None:
    full, book = (pins.read_pins(ROOT / name) for name in LOCKS)
    assert book.items() < full.items()
    assert {"jax", "jupyter-book"} <= set(book)
    assert not {"torch", "nbgrader", "playwright", "pytest"} & set(book)


@pytest.mark.parametrize("name", ["requirements.in", "requirements-book.in"])
def test_direct_dependencies_have_reasons_and_pins(name: str) -> None:
    locked = pins.read_pins(ROOT / name.replace(".in", ".txt"))
    for dependency, reason in direct_dependencies(name):
        assert reason, f"{name}: {dependency} needs a comment that says what it is for"
        assert canonicalize_name(dependency) in locked, "run: make lock"


@pytest.mark.parametrize("name", LOCKS)
def test_pins_name_packages_that_need_them(name: str) -> None:
    text = (ROOT / name).read_text("utf8")
    annotated = re.findall(r"^([\w.-]+)==.*\n +# via", text, re.M)
    assert len(annotated) == len(pins.read_pins(ROOT / name))
    assert "--" not in re.sub("#.*", "", text), "must not contain an option such as an index URL"


def test_lock_pins_torch_without_cuda_build() -> None:
    assert re.fullmatch(r"[\d.]+", pins.read_pins()["torch"])
    assert not lock._CUDA.search(pins.LOCK.read_text("utf8"))
    assert lock._CUDA.search("\nnvidia-cublas-cu12==12.8.4.1\n")


def test_lock_satisfies_dependencies_of_all_projects() -> None:
    locked = pins.read_pins()
    for path in projects():
        project = tomllib.loads(path.read_text("utf8"))["project"]
        groups = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
        for requirement in (Requirement(text) for group in groups for text in group):
            name = canonicalize_name(requirement.name)
            if not name.startswith("jaxbits"):
                assert name in locked, f"{path}: {name} is missing from requirements.in"
                assert requirement.specifier.contains(locked[name]), f"{path}: {requirement}"


def test_compile_locks_requires_locked_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "PYTHON", (3, 99))
    with pytest.raises(lock.LockError, match=r"must be compiled with Python 3\.99, got 3\."):
        lock.compile_locks([])


def imported_packages(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the top-level module name and the file of each import in a folder."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            yield from ((name.partition(".")[0], str(path)) for name in names)


def test_imported_packages_are_direct_dependencies() -> None:
    names = [*direct_dependencies("requirements.in"), *direct_dependencies("requirements-book.in")]
    direct = {canonicalize_name(name) for name, _ in names} | {"jaxbits", "jaxbits-grader"}
    distributions = metadata.packages_distributions()
    for folder in ("src", "grader", "book_tools", "_ext", "tests", "benchmarks"):
        for name, path in imported_packages(folder):
            candidates = {canonicalize_name(found) for found in distributions.get(name, [])}
            if candidates and name not in sys.stdlib_module_names:
                assert candidates & direct, f"{path}: {name} is missing from requirements.in"
