"""Find Python interpreters of given versions on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path


class NotHere(LookupError):
    """Nothing on this machine will do; the message says what was looked for, in one line."""


def answer(python: str | Path, program: str, env: dict[str, str] | None = None) -> str | None:
    """Return what `program` prints under `python`, or None where it does not run."""
    try:
        done = subprocess.run(
            [str(python), "-c", program], capture_output=True, text=True, timeout=120, env=env
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def pyenv_root() -> Path | None:
    """Return pyenv's folder: what ``PYENV_ROOT`` or ``pyenv root`` says, or None without pyenv."""
    root = os.environ.get("PYENV_ROOT")
    if not root and (pyenv := shutil.which("pyenv")):
        done = subprocess.run([pyenv, "root"], capture_output=True, text=True)
        root = done.stdout.strip() if done.returncode == 0 else None
    return Path(root) if root else None


def candidates(version: str, root: Path | None) -> Iterator[Path]:
    """Yield the places where Python `version` (such as ``"3.13"``) may be, the likeliest first.

    A name on PATH is only a candidate: pyenv's shims have the name and fail when called.
    """
    for name in (f"python{version}", "python3", "python"):
        if found := shutil.which(name):
            yield Path(found)
    if root is not None:
        patches = [p for p in root.glob(f"versions/{version}.*") if p.name.split(".")[2:]]
        patches = [p for p in patches if p.name.removeprefix(f"{version}.").isdigit()]
        for patch in sorted(patches, key=lambda p: int(p.name.rpartition(".")[2]), reverse=True):
            yield patch / ("python.exe" if os.name == "nt" else f"bin/python{version}")


def find(versions: Sequence[str], root: Path | None = None) -> Path:
    """Return an interpreter of the first of `versions` that there is on this machine.

    Raises:
        NotHere: when there is none.
    """
    for version in versions:
        for candidate in candidates(version, root or pyenv_root()):
            program = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.executable)"
            said = answer(candidate, program)
            if said and said.splitlines()[0] == version:
                return Path(said.splitlines()[1])
    raise NotHere(f"no Python {' or '.join(versions)} on PATH or in pyenv")


def with_accelerator(pythons: Iterable[str | Path]) -> Path:
    """Return the first of `pythons` whose JAX sees something other than a CPU.

    Raises:
        NotHere: when none does, with what each of them sees.
    """
    env = {k: v for k, v in os.environ.items() if k != "JAX_PLATFORMS"}
    seen: dict[str, None] = {}
    for python in pythons:
        backend = answer(python, "import jax; print(jax.default_backend())", env)
        backend = backend.splitlines()[-1] if backend else None
        if backend and backend != "cpu":
            return Path(python)
        seen["JAX sees only a CPU" if backend else "no JAX in another Python"] = None
    raise NotHere(f"no accelerator: {', '.join(seen) or 'no Python with JAX'}")
