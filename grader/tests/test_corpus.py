"""The corpus of submissions is complete and consistent."""

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
    "shell", "reading", "hidden-tests", "tampering", "equal", "beside", "web",
}  # fmt: skip
# These contain invalid code on purpose.
NO_PYTHON = {"syntax-error", "typos-in-own-cells"}


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
def written(assignment: Assignment, secrets: corpus.Secrets) -> dict[str, corpus.Expected]:
    return corpus.write(secrets.submissions, assignment, secrets)


def entry(folder: Path, student: str) -> Path:
    file = folder / f"{student}.ipynb"
    return file if os.path.lexists(file) else folder / student


def test_there_are_enough_of_every_family(written: dict[str, corpus.Expected]) -> None:
    families = Counter(expected.family for expected in written.values())
    assert set(families) == FAMILIES
    assert min(families.values()) >= 3
    core = [expected for expected in written.values() if expected.core]
    assert len(written) >= 200
    assert len(core) >= 60
    assert {expected.family for expected in core} == FAMILIES
    assert sum(expected.slow for expected in written.values()) <= 12


def test_each_student_has_an_entry_and_half_of_them_a_folder(
    written: dict[str, corpus.Expected], secrets: corpus.Secrets
) -> None:
    there = {path.name.removesuffix(".ipynb") for path in secrets.submissions.iterdir()}
    assert there == set(written)
    folders = sum(path.is_dir() for path in secrets.submissions.iterdir())
    assert 0.35 < folders / len(written) < 0.65
    for student in written:
        assert os.path.lexists(entry(secrets.submissions, student))
    assert secrets.other.is_file()
    assert secrets.other_text in secrets.other.read_text()


def test_expectations_are_consistent(
    written: dict[str, corpus.Expected], assignment: Assignment
) -> None:
    for student, expected in written.items():
        assert expected.what, student
        assert expected.statuses, student
        assert expected.statuses <= set(STATUSES) - {"failed"}, student
        has_score = bool(expected.statuses & SCORED)
        assert has_score is (expected.score is not None), student
        if expected.score is not None:
            score = expected.score if isinstance(expected.score, tuple) else (expected.score,) * 2
            assert 0 <= score[0] <= score[1] <= assignment.points, student
        for regex in (*expected.notes, *expected.live):
            re.compile(regex)


def test_scores_follow_the_tasks(
    written: dict[str, corpus.Expected], assignment: Assignment
) -> None:
    first, last = assignment.tasks[0], assignment.tasks[-1]
    assert written["right"].score == assignment.points
    assert written["blank"].score == written["wrong"].score == 0
    assert written["first-missing"].score == assignment.points - first.total
    assert written["os-exit-in-first-task"].score == 0
    assert written["os-exit-in-last-task"].score == assignment.points - last.total
    assert written["empty"].score is None
    assert written["empty"].statuses == {"unreadable"}
    assert written["patches-testing"].statuses == {"tampered"}


def test_intact_notebooks_contain_python(
    written: dict[str, corpus.Expected], secrets: corpus.Secrets
) -> None:
    odd = {
        "damaged",
        "unreadable",
        "tests-lost",
        "tests-replaced",
        "duplicates",
        "names",
        "renamed",
    }
    for student, expected in written.items():
        if expected.family in odd | {"beside"}:
            continue
        path = entry(secrets.submissions, student)
        path = next(path.glob("*.ipynb")) if path.is_dir() else path
        notebook = nbformat.reads(path.read_text(), as_version=4)
        for cell in notebook.cells if student not in NO_PYTHON else []:
            if cell.cell_type == "code":
                ast.parse(
                    TransformerManager().transform_cell(cell.source), student, type_comments=False
                )


def test_right_wrong_and_blank_notebooks(assignment: Assignment, secrets: corpus.Secrets) -> None:
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
    task, name = builder.function()
    assert f"{name} = _around({name})" in nbformat.writes(builder.called("print(1)"))
    assert builder.before(assignment.tasks[1]) == builder.until(task) == task.total


def test_unreadable_entries_are_not_notebooks(
    written: dict[str, corpus.Expected], secrets: corpus.Secrets
) -> None:
    for student, expected in written.items():
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


def test_harmful_code_runs_only_in_a_sandbox(
    written: dict[str, corpus.Expected], secrets: corpus.Secrets
) -> None:
    for student, expected in written.items():
        harmful = student.startswith("hog-") or expected.family == "parent"
        if harmful or student in ("fork-bomb", "leaves-files", "reads-memory", "deletes-its-files"):
            path = entry(secrets.submissions, student)
            path = next(path.glob("*.ipynb")) if path.is_dir() else path
            assert "not in a sandbox: not tried" in path.read_text()


def test_no_submission_contains_a_secret(
    written: dict[str, corpus.Expected], secrets: corpus.Secrets
) -> None:
    for student, expected in written.items():
        path = entry(secrets.submissions, student)
        for file in path.rglob("*") if path.is_dir() else [path]:
            if file.is_symlink() or not file.is_file() or file.stat().st_size > 2**24:
                continue
            text = file.read_bytes().decode("utf-8", "replace")
            assert not [secret for secret in expected.forbidden if secret in text], student
    neighbor, right = written[corpus.NEIGHBOR], written["right"]
    assert secrets.other_text in right.forbidden
    assert secrets.other_text not in neighbor.forbidden


def test_hidden_tests_are_among_what_is_forbidden(
    written: dict[str, corpus.Expected], assignment: Assignment
) -> None:
    hidden = corpus.hidden(assignment)
    assert len(hidden) > 20
    assert set(hidden) <= set(written["right"].forbidden)
    for task in assignment.tasks:
        for test in task.points:
            text = assignment.cell(test).source
            assert "BEGIN HIDDEN" not in text or any(line in text for line in hidden), test


def test_complaints() -> None:
    expected = corpus.Expected(
        frozenset({"graded", "tampered"}), (1.0, 2.0), (r"mended",), ("secret",), (r"<script>x",)
    )
    assert expected.complaints("graded", 1.5, "was mended", "<b>fine</b>") == []
    assert expected.complaints("tampered", None, "mended") == []
    assert expected.complaints("tampered", 0.0, "mended") == [
        "the score is 0.0, and should be blank"
    ]
    assert expected.complaints("graded", None, "mended") == ["the score is None, not (1.0, 2.0)"]
    assert expected.complaints("failed", None, "mended")
    assert expected.complaints("graded", 2.0, "")
    for shown in ("a secret", "a <b>sec</b>ret", "a s&#101;cret"):
        assert expected.complaints("graded", 2.0, "mended", shown) == ["shows 'secret'"]
    assert expected.complaints("graded", 2.0, "mended", "<script>x()")
    assert not expected.complaints("graded", 2.0, "mended", "&lt;script&gt;x()")


def test_write_a_selection(tmp_path: Path, assignment: Assignment, secrets: corpus.Secrets) -> None:
    quick = corpus.write(tmp_path, assignment, secrets, only=lambda s: s.family == "plain")
    assert set(quick) >= {"right", "blank", corpus.NEIGHBOR}
    assert {expected.family for expected in quick.values()} == {"plain"}
    own = dataclasses.replace(secrets, file=tmp_path / "FILE")
    assert {entry.student for entry in corpus.all_submissions(assignment, own)} >= set(quick)


def test_snapshot_shows_changes(tmp_path: Path) -> None:
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
    assert corpus.left_behind() == []
