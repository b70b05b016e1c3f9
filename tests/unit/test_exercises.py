"""Every exercise, both ways: stubs fail, solutions pass, foreseen mistakes are told apart.

The answers of a chapter are in `answers/`, in a module of its name: WRONG maps an exercise to
pairs of an answer and a part of the message meant for it; RIGHT lists other answers that pass.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jaxbits
from jaxbits.exercises import check, exercise, exercises, hint, solution

ALL = sorted(exercises())


def answers(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"answers_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ANSWERS = {f.stem: answers(f) for f in sorted((Path(__file__).parent / "answers").glob("*.py"))}
WRONG = {id: cases for module in ANSWERS.values() for id, cases in module.WRONG.items()}
RIGHT = [case for module in ANSWERS.values() for case in getattr(module, "RIGHT", ())]


@pytest.mark.parametrize("id", ALL)
def test_a_stub_is_not_written_yet(id):
    task = exercise(id)
    assert "not written yet" in task.problem(task.stub)


@pytest.mark.parametrize("id", ALL)
def test_the_solution_passes(id, capsys):
    check(id, exercise(id).solution)
    assert capsys.readouterr().out == f"✓ {id}: {exercise(id).title}\n"


@pytest.mark.parametrize("id", ALL)
def test_the_printed_solution_passes_under_the_name_of_the_stub(id, capsys):
    solution(id)
    source = capsys.readouterr().out
    task = exercise(id)
    names = {"jax": jax, "jnp": jnp, "np": np, "lax": jax.lax, "optax": optax}
    exec("from __future__ import annotations\n" + source, names)
    assert task.problem(names[task.stub.__name__]) is None


@pytest.mark.parametrize(
    ("id", "answer", "message"), [(id, *case) for id in WRONG for case in WRONG[id]]
)
def test_a_foreseen_mistake_gets_the_message_meant_for_it(id, answer, message):
    ANSWERS["tracing"].LOGGED.clear()
    assert message in exercise(id).problem(answer)


def test_every_exercise_has_at_least_two_foreseen_mistakes():
    assert sorted(WRONG) == ALL
    assert all(len(cases) >= 2 for cases in WRONG.values())


def crash(*args):
    raise MemoryError("boom")


@pytest.mark.parametrize("id", ALL)
@pytest.mark.parametrize(
    "answer",
    [
        3,
        None,
        "text",
        crash,
        lambda *args: sys.exit(),
        sys.exit,
        lambda: 1,
        lambda *args: None,
        lambda *args: object(),
        lambda *args: np.array(["text"], object),
        lambda *args: {"a": 1},
    ],
)
def test_no_wrong_answer_makes_check_raise(id, answer, capsys):
    check(id, answer)
    assert capsys.readouterr().out.startswith(f"○ {id}: ")


def test_a_jax_error_of_an_answer_is_explained():
    said = exercise("out-of-bounds/1").problem(ANSWERS["out_of_bounds"].python_guard)
    assert jaxbits.load()["python-logic-on-tracer"].title in said


@pytest.mark.parametrize(("id", "answer"), RIGHT)
def test_a_right_answer_of_another_kind_passes(id, answer):
    assert exercise(id).problem(answer) is None


def test_hints_come_one_by_one_and_end(capsys):
    import jaxbits.exercises.core as core

    core._hints_given.clear()
    for _ in range(5):
        hint("out-of-bounds/1")
    said = capsys.readouterr().out.splitlines()
    assert [line[:6] for line in said[:3]] == ["Hint 1", "Hint 2", "Hint 3"]
    assert (
        said[3]
        == said[4]
        == 'That was the last hint. solution("out-of-bounds/1") shows one way to do it.'
    )


def test_an_unknown_exercise_is_answered_with_the_near_ones():
    for verb in (hint, solution, lambda id: check(id, max)):
        with pytest.raises(KeyError, match="there are out-of-bounds/1, out-of-bounds/2"):
            verb("out-of-bounds/9")
    with pytest.raises(KeyError, match="no exercise 'nothing/1'; there are"):
        exercise("nothing/1")
