"""Create or update the environments described in environments.toml, in the folder .envs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from book_tools.environment import interpreters, pins
from book_tools.environment.environments import Environment, Specification, child_variables

DAY = 24 * 3600
STAMP = "made.json"
"""The file in an environment that records how and when the environment was created."""


class ProvisioningError(RuntimeError):
    """Raised if an environment cannot be created although its interpreter is installed."""


def prepare(
    spec: Specification, root: Path, *, torch: bool, say: Callable[[str], None] = print
) -> Environment:
    """Create or update an environment, install the library in it, and return it.

    Args:
        spec: The environment's specification.
        root: The project's folder.
        torch: Whether the environment needs PyTorch.
        say: A function that receives one line of text about each slow step.

    Raises:
        EnvironmentUnavailable: If this machine has no suitable interpreter or accelerator, or if
            the kind is ``"lock"`` and this is not the locked environment.
        ProvisioningError: If packages cannot be installed.
    """
    if spec.kind == "lock":
        if departures := pins.find_departures():
            reason = f"not the locked environment: {', '.join(departures)}"
            raise interpreters.EnvironmentUnavailable(reason)
        return Environment(spec, Path(sys.executable), child_variables(False))
    if spec.kind == "accelerator":
        others = [path for name in ("python3", "python") if (path := shutil.which(name))]
        base = interpreters.find_python_with_accelerator(dict.fromkeys([sys.executable, *others]))
        if base == Path(sys.executable):
            return Environment(spec, base, child_variables(True))
    else:
        base = interpreters.find_python(spec.python)
    folder = root / ".envs" / spec.name
    python = _update(spec, base, folder, torch, say)
    install_library(python, root, folder)
    return Environment(spec, python, child_variables(spec.kind == "accelerator"))


def install_library(python: Path, root: Path, folder: Path) -> None:
    """Install jaxbits without its dependencies, as the first cell of a notebook does in Colab.

    Args:
        python: The environment's interpreter.
        root: The project's folder.
        folder: The environment's folder, which stores a hash of the installed library.

    Raises:
        ProvisioningError: If pip fails.
    """
    sources = _library_sources(root)
    digest = hashlib.sha256()
    for path in sources:
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    stamp = folder / "package.txt"
    if stamp.is_file() and stamp.read_text("utf8") == digest.hexdigest():
        return
    # Build from a copy, because setuptools reuses the files that earlier builds left in the folder:
    # https://github.com/pypa/setuptools/issues/1871
    with tempfile.TemporaryDirectory() as copy:
        for path in sources:
            target = Path(copy) / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        # The library changes more often than its version, so pip must be forced to reinstall it.
        _pip(python, "--no-deps", "--force-reinstall", copy)
    stamp.write_text(digest.hexdigest(), "utf8")


def _library_sources(root: Path) -> list[Path]:
    """Return the files from which the library's wheel is built."""
    sources = [
        root / "pyproject.toml",
        *sorted(root.glob("README*")),
        *sorted(root.glob("LICENSE*")),
    ]
    generated = {".pyc", ".egg-info"}
    return sources + [
        path
        for path in sorted((root / "src").rglob("*"))
        if path.is_file() and not generated & {Path(part).suffix for part in path.parts}
    ]


def _update(
    spec: Specification, base: Path, folder: Path, torch: bool, say: Callable[[str], None]
) -> Path:
    """Create, upgrade, or reuse an environment, and return its interpreter."""
    version = interpreters.run_program(base, "import sys; print(sys.version)")
    digests = {choice: _digest(version, spec.requirements(choice)) for choice in (False, True)}
    stamp = _read_stamp(folder)
    if stamp.get("mark") in digests.values() and _python_of(folder).is_file():
        # Chapters that do not need PyTorch can also run in an environment that has it.
        torch = torch or stamp["mark"] == digests[True] != digests[False]
        is_young = not spec.max_age_days or time.time() - stamp["at"] < spec.max_age_days * DAY
        if is_young and stamp["mark"] == digests[torch]:
            return _python_of(folder)
        say("upgrading its packages")
    else:
        duration = "with PyTorch, minutes" if torch else "about a minute"
        say(f"creating .envs/{folder.name} ({duration})")
        shutil.rmtree(folder, ignore_errors=True)
        site = ["--system-site-packages"] if spec.kind == "accelerator" else []
        _run([base, "-m", "venv", *site, folder], "python -m venv")
    python = _python_of(folder)
    if spec.kind == "accelerator":
        _pip(python, "--constraint", _write_constraints(python, folder), *spec.requirements(torch))
    else:
        _pip(python, "--upgrade", *spec.requirements(torch))
    new = {"mark": digests[torch], "at": time.time()}
    (folder / STAMP).write_text(json.dumps(new), "utf8")
    return python


def _write_constraints(python: Path, folder: Path) -> Path:
    """Write constraints that pin JAX to the installed version, because that is the one to test."""
    names = ("jax", "jaxlib", "numpy")
    program = f"import importlib.metadata as m; [print(n + '==' + m.version(n)) for n in {names}]"
    constraints = folder / "held.txt"
    constraints.write_text(interpreters.run_program(python, program) or "", "utf8")
    return constraints


def _python_of(folder: Path) -> Path:
    """Return the path of the interpreter in a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _read_stamp(folder: Path) -> dict[str, Any]:
    """Return the contents of an environment's stamp, or an empty dict if there is no stamp."""
    stamp = folder / STAMP
    return json.loads(stamp.read_text("utf8")) if stamp.is_file() else {}


def _digest(*parts: object) -> str:
    """Return a hash of values that JSON can represent."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _pip(python: Path, *arguments: str | Path) -> None:
    """Run ``pip install`` in an environment."""
    _run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments],
        f"pip install {' '.join(map(str, arguments))[:120]}",
    )


def _run(command: Sequence[str | Path], title: str) -> None:
    """Run a command. If it fails, raise a ProvisioningError with the last error that it printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        raise ProvisioningError(f"{title}: {(errors or lines or ['no message'])[-1].strip()}")
