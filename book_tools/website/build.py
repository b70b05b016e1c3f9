"""Build the book into _build/html, if anything it is made from changed.

    .venv/bin/python -m book_tools build

Chapters whose text changed are executed first, where the environment is the locked one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from book_tools import project_metadata
from book_tools.chapters.normalize_outputs import strip_colours
from book_tools.environment import bootstrap, pins

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "_build"
INDEX = BUILD / "html" / "index.html"
STAMP = BUILD / ".built"

# What the pages are made from. The sources of chapters are in it: an edited one has to be executed.
FOLDERS = ["_ext", "_static", "_templates", "_vendor", "assignments", "chapters", "reference"]
FOLDERS += ["src/jaxbits", "book_tools/pages", "book_tools/website"]
FILES = ["intro.md", "genindex.md", "_config.yml", "_toc.yml", "pyproject.toml"]
FILES += ["requirements-book.txt"]
FILES += ["book_tools/chapters/folding.py", "book_tools/project_metadata.py"]
FILES += ["tests/detect/first_contact.toml"]


def inputs() -> Iterator[Path]:
    """Every file the book is made from, in a stable order."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            # Only folders of the project count: it may itself lie below one that begins with a dot.
            parts = path.relative_to(ROOT).parts
            hidden = any(part.startswith((".", "__pycache__")) for part in parts)
            if path.is_file() and not hidden:
                yield path
    for name in FILES:
        yield ROOT / name


def digest() -> str:
    """A hash over the names and contents of all inputs, and over the Python in use."""
    found = hashlib.sha256(sys.version.encode())
    for path in inputs():
        found.update(f"{path.relative_to(ROOT)}\0".encode())
        found.update(path.read_bytes() if path.exists() else b"missing")
    return found.hexdigest()


def execute_changed() -> bool:
    """Execute the chapters that need it; returns whether all went well."""
    from book_tools.chapters import (
        chapter_files,
        execute,  # a third of a second, which a build that changes nothing does not need
    )

    changed = execute.changed_chapters(chapter_files.find())
    if not changed:
        return True
    if not add_packages_to_execute([pair.name for pair in changed]):
        return False
    if departures := pins.find_departures():
        print(f"Here is {', '.join(departures)}: chapters are shown with the outputs stored.")
        for pair, reason in changed.items():
            print(f"  {pair.name}: {reason}")
        missing = [pair.name for pair in changed if not pair.stored.exists()]
        return not missing
    return execute.main([pair.name for pair in changed]) == 0


def add_packages_to_execute(names: list[str]) -> bool:
    """Install what executing chapters needs, and return False if the installation fails.

    Python versions whose outputs are not stored execute nothing, so they get nothing installed.
    """
    is_locked_python = sys.version_info[:2] == pins.PYTHON
    if not is_locked_python or not (missing := pins.find_missing()):
        return True
    print(f"Executing {', '.join(names)} needs more packages, such as {missing[0]}.")
    return bool(bootstrap.main(["all"]) == 0)


def build() -> bool:
    """Let Jupyter Book build what changed; returns whether it did without a warning."""
    start = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", start, "build", "-W", "-n", "--keep-going", "-q"]
    environment = os.environ | {"PYTHONWARNINGS": "ignore", "NO_COLOR": "1"}
    done = subprocess.run(
        [*command, str(ROOT)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode == 0 and INDEX.exists():
        return True
    # Sphinx would not read the pages with warnings again, and so not warn again.
    shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)
    lines = strip_colours(done.stdout).splitlines()
    telling = [line for line in lines if "WARNING" in line or "ERROR" in line or "Error:" in line]
    print("\n".join(telling or lines[-20:]), file=sys.stderr)
    return False


def unwritable() -> str | None:
    """Return why nothing can be written into the folder of the build, or None if all is well."""
    try:
        BUILD.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=BUILD).close()
    except OSError as error:
        return f"{BUILD.name} must be a folder that can be written to, got: {error.strerror}"
    return None


def finish(html: Path) -> None:
    """Add to the built pages what Jupyter Book does not make, one step a line.

    Args:
        html: the folder of the built book.
    """
    # What a build that changes nothing does not need.
    from book_tools.website import published_notebooks, search_index, stylesheets

    stylesheets.join(html)
    search_index.write(html)
    address = project_metadata.address()
    published_notebooks.write(html, project_metadata.site(address) if address else None, address)


def main() -> int:
    """Build; returns the exit status."""
    if importlib.util.find_spec("jupyter_book") is None:
        print("Jupyter Book is not installed; run: make book", file=sys.stderr)
        return 1
    where = f"open {INDEX.relative_to(ROOT).as_posix()} in a browser, or run: make serve"
    if INDEX.exists() and STAMP.exists() and STAMP.read_text() == digest():
        print(f"The book is built and up to date: {where}")
        return 0
    if reason := unwritable():
        print(f"The book cannot be built. {reason}", file=sys.stderr)
        return 1
    STAMP.unlink(missing_ok=True)
    if not execute_changed():
        return 1
    print("Building the book …", flush=True)
    begin = time.monotonic()
    if not build():
        print("The book was not built: mend what stands above.", file=sys.stderr)
        return 1
    finish(BUILD / "html")
    STAMP.write_text(digest())
    print(f"The book is built ({time.monotonic() - begin:.0f} s): {where}")
    return 0
