"""Build the library's wheel into the book, so that the notebooks can install it from there.

The name of a wheel's folder is a digest of the wheel's content. An address therefore always leads
to the same library, and an older notebook still installs the library for which it was made.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from book_tools import project_metadata
from book_tools.processes import last_line

FOLDER = "wheels"
PUBLISHED = "jaxbits/published.json"
"""The file in a published wheel from which `jaxbits.runtime` reads the address."""

_BUILD = "import setuptools.build_meta as backend, sys; backend.build_wheel(sys.argv[1])"
# This is 1980-01-01, the earliest time that a zip file can store.
_EPOCH = "315532800"


class WheelError(RuntimeError):
    """Raised if the wheel cannot be built. The message ends with the build's last output line."""


def _tables(root: Path) -> dict[str, object]:
    """Return the part of pyproject.toml that affects the wheel."""
    with (root / "pyproject.toml").open("rb") as file:
        whole = tomllib.load(file)
    described = {key: value for key, value in whole["project"].items() if key != "readme"}
    return {
        "build-system": whole["build-system"],
        "project": described,
        "tool": {"setuptools": whole["tool"]["setuptools"]},
    }


def _contents(root: Path, site: str | None, repository: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every file from which the wheel is built."""
    for path in sorted(root.glob("LICENSE*")):
        yield path.name, path.read_bytes()
    source = root / "src"
    for path in sorted((source / "jaxbits").rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            yield f"src/{path.relative_to(source).as_posix()}", path.read_bytes()
    if site:
        about = {"site": site, "repository": repository}
        yield f"src/{PUBLISHED}", (json.dumps(about, indent=1) + "\n").encode()


def wheel_digest(
    site: str | None, repository: str | None, root: Path = project_metadata.ROOT
) -> str:
    """Return the digest of the wheel's content, which is also the name of its folder.

    Args:
        site: The address of the published book, or None if it has none.
        repository: The address of the repository, or None if it has none.
        root: The project's folder.
    """
    found = hashlib.sha256(json.dumps(_tables(root), sort_keys=True).encode())
    for name, content in _contents(root, site, repository):
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:12]


def wheel_path(site: str | None, repository: str | None, root: Path = project_metadata.ROOT) -> str:
    """Return the wheel's path in the built book, even if the wheel has not been built yet.

    Args:
        site: The address of the published book, or None if it has none.
        repository: The address of the repository, or None if it has none.
        root: The project's folder.
    """
    file = f"jaxbits-{project_metadata.package_version(root)}-py3-none-any.whl"
    return f"{FOLDER}/{wheel_digest(site, repository, root)}/{file}"


def build_wheel(
    html: Path, site: str | None, repository: str | None, root: Path = project_metadata.ROOT
) -> Path:
    """Build the wheel into the book unless it is already there, and remove all other wheels.

    The same content always gives the same bytes, and the build downloads nothing.

    Args:
        html: The folder of the built book.
        site: The address of the published book, which is stored in the wheel, or None if the book
            has none.
        repository: The address of the repository, or None if it has none.
        root: The project's folder.

    Raises:
        WheelError: If the build fails.
    """
    target = html / wheel_path(site, repository, root)
    if not target.exists():
        with tempfile.TemporaryDirectory() as folder:
            made = _build(Path(folder), site, repository, root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made, target.with_suffix(".new"))
        os.replace(target.with_suffix(".new"), target)
    for other in (html / FOLDER).iterdir():
        if other != target.parent:
            shutil.rmtree(other)
    return target


def _build(folder: Path, site: str | None, repository: str | None, root: Path) -> Path:
    """Build the wheel from a copy, because setuptools leaves files in the folder it builds in."""
    source, made = folder / "source", folder / "made"
    made.mkdir()
    for name, content in _contents(root, site, repository):
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    settings = (root / "pyproject.toml").read_text("utf8")
    # Omit the README, which describes the repository, so that editing it does not change the wheel.
    settings = "".join(
        line for line in settings.splitlines(keepends=True) if not line.startswith("readme = ")
    )
    (source / "pyproject.toml").write_text(settings, "utf8")
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, str(made)],
        cwd=source,
        env=os.environ | {"SOURCE_DATE_EPOCH": _EPOCH},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise WheelError(f"the library's wheel was not built: {last_line(done.stdout)}")
    (wheel,) = made.glob("*.whl")
    return wheel
