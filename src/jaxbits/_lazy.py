"""Public names that are imported when they are first used."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach_stub(
    package: str, file: str, submodules: frozenset[str] = frozenset()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__`, and `__all__` for a package with lazy public names.

    The names and their modules are read from the package's stub, which type checkers read, too.
    Each line of the stub has the form ``from package._module import name as name``.

    Args:
        package: The name of the package, `__name__`.
        file: The path of its `__init__.py`, `__file__`. The stub is the `.pyi` file next to it.
        submodules: Public modules that become attributes of the package when they are first used.

    Returns:
        The two functions and the list of names, in the order of the stub.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text("utf8"))
    homes = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module and node.module != package
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name in submodules:
            return importlib.import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return get, lambda: sorted(homes), list(homes)
