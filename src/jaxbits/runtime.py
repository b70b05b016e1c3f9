"""Report versions and devices, what the book says about them, and the book's address."""

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
    """Return the versions of Python and of those packages of the book that are installed.

    No package is imported for this.

    >>> sorted(versions())[:2]
    ['flax', 'jax']
    """
    found = {"python": platform.python_version()}
    found |= {name: seen for name in PACKAGES if (seen := version(name)) is not None}
    return found


def backend() -> str:
    """Return JAX's default backend: ``"cpu"``, ``"gpu"`` or ``"tpu"``."""
    import jax

    return str(jax.default_backend())


def on_accelerator() -> bool:
    """Return whether JAX's default backend is a GPU or a TPU.

    If JAX has no plug-in for an accelerator, this function does not even import JAX, because a
    chapter may still have to set options that JAX reads when it is imported.
    """
    has_plugin = bool(importlib.metadata.entry_points(group="jax_plugins"))
    modules = ("jax_plugins", "libtpu")
    has_plugin |= any(importlib.util.find_spec(module) is not None for module in modules)
    return has_plugin and backend() != "cpu"


@functools.cache
def _published() -> Mapping[str, str]:
    """Return what the published wheel records about its publication, or {} in any other copy."""
    file = files("jaxbits").joinpath("published.json")
    published: Mapping[str, str] = json.loads(file.read_text("utf8")) if file.is_file() else {}
    return published


def repository() -> str | None:
    """Return the address of the project's repository, or None if this copy was not published.

    Only the wheel of a published book contains an address.

    >>> repository() is None
    True
    """
    return _published().get("repository")


def site() -> str | None:
    """Return the address of the published book without a slash at its end.

    The result is None if this copy of the library does not come from a published book.

    >>> site() is None
    True
    """
    address = _published().get("site")
    return address and address.rstrip("/")


def tested() -> list[Mapping[str, Any]]:
    """Return the environments in which every claim of the book was checked.

    Each has the keys ``python``, ``jax``, ``flax``, ``backend`` and more; `make versions` records
    them.
    """
    recorded = files("jaxbits").joinpath("tested.json")
    environments: list[Mapping[str, Any]] = json.loads(recorded.read_text("utf8"))["environments"]
    return environments


def verdict(jax_version: str, on: str, environments: list[Mapping[str, Any]]) -> str:
    """Say in one line how the given JAX version and backend relate to what was tested.

    >>> tried = [{"jax": "0.7.2", "backend": "cpu"}, {"jax": "0.10.2", "backend": "cpu"}]
    >>> verdict("0.10.2", "cpu", tried)
    'Every claim in the book was checked on jax 0.10.2 (cpu).'
    >>> verdict("0.8.0", "gpu", tried[1:])
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
    """Describe the devices that JAX uses.

    >>> device()
    'CPU'
    """
    import jax

    found = jax.devices()
    kind = found[0].platform.upper()
    name = found[0].device_kind
    several = f"{len(found)} x " if len(found) > 1 else ""
    return f"{several}{kind}" if name.upper() == kind else f"{several}{kind} ({name})"


_CHOOSE = (
    "To use another device, choose Runtime > Change runtime type, select a CPU, a GPU or a TPU,",
    "and run the notebook again from the top.",
)
_RUN_ALL = (
    'Some cells raise an error on purpose and say so in a comment ("# raises: TypeError").',
    'If "Run all" stops at one, select the cell below it and choose Runtime > Run cell and below.',
)


def report() -> None:
    """Print the versions and the device in use, and what the book says about them.

    The report says whether the book was checked on this version and device, and what differs
    on a GPU or TPU. In Colab it also says how to choose a device, and how to go on after a cell
    that raises on purpose.
    """
    import jax

    from jaxbits._accelerators import differences

    on = backend()
    print(
        "jaxbits", version("jaxbits"), "with", ", ".join(f"{k} {v}" for k, v in versions().items())
    )
    print(f"Device: {device()}")
    print(verdict(jax.__version__, on, tested()))
    if lines := differences(on):
        print(f"What the book says about a {on.upper()}:")
        for line in lines:
            print(f"  - {line}")
    if "google.colab" in sys.modules:
        print(*_CHOOSE, *_RUN_ALL, sep="\n")
