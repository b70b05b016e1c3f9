"""Let autodoc import `jaxbits.xor` without PyTorch, which the book's build does not install.

Sphinx's own ``autodoc_mock_imports`` is not sufficient here. A class that inherits from one of its
mocks loses its signature, and a mocked generic type such as ``DataLoader[Any]`` loses its brackets.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Generic, TypeVar

from sphinx.application import Sphinx

T = TypeVar("T")


class StubModule(types.ModuleType):
    """A module whose capitalized names are empty generic classes; other names are submodules."""

    __path__: Sequence[str] = ()

    def __getattr__(self, name: str) -> type | types.ModuleType:
        # Python looks up some private names, such as __file__, on every module.
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name.islower():
            return importlib.import_module(f"{self.__name__}.{name}")
        members = {"__module__": self.__name__}
        stub = types.new_class(name, (Generic[T],), {}, lambda body: body.update(members))
        setattr(self, name, stub)
        return stub


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An import hook that provides a package and its submodules as stub modules."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec if the module is in the package, or None otherwise."""
        if fullname.partition(".")[0] != self.package:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> StubModule:
        """Return an empty stub module with the name in the spec."""
        return StubModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing, because a stub has no code."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    # The stub also replaces an installed PyTorch, so that every environment builds the same pages.
    if "torch" not in sys.modules:
        sys.meta_path.insert(0, StubFinder("torch"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
