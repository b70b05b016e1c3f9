"""Test which problems `validate` finds in an assignment."""

from __future__ import annotations

from pathlib import Path

import grading_harness as harness
import pytest
from jaxbits_grader.authoring.assignment_source import (
    ANSWERS_FILE,
    SOURCE_FILE,
    SourceError,
    parse_assignment,
    read_assignment,
)
from jaxbits_grader.authoring.reference_answers import read_answers
from jaxbits_grader.authoring.validation import Attempt, validate
from jaxbits_grader.checking.solution_check import check_forbidden_names
from jaxbits_grader.cli import main
from test_assignment_source import VALID_SOURCE

RIGHT_ANSWER = """# %% load · right: a loop
def load(holds):
    total = 0
    for h in holds:
        total += h
    return total
"""
WRONG_ANSWERS = "".join(
    f"\n# %% load · wrong: {n}\ndef load(holds):\n    return sum(holds) - {n}\n" for n in (1, 2, 3)
)


def validate_source(
    folder: Path,
    answers: str = RIGHT_ANSWER + WRONG_ANSWERS,
    text: str = VALID_SOURCE,
    **options: float | Path,
) -> list[Attempt]:
    return validate(write_assignment(folder, "ships", answers, text), **options)  # type: ignore[arg-type]


def write_assignment(
    folder: Path,
    name: str,
    answers: str = RIGHT_ANSWER + WRONG_ANSWERS,
    text: str = VALID_SOURCE,
) -> Path:
    assignment = folder / name
    assignment.mkdir()
    (assignment / SOURCE_FILE).write_text(text)
    (assignment / ANSWERS_FILE).write_text(answers)
    return assignment


def problems(attempts: list[Attempt]) -> list[tuple[str, str]]:
    return [(attempt.kind, str(attempt.problem)) for attempt in attempts if attempt.problem]


@pytest.mark.parametrize("seed", [None, 3])
def test_validate_finds_no_problem_in_valid_assignment(tmp_path: Path, seed: int | None) -> None:
    attempts = validate_source(tmp_path, seed=seed)  # type: ignore[arg-type]
    assert problems(attempts) == []
    assert [(attempt.kind, attempt.points) for attempt in attempts] == [
        ("solution", 2), ("stub", 0), ("right", 2), ("wrong", 0), ("wrong", 0), ("wrong", 0),
    ]  # fmt: skip
    assert "✓ load" in attempts[0].line()
    assert "[AssertionError: the sum]" in attempts[3].line()


def test_validate_reports_mislabeled_answers(tmp_path: Path) -> None:
    mislabeled = """
# %% load · wrong: as good as right
load = sum

# %% load · right: not quite
def load(holds):
    return holds[0]

# %% load · wrong: a slip
def load(holds):
    return total

# %% load · wrong: no Python
def load(holds)
    return 1
"""
    reported = problems(validate_source(tmp_path, RIGHT_ANSWER + WRONG_ANSWERS + mislabeled))
    assert [kind for kind, _ in reported] == ["wrong", "right", "wrong", "wrong"]
    assert "must lose points" in reported[0][1]
    assert "must get all points" in reported[1][1]
    assert "NameError" in reported[2][1]
    assert "SyntaxError" in reported[3][1]


SOURCE_WITHOUT_CHECKS = VALID_SOURCE.replace(
    'assert load([1, rows]) == 1 + rows, "the sum"', "pass"
).replace('assert load([7] * rows) == 7 * rows, "the sum of many"', "pass")


def test_validate_reports_stub_and_wrong_answers_that_pass(tmp_path: Path) -> None:
    kinds = [kind for kind, _ in problems(validate_source(tmp_path, text=SOURCE_WITHOUT_CHECKS))]
    assert kinds == ["stub", "wrong", "wrong", "wrong"]


@pytest.mark.parametrize(
    "noise",
    ["import sys\nprint('x', file=sys.stderr)\n", "import warnings\nwarnings.warn('x')\n"],
)
def test_validate_reports_test_that_writes_to_stderr(tmp_path: Path, noise: str) -> None:
    reported = problems(
        validate_source(tmp_path, text=VALID_SOURCE.replace("rows = 3", f"{noise}rows = 3"))
    )
    assert [kind for kind, _ in reported] == ["solution"]
    assert "stderr" in reported[0][1]


