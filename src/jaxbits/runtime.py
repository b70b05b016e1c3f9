"""Report the versions and devices in use, and what the book says about them."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import platform
import sys
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "torch")
"""The packages whose versions `versions` returns."""


def version(package: str) -> str | None:
    """Return the installed version of a package, or None if it is not installed.

    >>> version("no-such-package") is None
    True
    """
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Return the versions of Python and the installed `PACKAGES` without importing the packages.

    >>> sorted(versions())[:2]
    ['flax', 'jax']
    """
    installed = {name: version(name) for name in PACKAGES}
    return {"python": platform.python_version()} | {k: v for k, v in installed.items() if v}


def backend() -> str:
    """Return JAX's default backend: ``"cpu"``, ``"gpu"``, or ``"tpu"``."""
    import jax

    return str(jax.default_backend())


def on_accelerator() -> bool:
    """Return whether JAX's default backend is a GPU or a TPU.

    If no accelerator plugin is installed, this function does not import JAX, so a chapter can still
    set options that JAX reads when it is imported.
    """
    # These are the places where JAX itself looks for plugins:
    # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/xla_bridge.py
    has_plugin = bool(importlib.metadata.entry_points(group="jax_plugins"))
    modules = ("jax_plugins", "libtpu")
    has_plugin |= any(importlib.util.find_spec(module) is not None for module in modules)
    return has_plugin and backend() != "cpu"


@functools.cache
def _published() -> Mapping[str, str]:
    """Return the URLs stored in a published book's wheel, or an empty mapping in other copies."""
    file = files("jaxbits").joinpath("published.json")
    published: Mapping[str, str] = json.loads(file.read_text("utf8")) if file.is_file() else {}
    return published


def repository() -> str | None:
    """Return the URL of the project's repository, or None if this copy is not published.

    Only the wheel that a published book installs contains the URL.

    >>> repository() is None
    True
    """
    return _published().get("repository")


def site() -> str | None:
    """Return the URL of the published book, or None if this copy is not published.

    The URL does not end with a slash.

    >>> site() is None
    True
    """
    address = _published().get("site")
    return address and address.rstrip("/")


def tested() -> list[Mapping[str, Any]]:
    """Return the environments in which every claim in the book was checked.

    Each environment has the keys ``python``, ``jax``, ``flax``, and ``backend``, among others.
    `make versions` records the environments.
    """
    file = files("jaxbits").joinpath("tested.json")
    environments: list[Mapping[str, Any]] = json.loads(file.read_text("utf8"))["environments"]
    return environments


def describe_test_coverage(jax_version: str, on: str, environments: list[Mapping[str, Any]]) -> str:
    """Return one sentence that says whether the book was checked on this version and backend.

    Args:
        jax_version: The version of JAX.
        on: The backend, as `backend` returns it.
        environments: The environments in which the book was checked, as `tested` returns them.

    >>> tried = [{"jax": "0.7.2", "backend": "cpu"}, {"jax": "0.10.2", "backend": "cpu"}]
    >>> describe_test_coverage("0.10.2", "cpu", tried)
    'Every claim in the book was checked on jax 0.10.2 (cpu).'
    >>> describe_test_coverage("0.8.0", "gpu", tried[1:])
    'The book was checked on jax 0.10.2 (cpu), but not on 0.8.0 (gpu), so outputs may differ.'
    """
    if any(e["jax"] == jax_version and e["backend"] == on for e in environments):
        return f"Every claim in the book was checked on jax {jax_version} ({on})."
    known = ", ".join(f"{e['jax']} ({e['backend']})" for e in environments) or "no version yet"
    return (
        f"The book was checked on jax {known}, but not on {jax_version} ({on}), "
        "so outputs may differ."
    )


def device() -> str:
    """Return a short description of JAX's devices, with a count if there is more than one.

    >>> device()
    'CPU'
    """
    import jax

    devices = jax.devices()
    platform, name = devices[0].platform.upper(), devices[0].device_kind
    count = f"{len(devices)} x " if len(devices) > 1 else ""
    return f"{count}{platform}" if name.upper() == platform else f"{count}{platform} ({name})"


_CHOOSE = (
    "To use another device, choose Runtime > Change runtime type, select a CPU, a GPU, or a TPU,",
    "and run the notebook again from the top.",
)
_RUN_ALL = (
    'Some cells raise an error on purpose and say so in a comment ("# raises: TypeError").',
    'If "Run all" stops at one, select the cell below it and choose Runtime > Run cell and below.',
)


def report() -> None:
    """Print the versions and the device in use, and what the book says about them.

    The report says whether the book was checked on this version and device, and what differs on a
    GPU or a TPU. In Colab, it also says how to choose a device and how to continue after a cell
    that raises an error on purpose.
    """
    import jax

    from jaxbits import __version__
    from jaxbits._accelerators import differences

    on = backend()
    print("jaxbits", __version__, "with", ", ".join(f"{k} {v}" for k, v in versions().items()))
    print(f"Device: {device()}")
    print(describe_test_coverage(jax.__version__, on, tested()))
    if lines := differences(on):
        print(f"What the book says about a {on.upper()}:")
        for line in lines:
            print(f"  - {line}")
    if "google.colab" in sys.modules:
        print(*_CHOOSE, *_RUN_ALL, sep="\n")
