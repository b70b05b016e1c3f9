"""Save and restore the process-wide state that a function may change."""

from __future__ import annotations

import builtins
import os
import random
import sys
from typing import Any

import numpy as np

from jaxbits import _jax_compat


class ProcessState:
    """A snapshot of the process's streams, random generators, environment, and settings."""

    def __init__(self) -> None:
        self.hook = sys.getprofile()
        self.streams = sys.stdout, sys.stderr, sys.stdin
        self.input = builtins.input
        self.numpy_generator, self.random = np.random.get_state(legacy=False), random.getstate()
        self.environment, self.working_directory = dict(os.environ), _working_directory()
        self.recursion_limit, self.numpy_errors = sys.getrecursionlimit(), np.geterr()
        self.config = _jax_compat.config_values()

    def restore(self) -> bool:
        """Restore the state, and return whether NumPy's global generator has been used since."""
        sys.setprofile(self.hook)
        sys.stdout, sys.stderr, sys.stdin = self.streams
        builtins.input = self.input
        was_drawn_from = not _same_state(self.numpy_generator, np.random.get_state(legacy=False))
        if was_drawn_from:
            np.random.set_state(self.numpy_generator)
        random.setstate(self.random)
        if os.environ != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        if sys.getrecursionlimit() != self.recursion_limit:
            sys.setrecursionlimit(self.recursion_limit)
        if self.working_directory and _working_directory() != self.working_directory:
            os.chdir(self.working_directory)
        np.seterr(**self.numpy_errors)
        _jax_compat.set_config(self.config)
        return was_drawn_from


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # The directory has been deleted.
        return ""


def _same_state(a: Any, b: Any) -> bool:
    return bool(a["state"]["pos"] == b["state"]["pos"]) and bool(
        np.array_equal(a["state"]["key"], b["state"]["key"])
    )
