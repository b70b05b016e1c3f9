"""Give tests private copies of the libraries' public modules.

A submission can assign to ``np.allclose`` and restore it before the grader looks again. This does
not affect a test that calls functions through a copy of the module. A copy shares all functions,
classes, and settings with its module. Only the names are its own.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

_COPIED = ("numpy", "jax", "flax", "optax")


class _Copy(ModuleType):
    """A copy of a module. Submodules that are imported later come from the module itself."""

    def __init__(self, original: ModuleType) -> None:
        super().__init__(original.__name__)
        vars(self).update(vars(original))
        # Keep the original out of the copy's names, which code may list.
        _originals[id(self)] = original

    def __getattr__(self, name: str) -> Any:
        return getattr(_originals[id(self)], name)


_copies: dict[str, _Copy] = {}
_originals: dict[int, ModuleType] = {}  # By the id of the copy.


def copy_of(value: Any) -> Any:
    """Return the copy of a library's module, and any other value unchanged.

    Example:
        >>> import numpy
        >>> copy = copy_of(numpy)
        >>> copy is numpy, copy.allclose is numpy.allclose, copy is copy_of(numpy)
        (False, True, True)
        >>> copy_of(1)
        1
    """
    if type(value) is not ModuleType or value.__name__.partition(".")[0] not in _COPIED:
        return value
    if value.__name__ not in _copies:
        copy = _copies[value.__name__] = _Copy(value)
        for name, part in list(vars(value).items()):
            # Tests reach only public submodules.
            is_submodule = getattr(part, "__name__", "") == f"{value.__name__}.{name}"
            if is_submodule and not name.startswith("_"):
                setattr(copy, name, copy_of(part))
    return _copies[value.__name__]


def original_of(value: Any) -> Any:
    """Return a copy's original module, and any other value unchanged.

    A test that patches a module to see what an answer calls needs the module itself.

    Example:
        >>> import numpy
        >>> original_of(copy_of(numpy)) is numpy
        True
    """
    return _originals.get(id(value), value)


def use_copies(module: ModuleType) -> None:
    """Let the code of a module use copies of the libraries' modules.

    Args:
        module: The module, whose references to these modules are replaced.
    """
    for name, value in list(vars(module).items()):
        if (copy := copy_of(value)) is not value:
            setattr(module, name, copy)
