"""Build the book into _build/html, unless none of its inputs has changed.

    python -m book_tools build

In the locked environment, the program first executes the chapters whose text has changed.
"""

from __future__ import annotations

import argparse
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
from book_tools.chapters.normalize_outputs import strip_colors
from book_tools.environment import bootstrap, pins
from book_tools.project_metadata import ROOT

BUILD = ROOT / "_build"
INDEX = BUILD / "html" / "index.html"
STAMP = BUILD / ".built"

# The pages depend on these files. Editing a chapter's text changes its outputs.
FOLDERS = ["_ext", "_static", "_templates", "_vendor", "assignments", "chapters", "reference"]
FOLDERS += ["src/jaxbits", "book_tools/pages", "book_tools/website"]
FILES = ["intro.md", "genindex.md", "_config.yml", "_toc.yml", "pyproject.toml"]
FILES += ["requirements-book.txt"]
FILES += ["book_tools/chapters/folding.py", "book_tools/chapters/setup_cell.py"]
FILES += ["book_tools/project_metadata.py", "tests/detect/first_contact.toml"]


def input_files() -> Iterator[Path]:
    """Yield each file from which the book is built, in a stable order."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            # The project itself may be inside a hidden folder.
            parts = path.relative_to(ROOT).parts
            is_hidden = any(part.startswith((".", "__pycache__")) for part in parts)
            if path.is_file() and not is_hidden:
                yield path
    for name in FILES:
        yield ROOT / name


def input_digest() -> str:
    """Return a hash of the Python version and the names and contents of all input files."""
    found = hashlib.sha256(sys.version.encode())
    for path in input_files():
        found.update(f"{path.relative_to(ROOT)}\0".encode())
        found.update(path.read_bytes() if path.exists() else b"missing")
    return found.hexdigest()


def execute_changed_chapters() -> bool:
    """Execute the chapters whose text has changed, and return whether the build can continue.

    Outside the locked environment, the function executes no chapter, and the pages show the stored
    outputs.
    """
    # These imports take a third of a second, and a build without changes does not need them.
    from book_tools.chapters import chapter_files, execute

    changed = execute.find_changed_chapters(chapter_files.find_chapters())
    if not changed:
        return True
    if not add_packages_to_execute([chapter.name for chapter in changed]):
        return False
    if departures := pins.find_departures():
        print(f"This environment has {', '.join(departures)}, so the stored outputs are shown.")
        for chapter, reason in changed.items():
            print(f"  {chapter.name}: {reason}")
        return all(chapter.stored.exists() for chapter in changed)
    return execute.main([chapter.name for chapter in changed]) == 0


def add_packages_to_execute(names: list[str]) -> bool:
    """Install the packages that executing chapters needs, and return whether that succeeded.

    With a Python version other than the locked one, the build executes no chapters, so the function
    installs nothing.
    """
    is_locked_python = sys.version_info[:2] == pins.PYTHON
    if not is_locked_python or not (missing := pins.find_missing()):
        return True
    print(f"Executing {', '.join(names)} needs more packages, such as {missing[0]}.")
    return bool(bootstrap.main(["all"]) == 0)


def run_jupyter_book() -> bool:
    """Run Jupyter Book, and return whether it finished without a warning."""
    start = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", start, "build", "-W", "-n", "--keep-going", "-q"]
    done = subprocess.run(
        [*command, str(ROOT)],
        cwd=ROOT,
        env=os.environ | {"PYTHONWARNINGS": "ignore", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode == 0 and INDEX.exists():
        return True
    # Sphinx caches the pages that it has read, so the next build would not repeat their warnings.
    shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)
    lines = strip_colors(done.stdout).splitlines()
    problems = [line for line in lines if "WARNING" in line or "ERROR" in line or "Error:" in line]
    print("\n".join(problems or lines[-20:]), file=sys.stderr)
    return False


def find_write_problem() -> str | None:
    """Return the reason why the build folder is not writable, or None if it is writable."""
    try:
        BUILD.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=BUILD).close()
    except OSError as error:
        return f"{BUILD.name} must be a writable folder, got: {error.strerror}"
    return None


def complete_site(html: Path) -> None:
    """Add the style sheet, the search index, and the notebooks, which Jupyter Book does not build.

    Args:
        html: The folder of the built book.
    """
    # These imports are here because a build without changes does not need them.
    from book_tools.website import published_notebooks, search_index, stylesheets

    stylesheets.join_stylesheets(html)
    search_index.write_search_index(html)
    repository = project_metadata.repository_url()
    site = project_metadata.site_url(repository) if repository else None
    published_notebooks.write_notebooks(html, site, repository)


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args(arguments)
    if importlib.util.find_spec("jupyter_book") is None:
        print("Jupyter Book is not installed; run: make book", file=sys.stderr)
        return 1
    advice = f"open {INDEX.relative_to(ROOT).as_posix()} in a browser, or run: make serve"
    if INDEX.exists() and STAMP.exists() and STAMP.read_text() == input_digest():
        print(f"The book is up to date: {advice}")
        return 0
    if problem := find_write_problem():
        print(f"The book cannot be built. {problem}", file=sys.stderr)
        return 1
    STAMP.unlink(missing_ok=True)
    if not execute_changed_chapters():
        return 1
    print("Building the book …", flush=True)
    begin = time.monotonic()
    if not run_jupyter_book():
        print("The book was not built. Fix the problems listed above.", file=sys.stderr)
        return 1
    complete_site(BUILD / "html")
    STAMP.write_text(input_digest())
    print(f"The book is built ({time.monotonic() - begin:.0f} s): {advice}")
    return 0
