"""Test new courses, killed and concurrent graders, regrading, and a gradebook in PostgreSQL."""

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
from jaxbits_grader.files import notebook_text, write_atomically
from jaxbits_grader.gradebook.course import set_up_course
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
    """Return a folder of submissions that leave different numbers of tasks unsolved."""
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


def expected_results(assignment: Assignment) -> dict[str, tuple[str, float | None]]:
    points = [task.total for task in assignment.tasks]
    results: dict[str, tuple[str, float | None]] = {
        f"student-{n}": ("graded", float(sum(points[n % (len(points) + 1) :])))
        for n in range(STUDENTS)
    }
    return results | {"torn": ("unreadable", None)}


def read_results(course: Path) -> dict[str, tuple[str, float | None]]:
    rows = harness.parse_results((course / "results" / f"{NAME}.csv").read_text())
    return {student: (row.status, row.score) for student, row in rows.items()}


@pytest.fixture(scope="module")
def ungraded_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a course in which nothing has been graded."""
    course = tmp_path_factory.mktemp("blank") / "course"
    harness.run_grader("course", course, "--from", harness.SAMPLE)
    return course


@pytest.fixture
def course(ungraded_course: Path, tmp_path: Path) -> Path:
    return shutil.copytree(ungraded_course, tmp_path / "course")


@pytest.mark.parametrize("exists", [False, True])
def test_only_the_owner_can_read_a_course_before_anything_is_written(
    exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, modes = tmp_path / "new" / "course", set()

    def write_and_record_mode(path: Path, text: str) -> bool:
        modes.add(root.stat().st_mode & 0o777)
        return write_atomically(path, text)

    if exists:
        root.mkdir(parents=True)
        root.chmod(0o755)
    monkeypatch.setattr("jaxbits_grader.gradebook.course.write_atomically", write_and_record_mode)
    monkeypatch.setenv("PATH", os.environ["PATH"])  # `set_up_course` extends it.
    set_up_course(root, harness.SAMPLE)
    assert (root / "source" / NAME / f"{NAME}.ipynb").exists()
    assert modes | {root.stat().st_mode & 0o777} == {0o700}


def _processes_with_marker(marker: str) -> list[psutil.Process]:
    processes = []
    for process in psutil.process_iter():
        try:
            if marker in " ".join(process.cmdline()) or marker in process.environ().get("MARK", ""):
                processes.append(process)
        except psutil.Error:
            continue
    return processes


def test_grade_command_resumes_after_being_killed(
    course: Path, ungraded_course: Path, folder: Path, assignment: Assignment, tmp_path: Path
) -> None:
    options = ("--submissions", folder, "--course", course, "--quiet", *harness.LIMITS)
    marker = f"jaxbits-test-{os.getpid()}-{time.monotonic_ns()}"
    for record_count in (1, 3):
        process = harness.start_grader("grade", NAME, *options, "-j", "2", env={"MARK": marker})
        deadline = time.monotonic() + 300
        while len(list((course / "results" / NAME).glob("*.json"))) < record_count:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        deadline = time.monotonic() + 10
        while _processes_with_marker(marker):
            assert time.monotonic() < deadline, _processes_with_marker(marker)
            time.sleep(0.1)
    record_times = {p: p.stat().st_mtime_ns for p in (course / "results" / NAME).glob("*.json")}
    harness.grade(course, folder, NAME, "-j", "2")
    assert read_results(course) == expected_results(assignment)
    assert {p: p.stat().st_mtime_ns for p in record_times} == record_times
    uninterrupted = shutil.copytree(ungraded_course, tmp_path / "whole")
    harness.grade(uninterrupted, folder, NAME, "-j", "1")
    results = [c / "results" / f"{NAME}.csv" for c in (course, uninterrupted)]
    assert results[0].read_bytes() == results[1].read_bytes()


def test_killed_grade_command_leaves_no_process(
    course: Path, assignment: Assignment, tmp_path: Path
) -> None:
    folder = tmp_path / "submissions"
    folder.mkdir()
    endless = student_notebook(assignment)
    endless.cells.insert(1, new_code_cell("while True:\n    pass"))
    (folder / "ann.ipynb").write_text(notebook_text(endless))
    marker = f"jaxbits-test-{os.getpid()}-{time.monotonic_ns()}"
    options = ("--submissions", folder, "--course", course, "--quiet", *harness.LIMITS)
    process = harness.start_grader("grade", NAME, *options, env={"MARK": marker})
    deadline = time.monotonic() + 120
    while not any(p.children() for p in _processes_with_marker(marker) if p.pid != process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 20
    while _processes_with_marker(marker):
        assert time.monotonic() < deadline, _processes_with_marker(marker)
        time.sleep(0.1)


def _run_two_graders(course: Path, folder: Path) -> None:
    """Run two graders at the same time, each on all submissions."""
    options = ("--submissions", folder, "--course", course, "--quiet", *harness.LIMITS)
    processes = [harness.start_grader("grade", NAME, *options) for _ in range(2)]
    for process in processes:
        out = "".join(process.communicate(timeout=600))
        assert process.returncode == 0, out


def _check_graded_once(course: Path) -> None:
    """Check that each submission's log shows that it was graded only once."""
    for log in (course / "results" / NAME).glob("student-*.log"):
        assert log.read_text(errors="replace").count("Autograding ") == 1, log.read_text()


