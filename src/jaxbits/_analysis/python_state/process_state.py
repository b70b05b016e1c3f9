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
        self.torch_generator = _torch_generator_state()
        self.environment, self.working_directory = dict(os.environ), _working_directory()
        self.recursion_limit, self.numpy_errors = sys.getrecursionlimit(), np.geterr()
        self.config = _jax_compat.config_values()

    def restore(self) -> list[str]:
        """Restore the state, and name the modules whose global generator was used."""
        sys.setprofile(self.hook)
        sys.stdout, sys.stderr, sys.stdin = self.streams
        builtins.input = self.input
        used = []
        if not _same_state(self.numpy_generator, np.random.get_state(legacy=False)):
            np.random.set_state(self.numpy_generator)
            used.append("numpy.random")
        # If PyTorch was imported only in the meantime, there is no earlier state.
        before = self.torch_generator
        if before is not None and not np.array_equal(before, _torch_generator_state()):
            torch = sys.modules["torch"]
            torch.set_rng_state(torch.from_numpy(before))
            used.append("torch.random")
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
        return used


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # The directory has been deleted.
        return ""


def _torch_generator_state() -> Any:
    """Return the state of PyTorch's generator for the CPU, or None if it is not imported."""
    read = getattr(sys.modules.get("torch"), "get_rng_state", None)
    return None if read is None else read().numpy().copy()


def _same_state(a: Any, b: Any) -> bool:
    return bool(a["state"]["pos"] == b["state"]["pos"]) and bool(
        np.array_equal(a["state"]["key"], b["state"]["key"])
    )
