"""Killed graders, several graders on one course, and gradebooks in PostgreSQL."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import grading_harness as harness
import psutil
import pytest
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import read_assignment
from jaxbits_grader.authoring.cell_markers import stub_source
from jaxbits_grader.authoring.notebook_versions import solution_notebook, student_notebook
from jaxbits_grader.files import notebook_text
from nbformat.v4 import new_code_cell
from nbgrader.api import Gradebook

pytestmark = harness.needs_sandbox

NAME = harness.SAMPLE.name
STUDENTS = 6


@pytest.fixture(scope="module")
def assignment() -> Assignment:
    return read_assignment(harness.SAMPLE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, assignment: Assignment) -> Path:
    """A folder of submissions, each with one more unsolved task."""
    folder = tmp_path_factory.mktemp("submissions")
    ids = [task.id for task in assignment.tasks]
    for number in range(STUDENTS):
        unsolved = ids[: number % (len(ids) + 1)]
        answers = {id: stub_source(assignment.cell(id).source) for id in unsolved}
        (folder / f"student-{number}.ipynb").write_text(
            notebook_text(solution_notebook(assignment, answers))
        )
    (folder / "torn.ipynb").write_text("{")
    return folder


def expected(assignment: Assignment) -> dict[str, tuple[str, float | None]]:
    points = [task.total for task in assignment.tasks]
    found: dict[str, tuple[str, float | None]] = {
        f"student-{n}": ("graded", float(sum(points[n % (len(points) + 1) :])))
        for n in range(STUDENTS)
    }
    return found | {"torn": ("unreadable", None)}


def seen(course: Path) -> dict[str, tuple[str, float | None]]:
    rows = harness.rows((course / "results" / f"{NAME}.csv").read_text())
    return {student: (row.status, row.score) for student, row in rows.items()}


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course in which nothing has been graded."""
    course = tmp_path_factory.mktemp("blank") / "course"
    harness.call("course", course, "--from", harness.SAMPLE)
    return course


@pytest.fixture
def course(blank: Path, tmp_path: Path) -> Path:
    return shutil.copytree(blank, tmp_path / "course")