def test_validate_reports_failing_solution_and_given_cell(tmp_path: Path) -> None:
    text = VALID_SOURCE.replace("return total", "return 0").replace(
        "HOLDS = [3, 4]", "HOLDS = [3, 4][5]"
    )
    reported = problems(validate_source(tmp_path, text=text))
    assert [kind for kind, _ in reported] == ["given", "solution"]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (RIGHT_ANSWER, r"too few answers for load \(wrong\)"),
        (WRONG_ANSWERS, r"too few answers for load \(right\)"),
        ("", "too few answers"),
        (RIGHT_ANSWER + WRONG_ANSWERS.replace("· wrong: 3", "wrong: 3"), "must be of the form"),
        (
            RIGHT_ANSWER + WRONG_ANSWERS.replace("load · wrong: 3", "cargo · wrong: 3"),
            "the task of an answer must be one of",
        ),
    ],
)
def test_validate_rejects_invalid_answers_file(tmp_path: Path, answers: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        validate_source(tmp_path, answers)


def test_validate_names_answer_that_never_ends(tmp_path: Path) -> None:
    endless = "\n# %% load · wrong: never ends\ndef load(holds):\n    while True: pass\n"
    with pytest.raises(SourceError, match="timed out after 8 s while running load, never ends"):
        validate_source(tmp_path, RIGHT_ANSWER + WRONG_ANSWERS + endless, timeout=8)


def test_validate_names_answer_that_ends_process(tmp_path: Path) -> None:
    exiting = "\n# %% load · wrong: goes away\nimport os\ndef load(holds):\n    os._exit(3)\n"
    with pytest.raises(SourceError, match="ended while running load, goes away"):
        validate_source(tmp_path, RIGHT_ANSWER + WRONG_ANSWERS + exiting)


def test_validate_rejects_invalid_range_without_seed(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="must contain the current value 3"):
        validate_source(tmp_path, text=VALID_SOURCE.replace("2..9", "4..9"))


def check_names(folder: Path) -> None:
    assignment = read_assignment(folder)
    check_forbidden_names(assignment, read_answers(folder, assignment))


def test_check_forbidden_names_rejects_unusable_names(tmp_path: Path) -> None:
    stub = "{grade_id: load, solution: true}"
    assert stub in VALID_SOURCE
    with_given = RIGHT_ANSWER.replace("total = 0", "total = 0 * HOLDS[0]")
    for number, (names, answers, message) in enumerate(
        [
            (
                "[HOLDS, jax, gone]",
                RIGHT_ANSWER,
                r"load forbids \['gone'\], but no given cell defines 'gone', and no installed",
            ),
            ("[HOLDS]", with_given, "right answer uses it: a loop"),
            (
                "HOLDS",
                RIGHT_ANSWER,
                r"'forbids' of 'load' must be a nonempty list of names and .*, got 'HOLDS'",
            ),
            ("[a b]", RIGHT_ANSWER, r"must be a nonempty list of names .*, got \['a b'\]"),
            (
                "[.sum]",
                RIGHT_ANSWER.replace("total = 0", "total = np.sum(0)"),
                "load forbids .sum, but a right answer",
            ),
        ]
    ):
        text = VALID_SOURCE.replace(stub, f"{{grade_id: load, solution: true, forbids: {names}}}")
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(SourceError, match=message):
            check_names(write_assignment(folder, "ships", answers + WRONG_ANSWERS, text))
    test = VALID_SOURCE.replace("points: 2", "points: 2, forbids: [HOLDS]")
    with pytest.raises(
        SourceError, match="'forbids' must be in a cell with 'solution: true', got it in 'load-"
    ):
        parse_assignment(test, "ships")


def test_validate_rejects_test_that_binds_given_name(tmp_path: Path) -> None:
    text = VALID_SOURCE.replace("assert load([7]", "HOLDS, more = [5], 1\nassert load([7]")
    with pytest.raises(SourceError, match=r"a given cell defines.*; load-values binds HOLDS$"):
        validate_source(tmp_path, text=text)


def test_validate_rejects_missing_source_or_answers(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has no source\.md"):
        validate(tmp_path)
    (tmp_path / SOURCE_FILE).write_text(VALID_SOURCE)
    with pytest.raises(SourceError, match=r"no answers\.py"):
        validate(tmp_path)


def test_validate_keeps_compiled_programs_in_cache(tmp_path: Path) -> None:
    cache = tmp_path / "compiled"
    text = VALID_SOURCE.replace("total = sum(holds)", "total = jnp.array(holds).sum()")
    text = text.replace("HOLDS = [3, 4]", "import jax.numpy as jnp\n\nHOLDS = [3, 4]")
    assert problems(validate_source(tmp_path, text=text, cache=cache)) == []
    assert any(path.name.startswith("jit_") for path in cache.iterdir())


def test_prove_reports_assignments_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_assignment(tmp_path, "barges")
    write_assignment(tmp_path, "ships", text=SOURCE_WITHOUT_CHECKS)
    assert main(["prove", str(tmp_path), "--quiet", "-j", "2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["barges:", "  6 answers tried, 0 problems", "ships:"]
    assert [line[:3] for line in lines[3:-1:2]] == ["  ✗"] * 4
    assert lines[-1] == "  6 answers tried, 4 problems"


@pytest.mark.parametrize("check", ["assert rows", "assert rows, f'{rows} rows'"])
def test_prove_rejects_checks_whose_messages_students_would_not_see(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], check: str
) -> None:
    text = VALID_SOURCE.replace("assert load([7]", f"{check}\nassert load([7]")
    folder = write_assignment(tmp_path, "ships", text=text)
    assert main(["prove", str(folder)]) == 2
    expected = "every check in load-values must have a message that is a plain string"
    assert expected in capsys.readouterr().err


def test_prove_continues_after_an_assignment_with_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forbids = "{grade_id: load, solution: true, forbids: [gone]}"
    text = VALID_SOURCE.replace("{grade_id: load, solution: true}", forbids)
    write_assignment(tmp_path, "barges", text=text)
    write_assignment(tmp_path, "rafts", answers=RIGHT_ANSWER)
    write_assignment(tmp_path, "ships")
    assert main(["prove", str(tmp_path), "--quiet", "-j", "2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "barges:"
    assert "load forbids ['gone']" in lines[1]
    assert "too few answers for load (wrong)" in lines[4]
    assert lines[2::3] == ["  not checked", "  not checked"]
    assert lines[6:] == ["ships:", "  6 answers tried, 0 problems"]


def test_prove_tries_three_wrong_answers_or_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = RIGHT_ANSWER.replace("a loop", "another loop").replace("total", "added")
    wrong = "\n# %% load · wrong: returns the right sum\ndef load(holds):\n    return sum(holds)\n"
    folder = write_assignment(tmp_path, "ships", RIGHT_ANSWER + WRONG_ANSWERS + wrong + right)
    assert main(["prove", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "another loop" in out
    assert "returns the right sum" not in out
    assert main(["prove", str(folder), "--all"]) == 1
    assert "returns the right sum" in capsys.readouterr().out


@harness.needs_sandbox
def test_prove_names_test_that_needs_students_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = VALID_SOURCE.replace(
        "assert load([7]", "assert load(x for x in [7]) == 7, 'one'\nassert load([7]"
    )
    folder = write_assignment(tmp_path, "ships", text=text)
    assert main(["prove", str(folder), "--quiet"]) == 1
    assert "the judge could not run load-values" in capsys.readouterr().out
    together = text.replace(
        "load-values, points: 2", "load-values, points: 2, together: a generator"
    )
    (folder / SOURCE_FILE).write_text(together)
    assert main(["prove", str(folder), "--quiet"]) == 0


def test_prove_rejects_zero_workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_assignment(tmp_path, "ships")
    assert main(["prove", str(tmp_path), "-j", "0"]) != 0
    assert "-j must be at least 1, got 0" in capsys.readouterr().err
