"""The kernel that chapters run in: this interpreter, with the same settings everywhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import ipykernel.kernelspec
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

# Settings of the reader's shell that would change what a chapter prints.
_DROPPED = ("JAX_", "XLA_", "FLAX_", "PYTHON", "MPLBACKEND", "MATPLOTLIBRC", "FORCE_COLOR")
_SET = {"JAX_PLATFORMS": "cpu", "COLUMNS": "80", "PYTHONHASHSEED": "0", "NO_COLOR": "1"}


def environment(scratch: str, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment variables a chapter runs with.

    Args:
        scratch: an empty folder, so that nobody's IPython profile or start-up file takes part.
        inherited: the variables to begin with.
    """
    kept = {key: value for key, value in inherited.items() if not key.startswith(_DROPPED)}
    return kept | _SET | {"IPYTHONDIR": scratch, "JUPYTER_CONFIG_DIR": scratch}


class _ThisInterpreter(KernelSpecManager):
    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The kernel of this interpreter, whatever the name and whatever is installed."""
        spec: dict[str, Any] = ipykernel.kernelspec.get_kernel_dict()
        return KernelSpec(resource_dir=ipykernel.kernelspec.RESOURCES, **spec)


class ChapterKernel(AsyncKernelManager):
    """A kernel manager that does not look at installed kernel specifications."""

    def _kernel_spec_manager_default(self) -> KernelSpecManager:
        return _ThisInterpreter()