def _graders(marker: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if marker in " ".join(process.cmdline()) or marker in process.environ().get("MARK", ""):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_grading_resumes_after_being_killed(
    course: Path, blank: Path, folder: Path, assignment: Assignment, tmp_path: Path
) -> None:
    where = ("--submissions", folder, "--course", course, "--quiet", *harness.LIMITS)
    mark = f"jaxbits-test-{os.getpid()}-{time.monotonic_ns()}"
    for done in (1, 3):
        process = harness.command("grade", NAME, *where, "-j", "2", env={"MARK": mark})
        ends = time.monotonic() + 300
        while len(list((course / "results" / NAME).glob("*.json"))) < done:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < ends
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        ends = time.monotonic() + 10
        while _graders(mark):
            assert time.monotonic() < ends, _graders(mark)
            time.sleep(0.1)
    kept = {p: p.stat().st_mtime_ns for p in (course / "results" / NAME).glob("*.json")}
    harness.grade(course, folder, NAME, "-j", "2")
    assert seen(course) == expected(assignment)
    assert {p: p.stat().st_mtime_ns for p in kept} == kept
    whole = shutil.copytree(blank, tmp_path / "whole")
    harness.grade(whole, folder, NAME, "-j", "1")
    results = [c / "results" / f"{NAME}.csv" for c in (course, whole)]
    assert results[0].read_bytes() == results[1].read_bytes()


def test_no_process_survives_a_killed_grader(
    course: Path, assignment: Assignment, tmp_path: Path
) -> None:
    folder = tmp_path / "submissions"
    folder.mkdir()
    endless = student_notebook(assignment)
    endless.cells.insert(1, new_code_cell("while True:\n    pass"))
    (folder / "ann.ipynb").write_text(notebook_text(endless))
    mark = f"jaxbits-test-{os.getpid()}-{time.monotonic_ns()}"
    where = ("--submissions", folder, "--course", course, "--quiet", *harness.LIMITS)
    process = harness.command("grade", NAME, *where, env={"MARK": mark})
    ends = time.monotonic() + 120
    while not any(p.children() for p in _graders(mark) if p.pid != process.pid):
        assert time.monotonic() < ends
        time.sleep(0.1)
    time.sleep(3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    ends = time.monotonic() + 20
    while _graders(mark):
        assert time.monotonic() < ends, _graders(mark)
        time.sleep(0.1)


def _side_by_side(course: Path, folder: Path) -> None:
    """Run two graders at the same time, both for all submissions."""
    where = ("--submissions", folder, "--course", course, "--quiet", *harness.LIMITS)
    both = [harness.command("grade", NAME, *where) for _ in range(2)]
    for process in both:
        out = "".join(process.communicate(timeout=600))
        assert process.returncode == 0, out


def _graded_once(course: Path) -> None:
    """Check that each submission's log shows that it was graded once."""
    for log in (course / "results" / NAME).glob("student-*.log"):
        assert log.read_text(errors="replace").count("Autograding ") == 1, log.read_text()


def test_two_pools_on_one_course(course: Path, folder: Path, assignment: Assignment) -> None:
    _side_by_side(course, folder)
    assert seen(course) == expected(assignment)
    _graded_once(course)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server that runs during these tests."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [
        os.path.dirname(found) for found in [shutil.which("initdb")] if found
    ]
    if not programs:
        pytest.skip("no PostgreSQL server is installed")
    place = Path(tempfile.mkdtemp(prefix="pg"))
    os.chmod(place, 0o777)
    # PostgreSQL refuses to run as root.
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def run(program: str, *arguments: str) -> None:
        command = [*user, f"{programs[-1]}/{program}", *arguments]
        done = subprocess.run(command, cwd=place, stdout=subprocess.DEVNULL, check=False)
        assert done.returncode == 0, command

    data = str(place / "data")
    run("initdb", "-D", data, "-A", "trust", "-U", "grader", "--no-sync")
    options = f"-k {place} -c listen_addresses='' -c fsync=off"
    run("pg_ctl", "-D", data, "-w", "-l", str(place / "log"), "-o", options, "start")
    run("createdb", "-h", str(place), "-U", "grader", "course")
    yield f"postgresql://grader@/course?host={place}"
    run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    shutil.rmtree(place)


def test_two_pools_with_postgresql(
    tmp_path: Path, folder: Path, assignment: Assignment, postgres: str
) -> None:
    course = tmp_path / "course"
    harness.call("course", course, "--from", harness.SAMPLE, "--db", postgres)
    _side_by_side(course, folder)
    assert seen(course) == expected(assignment)
    _graded_once(course)
    assert not (course / "gradebook.db").exists()
    with Gradebook(postgres, course.name) as gradebook:
        scores = {s.student.id: s.score for s in gradebook.assignment_submissions(NAME)}
    wanted = {student: score for student, (_, score) in expected(assignment).items()}
    assert scores == {student: score for student, score in wanted.items() if score is not None}


def test_grading_one_student_at_a_time(course: Path, folder: Path, assignment: Assignment) -> None:
    one = harness.grade(course, folder, NAME, "--student", "student-1")
    assert "student-1: graded" in one
    harness.call("results", NAME, "--submissions", folder, "--course", course)
    rows = seen(course)
    assert rows["student-1"] == expected(assignment)["student-1"]
    assert {row for student, row in rows.items() if student != "student-1"} == {("failed", None)}
    unknown = harness.call(
        "grade", NAME, "--submissions", folder, "--course", course, "--student", "nobody", status=2
    )
    assert "no submission from nobody" in unknown


def test_a_submission_that_changed_is_graded_again(
    course: Path, assignment: Assignment, tmp_path: Path
) -> None:
    folder = tmp_path / "submissions"
    folder.mkdir()
    path = folder / "ann.ipynb"
    path.write_text(notebook_text(student_notebook(assignment)))
    harness.grade(course, folder, NAME)
    assert seen(course)["ann"] == ("graded", 0.0)
    path.write_text(notebook_text(solution_notebook(assignment)))
    harness.grade(course, folder, NAME)
    assert seen(course)["ann"] == ("graded", float(assignment.points))


def test_manual_points_survive_regrading(
    course: Path, assignment: Assignment, tmp_path: Path
) -> None:
    folder = tmp_path / "submissions"
    folder.mkdir()
    (folder / "ann.ipynb").write_text(notebook_text(student_notebook(assignment)))
    harness.grade(course, folder, NAME)
    test, points = next(iter(assignment.tasks[0].points.items()))
    harness.call("mark", NAME, "ann", test, points, "--course", course)
    where = ("--submissions", folder, "--course", course)
    page = course / "feedback" / NAME / "ann.html"
    by_hand = f"{points} of {assignment.points} points"
    assert by_hand not in page.read_text()
    harness.call("results", NAME, *where)
    assert seen(course)["ann"] == ("graded", float(points))
    assert by_hand in page.read_text()
    assert f"points entered by hand: {test}" in page.read_text()
    assert "Your notebook, as it ran" in page.read_text()
    harness.grade(course, folder, NAME, "--again")
    assert seen(course)["ann"] == ("graded", float(points))
    assert by_hand in page.read_text()
    refused = harness.call("mark", NAME, "ann", test, points + 1, "--course", course, status=2)
    assert "must be between 0 and" in refused


def test_no_page_shows_an_earlier_submission(
    course: Path, assignment: Assignment, tmp_path: Path
) -> None:
    folder = tmp_path / "submissions"
    folder.mkdir()
    path = folder / "cleo.ipynb"
    path.write_text(notebook_text(solution_notebook(assignment)))
    harness.grade(course, folder, NAME)
    page = course / "feedback" / NAME / "cleo.html"
    full = f"{assignment.points} of {assignment.points} points"
    assert full in page.read_text()
    path.write_text("{")
    harness.grade(course, folder, NAME)
    assert "could not be read as a notebook" in page.read_text()
    assert full not in page.read_text()
    path.write_text(notebook_text(solution_notebook(assignment)))
    harness.call("results", NAME, "--submissions", folder, "--course", course)
    assert seen(course)["cleo"] == ("failed", None)
    assert "not graded since it was handed in again" in page.read_text()
