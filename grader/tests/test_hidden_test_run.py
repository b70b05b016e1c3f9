"""Test what students and teachers read about failed tests and missing modules."""

from __future__ import annotations

from dataclasses import replace

import grading_harness as harness
import pytest
from jaxbits_grader.authoring.assignment_source import parse_assignment
from jaxbits_grader.authoring.notebook_versions import student_notebook
from jaxbits_grader.checking.failure_messages import describe_failed_cell, describe_failure
from jaxbits_grader.checking.hidden_test_run import run_hidden_tests
from jaxbits_grader.checking.run_record import RunResult
from jaxbits_grader.intake.notebook_repair import repair_notebook
from jaxbits_grader.judging.judge import Verdict
from jaxbits_grader.judging.judge_session import JudgeSession
from jaxbits_grader.notebook import Cell, ParsedNotebook
from jaxbits_grader.running.limits import Limits

SOURCE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
assignment:
  title: Rows
  chapter: 02-pure-functions
  minutes: 10
  goals: [count]
  tasks: {total: "The sum.", tail: "The last one.", share: "A share.", best: "The best."}
---

```{code-cell} ipython3
:nbgrader: {grade_id: given, locked: true}
rows = [1, 2]
```
"""
for task, hidden in {
    "total": "assert total([]) == 0, 'no row may be an exception'",
    "tail": "last = tail([7, 918273])\nassert last, 'not zero'\nassert last == 918273, 'the last'",
    "share": "for n in (3, 918273):\n    s = share([n])\n    assert s == 1, 'the share must be 1'",
    "best": "assert best([918273]) == 918273, 'the best one'",
}.items():
    SOURCE += f"""
```{{code-cell}} ipython3
:nbgrader: {{grade_id: {task}, solution: true}}
### BEGIN SOLUTION
def {task}(row):
    return 918273
### END SOLUTION
```

```{{code-cell}} ipython3
:nbgrader: {{grade_id: {task}-values, points: 1}}
assert callable({task}), "a function"
### BEGIN HIDDEN TESTS
{hidden}
### END HIDDEN TESTS
```
"""
ANSWERS = {
    "total": "def total(row):\n    return row[0] + sum(row[1:])",
    "tail": "class Odd918273(Exception): pass\ndef tail(row):\n    raise Odd918273(str(row))",
    "share": "import json, no_such_plots.pyplot as plt\ndef share(row):\n    return 1",
    "best": "def best(row):\n    import no_such_frames\n    return row[0]",
}


TWO_TESTS = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
assignment:
  title: Rows
  chapter: 02-pure-functions
  minutes: 10
  goals: [count]
  tasks: {size: "The number of entries."}
---

```{code-cell} ipython3
:nbgrader: {grade_id: size, solution: true}
def size(row):
    ### BEGIN SOLUTION
    return len(row)
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: size-one, points: 1}
### BEGIN HIDDEN TESTS
assert size([7]) == 1, "one entry"
### END HIDDEN TESTS
```

```{code-cell} ipython3
:nbgrader: {grade_id: size-two, points: 2}
### BEGIN HIDDEN TESTS
assert size([7, 7]) == 2, "two entries"
### END HIDDEN TESTS
```
"""


def grade_size(
    answer: str, between: str = "", text: str = TWO_TESTS, limits: Limits | None = None
) -> RunResult:
    """Grade an answer to `size`, with a cell between its two tests."""
    assignment = parse_assignment(text, "sizes")
    released = ParsedNotebook.from_nbformat(student_notebook(assignment))
    cells = [
        replace(cell, source=answer) if cell.grade_id == "size" else cell for cell in released.cells
    ]
    if between:
        at = next(i for i, cell in enumerate(cells) if cell.grade_id == "size-two")
        cells.insert(at, Cell("code", between))
    repaired = repair_notebook(ParsedNotebook(tuple(cells)), released)
    return run_hidden_tests(repaired, assignment, limits or Limits())


