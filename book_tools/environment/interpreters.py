"""Find a Python interpreter by its version, or one whose JAX sees a GPU or TPU."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path


class EnvironmentUnavailable(LookupError):
    """Raised if an environment needs something that this machine lacks. The message names it."""


def run_program(python: str | Path, program: str, env: dict[str, str] | None = None) -> str | None:
    """Run a program and return what it prints, or None if it fails.

    Args:
        python: The interpreter that runs the program.
        program: The program's source.
        env: The environment variables. By default, the program inherits those of this process.
    """
    try:
        done = subprocess.run(
            [str(python), "-c", program], capture_output=True, text=True, timeout=120, env=env
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def find_pyenv_root() -> Path | None:
    """Return pyenv's folder, or None if pyenv is not installed."""
    root = os.environ.get("PYENV_ROOT")
    if not root and (pyenv := shutil.which("pyenv")):
        done = subprocess.run([pyenv, "root"], capture_output=True, text=True)
        root = done.stdout.strip() if done.returncode == 0 else None
    return Path(root) if root else None


def find_candidates(version: str, pyenv_root: Path | None) -> Iterator[Path]:
    """Yield paths where a version of Python may be installed, with the most likely path first.

    A file on the PATH is only a candidate, because pyenv has shims even for versions that it cannot
    start.

    Args:
        version: The version, such as ``"3.13"``.
        pyenv_root: pyenv's folder, or None if pyenv is not installed.
    """
    for name in (f"python{version}", "python3", "python"):
        if found := shutil.which(name):
            yield Path(found)
    if pyenv_root is not None:
        releases = [  # Skip prereleases such as 3.13.0rc1.
            path
            for path in pyenv_root.glob(f"versions/{version}.*")
            if path.name.removeprefix(f"{version}.").isdigit()
        ]
        for path in sorted(releases, key=lambda p: int(p.name.rpartition(".")[2]), reverse=True):
            yield path / ("python.exe" if os.name == "nt" else f"bin/python{version}")


def find_python(versions: Sequence[str], pyenv_root: Path | None = None) -> Path:
    """Return an interpreter for the first version in the list that is installed.

    Args:
        versions: The versions in order of preference, such as ``["3.13", "3.12"]``.
        pyenv_root: pyenv's folder. By default, the function looks for it on this machine.

    Raises:
        EnvironmentUnavailable: If none of the versions is installed.
    """
    program = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.executable)"
    for version in versions:
        for candidate in find_candidates(version, pyenv_root or find_pyenv_root()):
            output = run_program(candidate, program)
            if output and output.splitlines()[0] == version:
                return Path(output.splitlines()[1])
    raise EnvironmentUnavailable(f"no Python {' or '.join(versions)} on PATH or in pyenv")


def find_python_with_accelerator(pythons: Iterable[str | Path]) -> Path:
    """Return the first interpreter whose JAX sees a GPU or TPU.

    Raises:
        EnvironmentUnavailable: If there is none. The message says what each interpreter sees.
    """
    env = {key: value for key, value in os.environ.items() if key != "JAX_PLATFORMS"}
    reasons: dict[str, None] = {}
    for python in pythons:
        output = run_program(python, "import jax; print(jax.default_backend())", env)
        backend = output.splitlines()[-1] if output else None  # A warning may come first.
        if backend and backend != "cpu":
            return Path(python)
        reasons["JAX sees only a CPU" if backend else "no JAX in another Python"] = None
    raise EnvironmentUnavailable(f"no accelerator: {', '.join(reasons) or 'no Python with JAX'}")
