"""Make the environments of ``environments.toml`` under ``.envs/``, and use them again."""

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
from book_tools.environment.environments import Environment, Specification, variables

DAY = 24 * 3600


class CannotMake(RuntimeError):
    """An environment could not be made though its interpreter is here; the message says why."""


def _python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _do(command: Sequence[str | Path], purpose: str) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        lines = [x for x in (done.stderr + done.stdout).splitlines() if x.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        raise CannotMake(f"{purpose}: {(errors or lines or ['no message'])[-1].strip()}")


def _pip(python: Path, *arguments: str | Path) -> None:
    _do(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments],
        f"pip install {' '.join(map(str, arguments))[:120]}",
    )


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _stamp(folder: Path) -> dict[str, Any]:
    stamp = folder / "made.json"
    return json.loads(stamp.read_text("utf8")) if stamp.is_file() else {}


def _make(
    spec: Specification, base: Path, folder: Path, torch: bool, say: Callable[[str], None]
) -> Path:
    """Make the environment in `folder`, or use the one there if its specification is the same."""
    version = interpreters.answer(base, "import sys; print(sys.version)")
    marks = {with_torch: _digest(version, spec.wanted(with_torch)) for with_torch in (False, True)}
    old = _stamp(folder)
    if old.get("mark") in marks.values() and _python_of(folder).is_file():
        # One that holds torch serves as well where no chapter needs it.
        torch = torch or old["mark"] == marks[True] != marks[False]
        young = not spec.max_age_days or time.time() - old["at"] < spec.max_age_days * DAY
        if young and old["mark"] == marks[torch]:
            return _python_of(folder)
        say("bringing its packages up to date")
    else:
        say(f"making .envs/{folder.name} ({'with torch, minutes' if torch else 'about a minute'})")
        shutil.rmtree(folder, ignore_errors=True)
        site = ["--system-site-packages"] if spec.kind == "accelerator" else []
        _do([base, "-m", "venv", *site, folder], "python -m venv")
    python, wanted = _python_of(folder), spec.wanted(torch)
    if spec.kind == "accelerator":
        # JAX and what it computes with stay as they are: they are what is being tested.
        names = ("jax", "jaxlib", "numpy")
        program = (
            f"import importlib.metadata as m; [print(n + '==' + m.version(n)) for n in {names}]"
        )
        held = folder / "held.txt"
        held.write_text(interpreters.answer(python, program) or "", "utf8")
        _pip(python, "--constraint", held, *wanted)
    else:
        _pip(python, "--upgrade", *wanted)
    (folder / "made.json").write_text(json.dumps({"mark": marks[torch], "at": time.time()}), "utf8")
    return python


def install_package(python: Path, root: Path, folder: Path) -> None:
    """Install the project as the set-up cell does in Colab: the package alone, nothing beside it.

    From a copy, as setuptools builds in the folder it is given and takes what an earlier build
    left there.
    """
    sources = [
        root / "pyproject.toml",
        *sorted(root.glob("README*")),
        *sorted(root.glob("LICENSE*")),
    ]
    made = {".pyc", ".egg-info"}
    sources += [
        path
        for path in sorted((root / "src").rglob("*"))
        if path.is_file() and not made & {Path(part).suffix for part in path.parts}
    ]
    digest = hashlib.sha256()
    for path in sources:
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    mark = folder / "package.txt"
    if mark.is_file() and mark.read_text("utf8") == digest.hexdigest():
        return
    with tempfile.TemporaryDirectory() as copy:
        for path in sources:
            target = Path(copy) / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        # Reinstall: the version is the same while the book is being written.
        _pip(python, "--no-deps", "--force-reinstall", copy)
    mark.write_text(digest.hexdigest(), "utf8")


def prepare(
    spec: Specification, root: Path, *, torch: bool, say: Callable[[str], None] = print
) -> Environment:
    """Return the environment, made or brought up to date as needed, the package installed.

    Raises:
        interpreters.NotHere: when this machine has no interpreter, or no accelerator, for it, or
            is not the environment of the lock.
        CannotMake: when its packages cannot be installed.
    """
    if spec.kind == "lock":
        if departures := pins.find_departures():
            raise interpreters.NotHere(f"not the locked environment: {', '.join(departures)}")
        return Environment(spec, Path(sys.executable), variables(False))
    folder = root / ".envs" / spec.name
    if spec.kind == "accelerator":
        others = [p for name in ("python3", "python") if (p := shutil.which(name))]
        base = interpreters.with_accelerator(dict.fromkeys([sys.executable, *others]))
        if base == Path(sys.executable):
            return Environment(spec, base, variables(True))
    else:
        base = interpreters.find(spec.python)
    python = _make(spec, base, folder, torch, say)
    install_package(python, root, folder)
    return Environment(spec, python, variables(spec.kind == "accelerator"))
