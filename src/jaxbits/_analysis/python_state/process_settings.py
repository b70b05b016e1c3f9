"""Save, compare, and restore settings of the process that a function may change."""

from __future__ import annotations

import decimal
import gc
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxbits._analysis.python_state.state_values import (
    decimal_settings,
    restore_decimal_settings,
)


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # The directory has been deleted.
        return None


def _set_working_directory(folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)


def _set_decimal_context(settings: Mapping[str, Any]) -> None:
    restore_decimal_settings(decimal.getcontext(), settings)


_Accessors = tuple[Callable[[], Any], Callable[[Any], Any]]
_SETTINGS: dict[str, _Accessors] = {
    "decimal.setcontext": (
        lambda: decimal_settings(decimal.getcontext()),
        _set_decimal_context,
    ),
    "np.set_printoptions": (np.get_printoptions, lambda old: np.set_printoptions(**old)),
    "np.setbufsize": (np.getbufsize, np.setbufsize),
    "np.seterr": (np.geterr, lambda old: np.seterr(**old)),
    "np.seterrcall": (np.geterrcall, np.seterrcall),
    "gc.disable": (gc.isenabled, lambda was_on: gc.enable() if was_on else gc.disable()),
    "os.chdir": (_working_directory, _set_working_directory),
    "sys.setrecursionlimit": (sys.getrecursionlimit, sys.setrecursionlimit),
}
# Functions of modules that may not be imported: what changes the setting, and what reads it.
_OPTIONAL = {
    "calendar.setfirstweekday": "firstweekday",
    "csv.field_size_limit": "field_size_limit",
    "torch.set_default_dtype": "get_default_dtype",
    "torch.set_grad_enabled": "is_grad_enabled",
    "torch.set_num_threads": "get_num_threads",
}


class ProcessSettings:
    """A snapshot of settings of Python, NumPy, and PyTorch."""

    def __init__(self) -> None:
        self._accessors = _SETTINGS | _optional_settings()
        self._values = {name: read() for name, (read, _) in self._accessors.items()}

    def restore(self) -> list[str]:
        """Restore the settings, and return the names of the functions that changed them.

        Example:
            >>> settings = ProcessSettings()
            >>> sys.setrecursionlimit(sys.getrecursionlimit() + 1)
            >>> settings.restore(), settings.restore()
            (['sys.setrecursionlimit'], [])
        """
        changed = []
        for name, (read, write) in self._accessors.items():
            if read() != self._values[name]:
                write(self._values[name])
                changed.append(name)
        return changed


def _optional_settings() -> dict[str, _Accessors]:
    found: dict[str, _Accessors] = {}
    for name, reader in _OPTIONAL.items():
        module, _, writer = name.partition(".")
        if module in sys.modules and hasattr(sys.modules[module], reader):
            read, write = (getattr(sys.modules[module], part) for part in (reader, writer))
            found[name] = (read, write)
    if (matplotlib := sys.modules.get("matplotlib")) and hasattr(matplotlib, "rcParams"):
        parameters = matplotlib.rcParams
        # The methods of the class itself check values and warn about deprecated names.
        found["matplotlib.rcParams"] = (
            lambda: dict(dict.items(parameters)),
            lambda old: dict.update(parameters, old),
        )
    return found
