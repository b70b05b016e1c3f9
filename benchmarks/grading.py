"""Grading a folder: seconds a submission beside nbgrader alone, and what ten times as many cost."""

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
from measure import ratio, significant, spread

TITLE = "a folder of submissions graded, beside nbgrader alone"
ROOT = Path(__file__).resolve().parents[1]
REAL, SMALL = ROOT / "assignments" / "pure-functions", ROOT / "grader" / "tests" / "sample"
ROUNDS, EACH = 3, 4
SIZES = (10, 30, 100)
MANY = ("--cell-seconds", "300", "--notebook-seconds", "900")


def timed(command: Sequence[object], cwd: Path) -> tuple[float, float]:
    """Run a command; return its seconds, and the most memory that its processes had, in MB."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    began, most = time.perf_counter(), 0
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "PATH": beside},
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


def grader(*arguments: object) -> list[object]:
    """Return the command line of a grader command."""
    return [sys.executable, "-m", "jaxbits_grader", *arguments]


def prepare(place: Path, folder: Path, count: int) -> tuple[Path, Path]:
    """Make a course, and a folder with that many solved notebooks."""
    course, handed_in = place / "course", place / "handed-in"
    timed(grader("course", course, "--from", folder), place)
    solved = notebook_text(solution_notebook(read_assignment(folder)))
    for number in range(count):
        # nbgrader's own layout, which both take.
        path = handed_in / f"student-{number}" / folder.name / f"{folder.name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(solved)
    return course, handed_in


def graded(place: Path, folder: Path, count: int, workers: int) -> tuple[float, float]:
    """Grade so many good submissions of an assignment, in a course of its own."""
    course, handed_in = prepare(place, folder, count)
    where = ("--submissions", handed_in, "--course", course, "--quiet", *MANY)
    return timed(grader("grade", folder.name, *where, "-j", workers), place)


def nbgrader(place: Path, folder: Path, count: int) -> float:
    """Let nbgrader alone grade as many, with its own settings."""
    course, handed_in = prepare(place, folder, count)
    submitted = f"--CourseDirectory.submitted_directory={handed_in}"
    command = ["nbgrader", "autograde", folder.name, "--create", submitted]
    return timed(command, course)[0]


def run() -> dict[str, Any]:
    """Grade four good submissions three times in each way, then ten, thirty and a hundred."""
    samples: dict[str, list[float]] = {"nbgrader alone": [], "-j 1": [], "-j 2": []}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)

        def fresh(name: str) -> Path:
            folder = place / name
            folder.mkdir()
            return folder

        for number in range(ROUNDS):
            alone = nbgrader(fresh(f"nbgrader-{number}"), REAL, EACH)
            samples["nbgrader alone"].append(alone / EACH)
            for workers in (1, 2):
                seconds, _ = graded(fresh(f"j{workers}-{number}"), REAL, EACH, workers)
                samples[f"-j {workers}"].append(seconds / EACH)
        growth = [graded(fresh(f"many-{size}"), SMALL, size, 2) for size in SIZES]
    alone_ = samples["nbgrader alone"]
    return {
        "results": {f"a submission, {name}": spread(s, "s") for name, s in samples.items()},
        "ratios": {
            f"{name} / nbgrader alone": ratio(samples[name], alone_) for name in ("-j 1", "-j 2")
        },
        "series": {
            "submissions": list(SIZES),
            "seconds": [significant(seconds) for seconds, _ in growth],
            "megabytes": [significant(most) for _, most in growth],
        },
        "modules": ["nbgrader"],
    }
