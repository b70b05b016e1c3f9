"""State of the whole process that a function may change, and how to put it back."""

from __future__ import annotations

import builtins
import os
import random
import sys
from typing import Any

import numpy as np

from jaxbits import _jax_compat


class Process:
    """What belongs to the process and not to the function's own state, as it is now."""

    def __init__(self) -> None:
        self.hook = sys.getprofile()
        self.streams = sys.stdout, sys.stderr, sys.stdin
        self.input = builtins.input
        self.numpy, self.random = np.random.get_state(legacy=False), random.getstate()
        self.environment, self.folder = dict(os.environ), _folder()
        self.recursion, self.errors = sys.getrecursionlimit(), np.geterr()
        self.config = _jax_compat.config_values()

    def back(self) -> bool:
        """Put it back; return whether NumPy's own generator gave numbers."""
        sys.setprofile(self.hook)
        sys.stdout, sys.stderr, sys.stdin = self.streams
        builtins.input = self.input
        drawn = not _same_state(self.numpy, np.random.get_state(legacy=False))
        if drawn:
            np.random.set_state(self.numpy)
        random.setstate(self.random)
        if os.environ != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        if sys.getrecursionlimit() != self.recursion:
            sys.setrecursionlimit(self.recursion)
        if self.folder and _folder() != self.folder:
            os.chdir(self.folder)
        np.seterr(**self.errors)
        _jax_compat.set_config(self.config)
        return drawn


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def _same_state(a: Any, b: Any) -> bool:
    return bool(a["state"]["pos"] == b["state"]["pos"]) and bool(
        np.array_equal(a["state"]["key"], b["state"]["key"])
    )
