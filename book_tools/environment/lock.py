"""Compile requirements.in and requirements-book.in into the locks, with pip-tools.

    make lock                                 update the locks after you edit a .in file
    make lock ARGS="--upgrade-package jax"    take the newest version of one package
    make lock ARGS=--upgrade                  take the newest versions of all packages
    make lock ARGS=--check                    write nothing, and exit with 1 if a lock is outdated

The locks contain no hashes. Each index (for CPU or CUDA builds) has different files for the same
version of PyTorch, and once one package has hashes, pip rejects every package without one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from book_tools.environment.pins import PYTHON, ROOT
from book_tools.files import write_if_changed

FULL, BOOK = "requirements", "requirements-book"
"""The names of the locks without their suffix, with the larger lock first."""

OPTIONS = ["--quiet", "--strip-extras", "--unsafe-package", "pip", "--no-emit-options"]
# The addresses of one machine's package indexes do not belong in the repository.
OPTIONS += ["--no-emit-index-url", "--no-emit-find-links", "--no-emit-trusted-host"]

_CUDA = re.compile(r"^(nvidia-|cuda-|triton)[\w.-]*(?===)", re.M)


class LockError(RuntimeError):
    """Raised if the locks cannot be compiled. The message says why."""


def compile_locks(options: list[str], root: Path = ROOT) -> dict[str, str]:
    """Compile the locks, and return the text of each lock, keyed by file name.

    Args:
        options: Additional options for pip-compile when it compiles the full lock.
        root: The project's folder. The versions in its locks do not change unless the options
            require it.

    Raises:
        LockError: If this version of Python is not the locked one, if pip-compile fails, or if the
            lock contains CUDA packages.
    """
    if sys.version_info[:2] != PYTHON:
        raise LockError(
            "the lock must be compiled with Python {}.{}, got {}.{}".format(
                *PYTHON, *sys.version_info[:2]
            )
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for lock in (FULL, BOOK):
            shutil.copy(root / f"{lock}.in", folder)
        shutil.copy(root / f"{FULL}.txt", folder)
        full = _compile(folder, FULL, options)
        if found := _CUDA.search(full):
            raise LockError(
                f"the lock must contain no CUDA package, got {found[0]}; "
                "run: make TORCH_INDEX=https://download.pytorch.org/whl/cpu lock"
            )
        # pip-compile keeps the versions that are already in the file that it writes.
        (folder / f"{BOOK}.txt").write_text(full, encoding="utf-8")
        return {f"{FULL}.txt": full, f"{BOOK}.txt": _compile(folder, BOOK, [])}


def _compile(folder: Path, lock: str, options: list[str]) -> str:
    """Run pip-compile in a folder, and return the lock that it writes."""
    command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, *options]
    if index := os.environ.get("TORCH_INDEX"):
        command += ["--extra-index-url", index]
    done = subprocess.run(
        [*command, "--output-file", f"{lock}.txt", f"{lock}.in"],
        cwd=folder,
        env=os.environ | {"CUSTOM_COMPILE_COMMAND": "make lock"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise LockError(f"pip-compile {lock}.in failed: {last}")
    text = (folder / f"{lock}.txt").read_text(encoding="utf-8")
    # The CPU build is called 2.13.0+cpu, but the default index has only 2.13.0.
    text = re.sub(r"^(torch==[\d.]+)\+\w+", r"\1", text, flags=re.M)
    (folder / f"{lock}.txt").write_text(text, encoding="utf-8")
    return text


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    check, options = parser.parse_known_args(arguments)
    try:
        locks = compile_locks(options)
    except LockError as error:
        print(error, file=sys.stderr)
        return 1
    if check.check:
        outdated = [name for name, text in locks.items() if (ROOT / name).read_text("utf8") != text]
        print(f"outdated: {', '.join(outdated)}" if outdated else "the locks are up to date")
        return 1 if outdated else 0
    for name, text in locks.items():
        print(f"{name}: {'written' if write_if_changed(ROOT / name, text) else 'unchanged'}")
    return 0
