"""Measure the time and memory of grading, relative to nbgrader alone and by folder size."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from jaxbits_grader.authoring.assignment_source import read_assignment
from jaxbits_grader.authoring.notebook_versions import solution_notebook
from jaxbits_grader.files import notebook_text

from book_tools.benchmarking.timing import quartiles, ratio_quartiles, round_significant

TITLE = "a folder of submissions graded, beside nbgrader alone"
ROOT = Path(__file__).resolve().parents[1]
# The assignment with the slowest solution comes last.
REAL = tuple(ROOT / "assignments" / name for name in ("pure-functions", "xor-classifier"))
SMALL = ROOT / "grader" / "tests" / "sample"
# The first two submissions of a course find no compiled programs, so fewer than six would say
# little about a class. Many more would take hours.
ROUNDS, EACH = 3, 6
SIZES = (10, 30, 100)
MANY = ("--cell-seconds", "300", "--notebook-seconds", "900")


def _timed(command: Sequence[object], cwd: Path) -> tuple[float, float]:
    """Run a command, and return its duration in seconds and peak memory in MB."""
    search_path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    began, most = time.perf_counter(), 0
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "PATH": search_path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    own = psutil.Process(process.pid)
    while process.poll() is None:
        used = 0
        try:
            for one in (own, *own.children(recursive=True)):
                used += one.memory_full_info().pss
        except (psutil.Error, OSError):
            used = 0
        most = max(most, used)
        time.sleep(0.25)
    if process.returncode:
        raise RuntimeError(f"{command[:6]} ended with {process.returncode}")
    return time.perf_counter() - began, most / 2**20


def _grader(*arguments: object) -> list[object]:
    """Return the command line that runs a grader command."""
    return [sys.executable, "-m", "jaxbits_grader", *arguments]


def _prepare(place: Path, folder: Path, count: int) -> tuple[Path, Path]:
    """Create a course and a folder with the given number of solved notebooks."""
    course, handed_in = place / "course", place / "handed-in"
    _timed(_grader("course", course, "--from", folder), place)
    solved = notebook_text(solution_notebook(read_assignment(folder)))
    for number in range(count):
        # This is nbgrader's folder layout, which both programs accept.
        path = handed_in / f"student-{number}" / folder.name / f"{folder.name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(solved)
    return course, handed_in


def _graded(place: Path, folder: Path, count: int, workers: int) -> tuple[float, float]:
    """Grade the given number of correct submissions in a new course."""
    course, handed_in = _prepare(place, folder, count)
    where = ("--submissions", handed_in, "--course", course, "--quiet", *MANY)
    return _timed(_grader("grade", folder.name, *where, "-j", workers), place)


def _nbgrader(place: Path, folder: Path, count: int) -> float:
    """Grade the given number of submissions with nbgrader alone and its default settings."""
    course, handed_in = _prepare(place, folder, count)
    submitted = f"--CourseDirectory.submitted_directory={handed_in}"
    command = ["nbgrader", "autograde", folder.name, "--create", submitted]
    return _timed(command, course)[0]


def run() -> dict[str, Any]:
    """Grade six submissions of each assignment in both ways, and then larger folders."""
    results, ratios = {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)

        def fresh(name: str) -> Path:
            folder = place / name
            folder.mkdir()
            return folder

        for folder in REAL:
            title = read_assignment(folder).title
            alone, graded = [], []
            for number in range(ROUNDS):
                where = fresh(f"nbgrader-{folder.name}-{number}")
                alone.append(_nbgrader(where, folder, EACH) / EACH)
                where = fresh(f"grader-{folder.name}-{number}")
                graded.append(_graded(where, folder, EACH, workers=2)[0] / EACH)
            results[f"{title}, nbgrader alone"] = quartiles(alone, "s")
            results[f"{title}, -j 2"] = quartiles(graded, "s")
            ratios[f"{title}, -j 2 / nbgrader alone"] = ratio_quartiles(graded, alone)
        growth = [_graded(fresh(f"many-{size}"), SMALL, size, workers=2) for size in SIZES]
    return {
        "results": results,
        "ratios": ratios,
        "series": {
            "submissions": list(SIZES),
            "seconds": [round_significant(seconds) for seconds, _ in growth],
            "megabytes": [round_significant(most) for _, most in growth],
        },
        "modules": ["nbgrader"],
    }