def test_concurrent_graders_grade_each_submission_once(
    course: Path, folder: Path, assignment: Assignment
) -> None:
    _run_two_graders(course, folder)
    assert read_results(course) == expected_results(assignment)
    _check_graded_once(course)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """Start a PostgreSQL server for these tests, and return its URL."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [
        os.path.dirname(initdb) for initdb in [shutil.which("initdb")] if initdb
    ]
    if not programs:
        pytest.skip("no PostgreSQL server is installed")
    server_folder = Path(tempfile.mkdtemp(prefix="pg"))
    os.chmod(server_folder, 0o777)
    # PostgreSQL refuses to run as root.
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def run(program: str, *arguments: str) -> None:
        command = [*user, f"{programs[-1]}/{program}", *arguments]
        process = subprocess.run(command, cwd=server_folder, stdout=subprocess.DEVNULL, check=False)
        assert process.returncode == 0, command

    data = str(server_folder / "data")
    run("initdb", "-D", data, "-A", "trust", "-U", "grader", "--no-sync")
    options = f"-k {server_folder} -c listen_addresses='' -c fsync=off"
    run("pg_ctl", "-D", data, "-w", "-l", str(server_folder / "log"), "-o", options, "start")
    run("createdb", "-h", str(server_folder), "-U", "grader", "course")
    yield f"postgresql://grader@/course?host={server_folder}"
    run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    shutil.rmtree(server_folder)


def test_concurrent_graders_share_postgresql_gradebook(
    tmp_path: Path, folder: Path, assignment: Assignment, postgres: str
) -> None:
    course = tmp_path / "course"
    harness.run_grader("course", course, "--from", harness.SAMPLE, "--db", postgres)
    _run_two_graders(course, folder)
    assert read_results(course) == expected_results(assignment)
    _check_graded_once(course)
    assert not (course / "gradebook.db").exists()
    with Gradebook(postgres, course.name) as gradebook:
        scores = {s.student.id: s.score for s in gradebook.assignment_submissions(NAME)}
    expected_scores = {
        student: score for student, (_, score) in expected_results(assignment).items()
    }
    assert scores == {
        student: score for student, score in expected_scores.items() if score is not None
    }


def test_grade_command_grades_only_selected_student(
    course: Path, folder: Path, assignment: Assignment
) -> None:
    output = harness.grade(course, folder, NAME, "--student", "student-1")
    assert "student-1: graded" in output
    harness.run_grader("results", NAME, "--submissions", folder, "--course", course)
    rows = read_results(course)
    assert rows["student-1"] == expected_results(assignment)["student-1"]
    assert {row for student, row in rows.items() if student != "student-1"} == {("failed", None)}
    error = harness.run_grader(
        "grade", NAME, "--submissions", folder, "--course", course, "--student", "nobody", status=2
    )
    assert "no submission from nobody" in error


def test_grade_command_regrades_changed_submission(
    course: Path, assignment: Assignment, tmp_path: Path
) -> None:
    folder = tmp_path / "submissions"
    folder.mkdir()
    path = folder / "ann.ipynb"
    path.write_text(notebook_text(student_notebook(assignment)))
    harness.grade(course, folder, NAME)
    assert read_results(course)["ann"] == ("graded", 0.0)
    path.write_text(notebook_text(solution_notebook(assignment)))
    harness.grade(course, folder, NAME)
    assert read_results(course)["ann"] == ("graded", float(assignment.points))


def test_manual_points_survive_regrading(
    course: Path, assignment: Assignment, tmp_path: Path
) -> None:
    folder = tmp_path / "submissions"
    folder.mkdir()
    (folder / "ann.ipynb").write_text(notebook_text(student_notebook(assignment)))
    harness.grade(course, folder, NAME)
    test, points = next(iter(assignment.tasks[0].points.items()))
    harness.run_grader("mark", NAME, "ann", test, points, "--course", course)
    options = ("--submissions", folder, "--course", course)
    page = course / "feedback" / NAME / "ann.html"
    manual_score = f"{points} of {assignment.points} points"
    assert manual_score not in page.read_text()
    harness.run_grader("results", NAME, *options)
    assert read_results(course)["ann"] == ("graded", float(points))
    assert manual_score in page.read_text()
    assert f"points entered by hand: {test}" in page.read_text()
    assert "Your notebook, as it ran" in page.read_text()
    harness.grade(course, folder, NAME, "--again")
    assert read_results(course)["ann"] == ("graded", float(points))
    assert manual_score in page.read_text()
    error = harness.run_grader("mark", NAME, "ann", test, points + 1, "--course", course, status=2)
    assert "must be between 0 and" in error


def test_feedback_page_never_shows_earlier_submission(
    course: Path, assignment: Assignment, tmp_path: Path
) -> None:
    folder = tmp_path / "submissions"
    folder.mkdir()
    path = folder / "cleo.ipynb"
    path.write_text(notebook_text(solution_notebook(assignment)))
    harness.grade(course, folder, NAME)
    page = course / "feedback" / NAME / "cleo.html"
    full_score = f"{assignment.points} of {assignment.points} points"
    assert full_score in page.read_text()
    path.write_text("{")
    harness.grade(course, folder, NAME)
    assert "no notebook could be graded" in page.read_text()
    assert full_score not in page.read_text()
    path.write_text(notebook_text(solution_notebook(assignment)))
    harness.run_grader("results", NAME, "--submissions", folder, "--course", course)
    assert read_results(course)["cleo"] == ("failed", None)
    assert "not graded since it was handed in again" in page.read_text()
