"""Start the kernel that executes chapters, with the same settings on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ipykernel.kernelspec
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from book_tools.processes import clean_environment

# Environment variables with these prefixes would change what a chapter prints.
_DROPPED = ("PYTHON", "MPLBACKEND", "MATPLOTLIBRC", "FORCE_COLOR")
_SET = {"JAX_PLATFORMS": "cpu", "COLUMNS": "80", "PYTHONHASHSEED": "0", "NO_COLOR": "1"}


def kernel_environment(scratch: str, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables for executing a chapter.

    Args:
        scratch: An empty folder, so that the kernel does not use the user's IPython profile or
            startup files.
        inherited: The variables to start from. By default, these are this process's variables.
    """
    kept = clean_environment(*_DROPPED, inherited=inherited)
    return kept | _SET | {"IPYTHONDIR": scratch, "JUPYTER_CONFIG_DIR": scratch}


class _OneKernel(KernelSpecManager):
    """A kernel spec manager that ignores the kernels installed on this machine."""

    def __init__(self, spec: KernelSpec) -> None:
        super().__init__()
        self.spec = spec

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Return the same kernel for any name."""
        return self.spec


def kernel_manager_of(spec: KernelSpec) -> type[AsyncKernelManager]:
    """Return a kernel manager class that always starts the given kernel."""

    class Manager(AsyncKernelManager):
        def _kernel_spec_manager_default(self) -> KernelSpecManager:
            return _OneKernel(spec)

    return Manager


def kernel_manager_for(python: Path) -> type[AsyncKernelManager]:
    """Return a kernel manager class that starts ipykernel in a given interpreter."""
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    return kernel_manager_of(KernelSpec(argv=argv, display_name="Python 3", language="python"))


def _own_spec() -> KernelSpec:
    spec: dict[str, Any] = ipykernel.kernelspec.get_kernel_dict()
    return KernelSpec(resource_dir=ipykernel.kernelspec.RESOURCES, **spec)


ChapterKernel = kernel_manager_of(_own_spec())
"""The kernel manager class that starts this interpreter's own kernel."""
