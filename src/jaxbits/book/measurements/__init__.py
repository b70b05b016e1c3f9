"""Recorded measurements that the figures show.

`make bench` writes the files. Each file also names the machine, the versions, and the date.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def load(name: str) -> dict[str, Any]:
    """Return a recorded measurement.

    Args:
        name: The name of the file without ``.json``, such as ``"jit_speed"``.

    Raises:
        FileNotFoundError: If there is no such file. The message lists the names that exist.

    >>> load("jit_speed")["results"]["forward, jit"]["unit"]
    'µs'
    """
    folder = files("jaxbits.book.measurements")
    file = folder.joinpath(f"{name}.json")
    if not file.is_file():
        known = sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".json"))
        raise FileNotFoundError(f"name must be one of {', '.join(known)}; got {name!r}")
    run: dict[str, Any] = json.loads(file.read_text("utf8"))
    return run


def machine(run: dict[str, Any]) -> str:
    """Return a line with a measurement's CPU, number of cores, JAX version, and date."""
    computer = run["machine"]
    with_jax = f"jax {run['versions']['jax']}"
    return f"{computer['cpu']}, {computer['cores']} cores, {with_jax}, {run['date']}"
