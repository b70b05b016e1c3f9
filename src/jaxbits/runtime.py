"""What this is running on: versions, devices, and whether the book was tested there."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "torch")


def version(package: str) -> str | None:
    """Return the installed version of a package, or None where it is not installed.

    >>> version("no-such-package") is None
    True
    """
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages the book uses, those installed.

    Nothing is imported to find out.

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


@functools.cache
def repository() -> str:
    """Return the address of the project, as its package metadata states it.

    >>> repository().startswith("https://")
    True
    """
    for line in importlib.metadata.metadata("jaxbits").get_all("Project-URL") or ():
        label, _, address = line.partition(", ")
        if label == "Repository":
            return str(address).rstrip("/")
    raise LookupError("the installed package jaxbits names no Repository in its metadata")


def site() -> str:
    """Return the address of the published book, without a slash at its end.

    The book is published on the GitHub Pages of the repository.

    >>> site().count("/")
    3
    """
    owner, name = repository().split("/")[-2:]
    return f"https://{owner.lower()}.github.io/{name}"


def tested() -> list[Mapping[str, Any]]:
    """Return the environments in which every claim of the book was checked.

    Each has the keys ``python``, ``jax``, ``flax``, ``backend`` and more; `make versions` records
    them.
    """
    recorded = files("jaxbits").joinpath("recorded", "tested.json")
    environments: list[Mapping[str, Any]] = json.loads(recorded.read_text("utf8"))["environments"]
    return environments


def verdict(jax_version: str, on: str, environments: list[Mapping[str, Any]]) -> str:
    """Say in one line how the given JAX version and backend relate to what was tested.

    >>> tried = [{"jax": "0.7.2", "backend": "cpu"}, {"jax": "0.10.2", "backend": "cpu"}]
    >>> verdict("0.10.2", "cpu", tried)
    'Every claim of the book was checked on jax 0.10.2, cpu.'
    >>> verdict("0.8.0", "gpu", tried)
    'The book was checked on jax 0.7.2 (cpu), 0.10.2 (cpu), not on 0.8.0 (gpu): outputs may differ.'
    """
    if any(e["jax"] == jax_version and e["backend"] == on for e in environments):
        return f"Every claim of the book was checked on jax {jax_version}, {on}."
    known = ", ".join(f"{e['jax']} ({e['backend']})" for e in environments) or "no version yet"
    return f"The book was checked on jax {known}, not on {jax_version} ({on}): outputs may differ."


def report() -> None:
    """Print the versions and devices in use, and whether the book was checked on them."""
    import jax

    on = backend()
    print("jaxbits", version("jaxbits"), "·", ", ".join(f"{k} {v}" for k, v in versions().items()))
    print("devices:", ", ".join(f"{d.device_kind} {d.id}" for d in jax.devices()))
    print(verdict(jax.__version__, on, tested()))
