"""Test that the corpus of submissions is complete and consistent."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import re
from collections import Counter
from pathlib import Path

import corpus
import nbformat
import pytest
from corpus.expected import SCORED
from corpus.submission_builder import SubmissionBuilder, graded_cells
from IPython.core.inputtransformer2 import TransformerManager
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import read_assignment
from jaxbits_grader.grade_records import STATUSES
from jaxbits_grader.notebook import nbgrader_metadata

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = {
    "plain", "stderr", "harmless", "tests-lost", "tests-replaced", "duplicates", "renamed", "names",
    "damaged", "unreadable", "kernel-death", "parent", "endless", "memory", "children", "output",
    "shell", "secret-reading", "hidden-tests", "tampering", "fake-equality", "adjacent-files",
    "web", "messy",
}  # fmt: skip
# These students submit invalid Python on purpose.
INVALID_PYTHON = {"syntax-error", "typos-in-own-cells"}


@pytest.fixture(scope="module")
def assignment() -> Assignment:
    return read_assignment(ROOT / "assignments" / "pure-functions")


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> corpus.Secrets:
    machine = tmp_path_factory.mktemp("machine")
    return corpus.Secrets(
        course=machine / "course",
        gradebook=machine / "course" / "gradebook.db",
        other=machine / "submissions" / f"{corpus.NEIGHBOR}.ipynb",
        other_text="a neighbor's own words 4711",
        file=machine / "secret.txt",
        text="the secret is 918273645",
        variable="CORPUS_TOKEN",
        value="token-5551212",
        port=54321,
        submissions=machine / "submissions",
    )


@pytest.fixture(scope="module")
def expected_results(assignment: Assignment, secrets: corpus.Secrets) -> dict[str, corpus.Expected]:
    return corpus.write(secrets.submissions, assignment, secrets)


def entry(folder: Path, student: str) -> Path:
    file = folder / f"{student}.ipynb"
    return file if os.path.lexists(file) else folder / student


def test_corpus_has_enough_submissions_in_every_family(
    expected_results: dict[str, corpus.Expected],
) -> None:
    families = Counter(expected.family for expected in expected_results.values())
    assert set(families) == FAMILIES
    assert min(families.values()) >= 3
    core = [expected for expected in expected_results.values() if expected.core]
    assert len(expected_results) >= 200
    assert len(core) >= 60
    assert {expected.family for expected in core} == FAMILIES
    assert sum(expected.slow for expected in expected_results.values()) <= 12


def test_write_creates_folder_for_half_of_students(
    expected_results: dict[str, corpus.Expected], secrets: corpus.Secrets
) -> None:
    students = {path.name.removesuffix(".ipynb") for path in secrets.submissions.iterdir()}
    assert students == set(expected_results)
    folders = sum(path.is_dir() for path in secrets.submissions.iterdir())
    assert 0.35 < folders / len(expected_results) < 0.65
    for student in expected_results:
        assert os.path.lexists(entry(secrets.submissions, student))
    assert secrets.other.is_file()
    assert secrets.other_text in secrets.other.read_text()


def test_expected_results_are_consistent(
    expected_results: dict[str, corpus.Expected], assignment: Assignment
) -> None:
    for student, expected in expected_results.items():
        assert expected.summary, student
        assert expected.statuses, student
        assert expected.statuses <= set(STATUSES) - {"failed"}, student
        has_score = bool(expected.statuses & SCORED)
        assert has_score is (expected.score is not None), student
        if expected.score is not None:
            score = expected.score if isinstance(expected.score, tuple) else (expected.score,) * 2
            assert 0 <= score[0] <= score[1] <= assignment.points, student
        for regex in (*expected.notes, *expected.live):
            re.compile(regex)


def test_expected_scores_match_task_points(
    expected_results: dict[str, corpus.Expected], assignment: Assignment
) -> None:
    first, last = assignment.tasks[0], assignment.tasks[-1]
    assert expected_results["right"].score == assignment.points
    assert expected_results["blank"].score == expected_results["wrong"].score == 0
    assert expected_results["first-missing"].score == assignment.points - first.total
    assert expected_results["os-exit-in-first-task"].score == 0
    assert expected_results["os-exit-in-last-task"].score == assignment.points - last.total
    assert expected_results["empty"].score is None
    assert expected_results["empty"].statuses == {"unreadable"}
    assert expected_results["patches-testing"].statuses == {"tampered"}


def test_intact_notebooks_contain_valid_python(
    expected_results: dict[str, corpus.Expected], secrets: corpus.Secrets
) -> None:
    modified = {
        "damaged",
        "unreadable",
        "tests-lost",
        "tests-replaced",
        "duplicates",
        "names",
        "renamed",
        "messy",
    }
    for student, expected in expected_results.items():
        if expected.family in modified | {"adjacent-files"}:
            continue
        path = entry(secrets.submissions, student)
        path = next(path.glob("*.ipynb")) if path.is_dir() else path
        notebook = nbformat.reads(path.read_text(), as_version=4)
        for cell in notebook.cells if student not in INVALID_PYTHON else []:
            if cell.cell_type == "code":
                ast.parse(
                    TransformerManager().transform_cell(cell.source), student, type_comments=False
                )


def test_submission_builder_returns_valid_notebooks(
    assignment: Assignment, secrets: corpus.Secrets
) -> None:
    builder = SubmissionBuilder(assignment, secrets)
    for notebook in (builder.right(), builder.wrong(), builder.blank()):
        nbformat.validate(notebook)
        assert (
            sum(nbgrader_metadata(cell)["points"] for cell in graded_cells(notebook))
            == assignment.points
        )
        assert "HIDDEN" not in nbformat.writes(notebook)
    assert "raise NotImplementedError()" not in nbformat.writes(builder.wrong())
    assert "return None" in nbformat.writes(builder.wrong())
    task, name = builder.first_function()
    assert f"{name} = _around({name})" in nbformat.writes(builder.with_code_in_answer("print(1)"))
    assert builder.points_before(assignment.tasks[1]) == builder.points_through(task) == task.total


def test_unreadable_submissions_are_not_notebooks(
    expected_results: dict[str, corpus.Expected], secrets: corpus.Secrets
) -> None:
    for student, expected in expected_results.items():
        path = entry(secrets.submissions, student)
        if expected.family != "unreadable" or not path.is_file() or path.is_symlink():
            continue
        if path.stat().st_size > 2**24 or student == "forbidden":
            continue
        try:
            cells = json.loads(path.read_bytes())["cells"]
        except (ValueError, RecursionError, TypeError, KeyError):
            continue
        assert not isinstance(cells, list) or not cells, student


def test_harmful_code_refuses_to_run_outside_sandbox(
    expected_results: dict[str, corpus.Expected], secrets: corpus.Secrets
) -> None:
    for student, expected in expected_results.items():
        harmful = student.startswith("hog-") or expected.family == "parent"
        if harmful or student in ("fork-bomb", "leaves-files", "reads-memory", "deletes-its-files"):
            path = entry(secrets.submissions, student)
            path = next(path.glob("*.ipynb")) if path.is_dir() else path
            assert "not in a sandbox: not tried" in path.read_text()


def test_submissions_contain_no_secret(
    expected_results: dict[str, corpus.Expected], secrets: corpus.Secrets
) -> None:
    for student, expected in expected_results.items():
        path = entry(secrets.submissions, student)
        for file in path.rglob("*") if path.is_dir() else [path]:
            if file.is_symlink() or not file.is_file() or file.stat().st_size > 2**24:
                continue
            text = file.read_bytes().decode("utf-8", "replace")
            assert not [secret for secret in expected.forbidden if secret in text], student
    neighbor, right = expected_results[corpus.NEIGHBOR], expected_results["right"]
    assert secrets.other_text in right.forbidden
    assert secrets.other_text not in neighbor.forbidden


def test_expected_forbids_hidden_test_lines(
    expected_results: dict[str, corpus.Expected], assignment: Assignment
) -> None:
    hidden = corpus.hidden_test_lines(assignment)
    assert len(hidden) > 20
    assert set(hidden) <= set(expected_results["right"].forbidden)
    for task in assignment.tasks:
        for test in task.points:
            text = assignment.cell(test).source
            assert "BEGIN HIDDEN" not in text or any(line in text for line in hidden), test


def test_mismatches_name_each_difference() -> None:
    expected = corpus.Expected(
        frozenset({"graded", "tampered"}), (1.0, 2.0), (r"mended",), ("secret",), (r"<script>x",)
    )
    assert expected.mismatches("graded", 1.5, "was mended", "<b>fine</b>") == []
    assert expected.mismatches("tampered", None, "mended") == []
    assert expected.mismatches("tampered", 0.0, "mended") == [
        "the score is 0.0, and should be blank"
    ]
    assert expected.mismatches("graded", None, "mended") == ["the score is None, not (1.0, 2.0)"]
    assert expected.mismatches("failed", None, "mended")
    assert expected.mismatches("graded", 2.0, "")
    for page in ("a secret", "a <b>sec</b>ret", "a s&#101;cret"):
        assert expected.mismatches("graded", 2.0, "mended", page) == ["shows 'secret'"]
    assert expected.mismatches("graded", 2.0, "mended", "<script>x()")
    assert not expected.mismatches("graded", 2.0, "mended", "&lt;script&gt;x()")


def test_write_writes_only_selected_submissions(
    tmp_path: Path, assignment: Assignment, secrets: corpus.Secrets
) -> None:
    plain = corpus.write(tmp_path, assignment, secrets, only=lambda s: s.family == "plain")
    assert set(plain) >= {"right", "blank", corpus.NEIGHBOR}
    assert {expected.family for expected in plain.values()} == {"plain"}
    other_secrets = dataclasses.replace(secrets, file=tmp_path / "FILE")
    assert {entry.student for entry in corpus.all_submissions(assignment, other_secrets)} >= set(
        plain
    )


def test_snapshot_reflects_file_changes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nowhere")
    before = corpus.snapshot(tmp_path, tmp_path / "missing")
    assert before == corpus.snapshot(tmp_path, tmp_path / "missing")
    (tmp_path / "file").write_text("b")
    (tmp_path / "new").write_text("")
    after = corpus.snapshot(tmp_path, tmp_path / "missing")
    assert {name for name in after if after[name] != before.get(name)} >= {
        str(tmp_path / "file"),
        str(tmp_path / "new"),
    }
    assert corpus.leftover_processes() == []
