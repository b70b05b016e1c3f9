"""Build the book and run the tests that every change must pass, or run other tests.

    python -m book_tools test            the gate: build the book, check the sources, run fast tests
    python -m book_tools test --all      build the book, and run the tests that the gate omits
    python -m book_tools test --grader   only the grader's tests

Other arguments are passed to pytest.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from book_tools.processes import available_cores
from book_tools.project_metadata import ROOT
from book_tools.website import build

GATE = ["-m", "not slow", "--nbval", "--doctest-modules"]
SLOW = ["-m", "slow", "tests"]
GRADER = ["--rootdir", "grader", "--config-file", "grader/pyproject.toml", "grader"]


def run_pytest(arguments: list[str]) -> int:
    """Run pytest with one more worker than there are cores, and return its exit status."""
    # Workers often wait, for example for a kernel to start or for a page to settle.
    workers = ["-n", str(available_cores() + 1)]
    command = [sys.executable, "-m", "pytest", *workers, *arguments]
    return subprocess.run(command, cwd=ROOT).returncode


def _build_and_lint() -> bool:
    """Build the book while another process checks the sources. Return True if both succeed."""
    linting = subprocess.Popen(
        [sys.executable, "-m", "book_tools", "lint"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    is_built = build.main([]) == 0
    print("Checking chapters and code …", flush=True)
    print(linting.communicate()[0], end="", flush=True)
    return is_built and linting.returncode == 0


def main(arguments: list[str] | None = None) -> int:
    """Run the tests that the command-line arguments select, and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--all", action="store_true", help="run all tests that the gate omits")
    group.add_argument("--grader", action="store_true", help="run only the grader's tests")
    options, passed_on = parser.parse_known_args(arguments)
    if options.grader:
        return run_pytest([*GRADER, *passed_on])
    if options.all:
        if build.main([]):
            return 1
        slow = run_pytest([*SLOW, *passed_on])
        return run_pytest([*GRADER, *passed_on]) or slow
    if not _build_and_lint():
        return 1
    print("Running the tests …", flush=True)
    return run_pytest([*GATE, *passed_on])
