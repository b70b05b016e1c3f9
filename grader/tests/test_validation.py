"""The problems that validating an assignment finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from jaxbits_grader.authoring.assignment_source import ANSWERS_FILE, SOURCE_FILE, SourceError
from jaxbits_grader.authoring.validation import Attempt, validate
from test_assignment_source import GOOD

RIGHT = """# %% load · right: a loop
def load(holds):
    total = 0
    for h in holds:
        total += h
    return total
"""
WRONG = "".join(
    f"\n# %% load · wrong: {n}\ndef load(holds):\n    return sum(holds) - {n}\n" for n in (1, 2, 3)
)


def tried(
    folder: Path, answers: str = RIGHT + WRONG, text: str = GOOD, **how: float
) -> list[Attempt]:
    place = folder / "ships"
    place.mkdir()
    (place / SOURCE_FILE).write_text(text)
    (place / ANSWERS_FILE).write_text(answers)
    return validate(place, **how)  # type: ignore[arg-type]


def problems(found: list[Attempt]) -> list[tuple[str, str]]:
    return [(one.kind, str(one.problem)) for one in found if one.problem]


@pytest.mark.parametrize("seed", [None, 3])
def test_a_valid_assignment(tmp_path: Path, seed: int | None) -> None:
    found = tried(tmp_path, seed=seed)  # type: ignore[arg-type]
    assert problems(found) == []
    assert [(one.kind, one.points) for one in found] == [
        ("solution", 2), ("stub", 0), ("right", 2), ("wrong", 0), ("wrong", 0), ("wrong", 0),
    ]  # fmt: skip
    assert "✓ load" in found[0].line()
    assert "[AssertionError: the sum]" in found[3].line()


def test_mislabeled_answers_are_problems(tmp_path: Path) -> None:
    more = """
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
    found = problems(tried(tmp_path, RIGHT + WRONG + more))
    assert [kind for kind, _ in found] == ["wrong", "right", "wrong", "wrong"]
    assert "must lose points" in found[0][1]
    assert "must get all points" in found[1][1]
    assert "NameError" in found[2][1]
    assert "SyntaxError" in found[3][1]


SLACK = GOOD.replace('assert load([1, rows]) == 1 + rows, "the sum"', "pass").replace(
    'assert load([7] * rows) == 7 * rows, "the sum of many"', "pass"
)


def test_a_stub_and_wrong_answers_that_pass(tmp_path: Path) -> None:
    kinds = [kind for kind, _ in problems(tried(tmp_path, text=SLACK))]
    assert kinds == ["stub", "wrong", "wrong", "wrong"]


@pytest.mark.parametrize(
    "noise",
    ["import sys\nprint('x', file=sys.stderr)\n", "import warnings\nwarnings.warn('x')\n"],
)
def test_a_test_that_writes_to_stderr(tmp_path: Path, noise: str) -> None:
    found = problems(tried(tmp_path, text=GOOD.replace("rows = 3", f"{noise}rows = 3")))
    assert [kind for kind, _ in found] == ["solution"]
    assert "stderr" in found[0][1]


def test_a_solution_and_a_given_cell_that_fail(tmp_path: Path) -> None:
    text = GOOD.replace("return total", "return 0").replace("HOLDS = [3, 4]", "HOLDS = [3, 4][5]")
    found = problems(tried(tmp_path, text=text))
    assert [kind for kind, _ in found] == ["given", "solution"]


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (RIGHT, r"too few answers for load \(wrong\)"),
        (WRONG, r"too few answers for load \(right\)"),
        ("", "too few answers"),
        (RIGHT + WRONG.replace("· wrong: 3", "wrong: 3"), "must be of the form"),
        (
            RIGHT + WRONG.replace("load · wrong: 3", "cargo · wrong: 3"),
            "the task of an answer must be one of",
        ),
    ],
)
def test_invalid_answers_are_rejected(tmp_path: Path, answers: str, says: str) -> None:
    with pytest.raises(SourceError, match=says):
        tried(tmp_path, answers)


def test_an_endless_answer_is_named(tmp_path: Path) -> None:
    more = "\n# %% load · wrong: never ends\ndef load(holds):\n    while True: pass\n"
    with pytest.raises(SourceError, match="timed out after 8 s while running load, never ends"):
        tried(tmp_path, RIGHT + WRONG + more, timeout=8)


def test_an_answer_that_ends_the_process_is_named(tmp_path: Path) -> None:
    more = "\n# %% load · wrong: goes away\nimport os\ndef load(holds):\n    os._exit(3)\n"
    with pytest.raises(SourceError, match="ended while running load, goes away"):
        tried(tmp_path, RIGHT + WRONG + more)


def test_an_invalid_range_is_found_without_a_seed(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="must contain the current value 3"):
        tried(tmp_path, text=GOOD.replace("2..9", "4..9"))


def test_no_source(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has no source\.md"):
        validate(tmp_path)
    (tmp_path / SOURCE_FILE).write_text(GOOD)
    with pytest.raises(SourceError, match=r"no answers\.py"):
        validate(tmp_path)