@pytest.fixture(scope="module")
def result() -> RunResult:
    assignment = parse_assignment(SOURCE, "rows")
    released = ParsedNotebook.from_nbformat(student_notebook(assignment))
    cells = [
        replace(cell, source=ANSWERS.get(str(cell.grade_id), cell.source))
        for cell in released.cells
    ]
    # This submission makes up the name of a module in order to reveal what it knows.
    cells.append(Cell("code", "raise ModuleNotFoundError(\"No module named 'x918273'\")"))
    repaired = repair_notebook(ParsedNotebook(tuple(cells)), released)
    return run_hidden_tests(repaired, assignment, Limits())


@harness.needs_sandbox
@pytest.mark.parametrize(
    ("answer", "between"),
    [
        ("def size(row):\n    return 1", "def size(row):\n    return 2"),
        ("sizes = [1]\ndef size(row):\n    return sizes[-1]", "sizes.append(2)"),
    ],
)
def test_each_test_counts_with_the_last_answer(answer: str, between: str) -> None:
    found = grade_size(answer, between)
    assert [cell.points for cell in found.points] == [0, 2]
    assert found.odd == ("a cell between the tests of the task changed the result of size-one",)


@harness.needs_sandbox
@pytest.mark.parametrize(
    "answer",
    [
        "from typing import NamedTuple\nclass Row(NamedTuple):\n    count: int\n\n"
        "def size(row):\n    return Row(len(row)).count",
        "names = {'one': 1}\ndef size(row):\n    print(names)\n    return len(row)",
        "import functools\n@functools.lru_cache\ndef double(n):\n    return 2 * n\n"
        "def size(row):\n    return double(len(row)) // 2",
        "import jax\ncount = jax.jit(lambda row: len(row))\n"
        "def size(row):\n    return int(count(row))",
    ],
)
def test_answer_without_state_is_not_noted(answer: str) -> None:
    found = grade_size(answer)
    assert ([cell.points for cell in found.points], found.odd) == ([1, 2], ())


@harness.needs_sandbox
def test_cell_between_tests_that_changes_nothing_is_not_noted() -> None:
    found = grade_size("def size(row):\n    return len(row)", "print(size([1, 2, 3]))")
    assert ([cell.points for cell in found.points], found.odd) == ([1, 2], ())


@harness.needs_sandbox
@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("calls = []\ndef size(row):\n    calls.append(1)\n    return len(calls)", "calls"),
        ("def size(row, seen=[0]):\n    seen[0] += 1\n    return seen[0]", "seen"),
        ("import itertools\nn = itertools.count(1)\ndef size(row):\n    return next(n)", "n"),
        (
            "import random\nrandom.seed(1)\nfirst = random.random()\nrandom.seed(1)\n"
            "def size(row):\n    return 1 if random.random() == first else 2",
            "a global random generator",
        ),
        (
            "import torch\ntorch.manual_seed(0)\ndef size(row):\n"
            "    torch.manual_seed(torch.initial_seed() + 1)\n    return torch.initial_seed()",
            "a global random generator",
        ),
        (
            "import jax.numpy as jnp\nspare = [jnp.ones(1) for _ in range(99)]\n"
            "def size(row):\n    next(a for a in spare if not a.is_deleted()).delete()\n"
            "    return sum(a.is_deleted() for a in spare)",
            "a deleted array",
        ),
        (
            "import collections, jax.numpy as jnp\nbox = [(collections.deque(), 0)]\n"
            "box[0][0].extend((jnp.ones(1), n) for n in range(99))\ndef size(row):\n"
            "    next(a for a, _ in box[0][0] if not a.is_deleted()).delete()\n"
            "    return sum(a.is_deleted() for a, _ in box[0][0])",
            "a deleted array",
        ),
        (
            "import numpy as np\nspare = [np.ones(1) for _ in range(99)]\ndef size(row):\n"
            "    next(a for a in spare if a.flags.writeable).setflags(write=False)\n"
            "    return sum(not a.flags.writeable for a in spare)",
            "the flags of an array",
        ),
        (
            "import decimal\nspare = [decimal.Context() for _ in range(99)]\n"
            "used = decimal.Inexact\ndef size(row):\n"
            "    next(c for c in spare if not c.flags[used]).divide(1, 3)\n"
            "    return sum(c.flags[used] for c in spare)",
            "the flags of a decimal context",
        ),
        (
            "spare = [ValueError() for _ in range(99)]\ndef size(row):\n"
            "    next(e for e in spare if not e.__cause__).__cause__ = ValueError()\n"
            "    return sum(e.__cause__ is not None for e in spare)",
            "spare",
        ),
        (
            "import functools\ncalls = []\nnote = functools.partial(calls.append, 1)\n"
            "def size(row):\n    note()\n    return len(calls[:])",
            "calls",
        ),
    ],
)
def test_answer_that_counts_its_calls_is_noted(answer: str, state: str) -> None:
    found = grade_size(answer)
    # The grader repeats a call between the tests, so the second test usually gets a wrong count.
    assert found.points[0].points == 1
    what = "the answer changes state, or its state cannot be read"
    assert f"in size-one, {what}: {state}" in found.odd
    assert "after size-one, the same call of the answer had a different result" in found.odd


