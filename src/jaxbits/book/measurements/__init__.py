"""Runs that were measured once and recorded: figures are drawn from these, never from a new timing.

`make bench` writes the files; each names the machine, the versions and the date.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def load(name: str) -> dict[str, Any]:
    """Return a recorded run.

    Args:
        name: the file's name without its ending, such as ``"jit_speed"``.

    Raises:
        FileNotFoundError: naming the runs that there are, when there is none of that name.

    >>> load("jit_speed")["results"]["forward, jit"]["unit"]
    'µs'
    """
    folder = files("jaxbits.book.measurements")
    file = folder.joinpath(f"{name}.json")
    if not file.is_file():
        known = sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".json"))
        raise FileNotFoundError(f"no recorded run {name!r}; there are {', '.join(known)}")
    run: dict[str, Any] = json.loads(file.read_text("utf8"))
    return run


def machine(run: dict[str, Any]) -> str:
    """Return in a line where and with what a run was recorded."""
    made = run["machine"]
    with_jax = f"jax {run['versions']['jax']}"
    return f"{made['cpu']}, {made['cores']} cores, {with_jax}, {run['date']}"
