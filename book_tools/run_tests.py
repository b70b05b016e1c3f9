"""Build the book, check the sources, and run all tests in one pytest session.

python -m book_tools test [arguments for pytest]
"""

from __future__ import annotations

import subprocess
import sys

from book_tools import lint
from book_tools.processes import available_cores
from book_tools.project_metadata import ROOT
from book_tools.website import build

PYTEST = ["--nbval", "--nbval-current-env", "--doctest-modules"]
# The tests of a file share expensive fixtures, so they stay on one worker. tests/order.py decides
# which files start first.
PYTEST += ["--dist", "loadfile", "--no-loadscope-reorder"]


def main(arguments: list[str] | None = None) -> int:
    """Run the three stages, stop at the first that fails, and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if build.main([]):
        return 1
    print("Checking chapters and code …", flush=True)
    if lint.main([]):
        return 1
    print("Running the tests …", flush=True)
    # A notebook's tests mostly wait for their kernel, so one worker per core is enough.
    workers = ["-n", str(max(2, available_cores()))]
    command = [sys.executable, "-m", "pytest", *PYTEST, *workers, *arguments]
    return subprocess.run(command, cwd=ROOT).returncode