@harness.needs_sandbox
@pytest.mark.parametrize(
    "answer",
    [
        "import os\ndef size(row):\n"
        "    os.environ['CALLS'] = os.environ.get('CALLS', '') + 'x'\n"
        "    return len(os.environ['CALLS'])",
        "from pathlib import Path\nbook = Path('calls.txt')\nbook.write_text('')\n"
        "def size(row):\n    book.write_text(book.read_text() + 'x')\n"
        "    return len(book.read_text())",
        "stop = ValueError('stop')\ndef size(row):\n    try:\n        raise stop\n"
        "    except ValueError:\n        pass\n    part, found = stop.__traceback__, 0\n"
        "    while part is not None:\n        part, found = part.tb_next, found + 1\n"
        "    return found",
    ],
)
def test_answer_that_keeps_state_elsewhere_is_noted(answer: str) -> None:
    found = grade_size(answer)
    assert [cell.points for cell in found.points] == [1, 0]
    assert "after size-one, the same call of the answer had a different result" in found.odd


@harness.needs_sandbox
def test_failed_test_names_check_and_class_of_exception(result: RunResult) -> None:
    assert {cell.id: cell.message for cell in result.points} == {
        "total-values": "IndexError before this check: no row may be an exception",
        "tail-values": "an exception before this check: not zero",
        "share-values": "your cell share does not run (ModuleNotFoundError)",
        "best-values": "the grader does not have the module no_such_frames",
    }


@harness.needs_sandbox
@pytest.mark.parametrize(
    ("answer", "messages"),
    [
        (
            "def size(row:\n    return len(row)",
            ["your cell size does not run (SyntaxError)"] * 2,
        ),
        (
            "class Odd918273(Exception): pass\nraise Odd918273('one entry')",
            ["your cell size does not run"] * 2,
        ),
        (
            "raise NotImplementedError()",
            ["the answer is missing or unfinished, because it raises NotImplementedError"] * 2,
        ),
        # The cell fails below the answer, so the answer counts.
        ("def size(row):\n    return 1\n\n1 / 0", [None, "two entries"]),
        # The cell runs, but the answer has another name.
        (
            "def sizes(row):\n    return len(row)",
            ["NameError before this check: one entry", "NameError before this check: two entries"],
        ),
    ],
)
def test_failed_test_says_that_the_cell_of_the_answer_failed(
    answer: str, messages: list[str | None]
) -> None:
    assert [cell.message for cell in grade_size(answer).points] == messages


