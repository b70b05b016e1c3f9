"""Everything that ``make test`` runs: the book is built, the sources are checked, then one pytest.

.venv/bin/python tools/check.py [arguments for pytest]
"""

from __future__ import annotations

import subprocess
import sys

import book
import lint
from execute import cores
from project import ROOT

PYTEST = ["--nbval", "--nbval-current-env", "--doctest-modules"]
# A file's tests share what they set up; which file is begun first, tests/pytest_plugins/slow_first.py says.
PYTEST += ["--dist", "loadfile", "--no-loadscope-reorder"]


def main(arguments: list[str]) -> int:
    """Run the stages in order, stopping at the first that fails; returns the exit status."""
    if book.main():
        return 1
    print("Checking chapters and code …", flush=True)
    if lint.main([]):
        return 1
    print("Running the tests …", flush=True)
    # One core for each notebook's kernel: a chapter waits for its own, hardly for another's.
    workers = ["-n", str(max(2, cores()))]
    command = [sys.executable, "-m", "pytest", *PYTEST, *workers, *arguments]
    return subprocess.run(command, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
