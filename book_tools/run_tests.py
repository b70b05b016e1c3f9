"""Everything that ``make test`` runs: the book is built, the sources are checked, then one pytest.

.venv/bin/python -m book_tools test [arguments for pytest]
"""

from __future__ import annotations

import subprocess
import sys

from book_tools import lint
from book_tools.chapters.execute import cores
from book_tools.project_metadata import ROOT
from book_tools.website import build

PYTEST = ["--nbval", "--nbval-current-env", "--doctest-modules"]
# A file's tests share what they set up; which file is begun first, tests/order.py says.
PYTEST += ["--dist", "loadfile", "--no-loadscope-reorder"]


def main(arguments: list[str] | None = None) -> int:
    """Run the stages in order, stopping at the first that fails; returns the exit status."""
    if build.main():
        return 1
    print("Checking chapters and code …", flush=True)
    if lint.main([]):
        return 1
    print("Running the tests …", flush=True)
    # One core for each notebook's kernel: a chapter waits for its own, hardly for another's.
    workers = ["-n", str(max(2, cores()))]
    arguments = sys.argv[1:] if arguments is None else arguments
    command = [sys.executable, "-m", "pytest", *PYTEST, *workers, *arguments]
    return subprocess.run(command, cwd=ROOT).returncode
