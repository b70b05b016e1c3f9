"""Read the lock, and compare it with this environment."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.txt"
PYTHON = (3, 11)

DECISIVE = ("jax", "jaxlib", "flax", "optax", "numpy", "matplotlib", "torch", "ipython")
"""The packages whose versions affect the outputs of chapters."""


def read_pins(lock: Path = LOCK) -> dict[str, str]:
    """Return the version of each package in the lock, keyed by normalized name."""
    pins = re.findall(r"^([\w.-]+)==([\w.+!]+)", lock.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins}


def installed_version(name: str) -> str | None:
    """Return a package's version in this environment, or None if it is not installed.

    The build label is omitted. For example, the CPU build 2.13.0+cpu gives 2.13.0.
    """
    try:
        return metadata.version(name).split("+")[0]
    except metadata.PackageNotFoundError:
        return None


def find_missing(lock: Path = LOCK) -> list[str]:
    """Return the decisive packages that are in the lock but not in this environment."""
    return [name for name in DECISIVE if name in read_pins(lock) and not installed_version(name)]


def find_departures(lock: Path = LOCK, python: tuple[int, ...] = sys.version_info[:2]) -> list[str]:
    """Return how this environment differs from the locked one, with one phrase per difference.

    Args:
        lock: The path of the lock.
        python: The version of Python in this environment.
    """
    departures = []
    if python[:2] != PYTHON:
        departures.append("Python {}.{} instead of {}.{}".format(*python[:2], *PYTHON))
    pins = read_pins(lock)
    for name in DECISIVE:
        installed = installed_version(name)
        if name in pins and installed != pins[name]:
            departures.append(f"{name} {installed or 'missing'} instead of {pins[name]}")
    return departures