@harness.needs_sandbox
def test_failed_test_says_that_the_answer_may_not_end() -> None:
    endless = "def size(row):\n    while True: pass"
    limits = Limits(cell_seconds=4)
    for text in (TWO_TESTS, TWO_TESTS.replace("points: ", "together: tests, points: ")):
        found = grade_size(endless, text=text, limits=limits)
        assert [cell.message for cell in found.points] == [
            "your answer did not return in time, so the test was stopped; "
            "it may contain an endless loop"
        ] * 2
    found = grade_size("while True: pass", limits=limits)
    assert {cell.message for cell in found.points} == {
        "your cell size took too long and was stopped; it may contain an endless loop"
    }


@harness.needs_sandbox
def test_failed_test_does_not_blame_a_loop_if_the_judge_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verdict = Verdict(error=("TimeoutError", "the judge's process has ended"), ended=True)
    monkeypatch.setattr(JudgeSession, "run_test", lambda *_: verdict)
    message = "the test ended without a result, perhaps because your answer needs too much memory"
    found = grade_size("size = len")
    assert [cell.message for cell in found.points] == [message] * 2
    assert not found.slow
    assert all(note.startswith("the judge's process ended during ") for note in found.odd)
    assert len(found.odd) == 2


@harness.needs_sandbox
def test_notes_name_missing_modules(result: RunResult) -> None:
    assert result.odd == (
        "the grader does not have the module no_such_plots, but share imports it",
        "the grader does not have the module no_such_frames, but best imports it",
        "the grader does not have a module, but cell 11 imports it",
    )
    assert "918273" not in str(result)


# This cell replaces a function by one in a file that it has written, and pretends that the file is
# part of an installed package.
PRETEND_INSTALLED = """\
import math, pathlib, sys
here = pathlib.Path("/box/site-packages")
here.mkdir()
(here / "helpful.py").write_text("def isclose(*args, **options): return True")
sys.path.append(str(here))
sys.prefix = "/box"
import helpful
math.isclose = helpful.isclose
"""


@harness.needs_sandbox
def test_notebook_cannot_pretend_that_its_file_is_installed() -> None:
    assignment = parse_assignment(SOURCE, "rows")
    released = ParsedNotebook.from_nbformat(student_notebook(assignment))
    cells = (Cell("code", PRETEND_INSTALLED), *released.cells)
    repaired = repair_notebook(ParsedNotebook(cells), released)
    result = run_hidden_tests(repaired, assignment, Limits())
    assert "it replaced math.isclose, before total-values" in result.tampering


TEST_CELL = """\
def must_be_even(number):
    assert number % 2 == 0, "it must be even"

first = f(1)
assert first == 1, "the first"
for n in (1, 2):
    must_be_even(f(n))
    _ab12_testing.assert_close(
        f(n),
        n,
        "the numbers",
    )
f(3)
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (4, "TypeError before this check: the first"),
        (5, "TypeError before this check: the first"),
        (7, "the test stopped with TypeError"),
        (9, "TypeError before this check: the numbers"),
        (13, "the test stopped with TypeError"),
        (None, "the test stopped with TypeError"),
    ],
)
def test_describe_failure_finds_next_check(line: int | None, message: str) -> None:
    assert describe_failure(("TypeError", "hidden"), TEST_CELL, line) == message


def test_describe_failed_cell_shows_only_known_names() -> None:
    shown = "your cell total does not run"
    assert describe_failed_cell("total", ("X918273", "918273")) == shown
    assert describe_failed_cell("total", ("IndentationError", "918273")) == (
        f"{shown} (IndentationError)"
    )


def test_describe_failure_shows_only_known_names() -> None:
    assert describe_failure(("X918273", ""), TEST_CELL, 4) == (
        "an exception before this check: the first"
    )
    assert describe_failure(("TracerBoolConversionError", "x"), TEST_CELL, 4).startswith("Tracer")
    assert describe_failure(("AssertionError", "the\n numbers"), TEST_CELL, 4) == "the numbers"
