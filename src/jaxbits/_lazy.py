"""Import a package's public names when they are first used.

The method is described in https://scientific-python.org/specs/spec-0001/. The package `lazy_loader`
also implements it, but it would be one more package to install in a notebook.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach_stub(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__`, and `__all__` for a package with lazy public names.

    The public names are listed in a stub file, which type checkers also read. Each line of the stub
    imports either one name from a module (``from package._module import name as name``) or a public
    module (``from package import module as module``).

    Args:
        package: The package's `__name__`.
        file: The package's `__file__`. The stub is the `.pyi` file next to it.

    Returns:
        The two functions, and the list of names in the order in which the stub imports them.
        `__dir__` also lists the public modules. `__all__` does not, so that a star import does not
        require any optional library.

    Raises:
        FileNotFoundError: If the package has no stub.
    """
    modules: set[str] = set()
    homes: dict[str, str] = {}
    for line in ast.parse(Path(file).with_suffix(".pyi").read_text("utf8")).body:
        if isinstance(line, ast.ImportFrom):
            for imported in line.names:
                if line.module == package:
                    modules.add(imported.name)
                else:
                    homes[imported.name] = str(line.module)

    def __getattr__(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name in homes:
            return getattr(importlib.import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted([*homes, *modules])

    return __getattr__, __dir__, list(homes)
