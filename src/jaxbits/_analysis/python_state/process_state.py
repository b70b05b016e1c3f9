"""Save and restore the process-wide state that a function may change."""

from __future__ import annotations

import builtins
import os
import random
import sys
from typing import Any

import numpy as np

from jaxbits import _jax_compat
from jaxbits._analysis.python_state.process_settings import ProcessSettings


class ProcessState:
    """A snapshot of the process's streams, random generators, environment, and settings."""

    def __init__(self) -> None:
        self.hook = sys.getprofile()
        self.streams = sys.stdout, sys.stderr, sys.stdin
        self.input = builtins.input
        self.numpy_generator, self.random = np.random.get_state(legacy=False), random.getstate()
        self.torch_generator = _torch_generator_state()
        self.environment, self.settings = dict(os.environ), ProcessSettings()
        self.config = _jax_compat.config_values()

    def restore(self) -> list[str]:
        """Restore the state, and name what was used or changed.

        Returns:
            The modules whose global generator was used, and the functions that change settings.
        """
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
        _jax_compat.set_config(self.config)
        return used + self.settings.restore()


def _torch_generator_state() -> Any:
    """Return the state of PyTorch's generator for the CPU, or None if it is not imported."""
    read = getattr(sys.modules.get("torch"), "get_rng_state", None)
    return None if read is None else read().numpy().copy()


def _same_state(a: Any, b: Any) -> bool:
    return bool(a["state"]["pos"] == b["state"]["pos"]) and bool(
        np.array_equal(a["state"]["key"], b["state"]["key"])
    )
