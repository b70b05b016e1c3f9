"""The lock, and whether this environment is the one it describes."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.txt"
PYTHON = (3, 11)

# The packages that leave marks in a chapter's outputs.
DECISIVE = ("jax", "jaxlib", "flax", "optax", "numpy", "matplotlib", "torch", "ipython")


def read(lock: Path = LOCK) -> dict[str, str]:
    """The exact versions in the lock, by lower-case name."""
    pins = re.findall(r"^([\w.-]+)==([\w.+!]+)", lock.read_text(encoding="utf-8"), re.M)
    return {name.lower().replace("_", "-"): version for name, version in pins}


def departures(lock: Path = LOCK, python: tuple[int, ...] = sys.version_info[:2]) -> list[str]:
    """How this environment differs from the locked one; an empty list when it does not."""
    found = []
    if python[:2] != PYTHON:
        found.append("Python {}.{} instead of {}.{}".format(*python[:2], *PYTHON))
    pins = read(lock)
    for name in DECISIVE:
        if name not in pins:
            continue
        try:
            # "2.13.0+cpu" is the CPU build of 2.13.0
            here = metadata.version(name).split("+")[0]
        except metadata.PackageNotFoundError:
            here = "none"
        if here != pins[name]:
            found.append(f"{name} {here} instead of {pins[name]}")
    return found
