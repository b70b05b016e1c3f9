"""Test that every exercise rejects its stub and wrong answers, and accepts right answers.

The answers to a chapter's exercises are in the `exercise_answers/` module named after the chapter.
WRONG maps an exercise's id to pairs of a wrong answer and part of the message that the reader must
see. RIGHT lists pairs of an exercise's id and a right answer that differs from the solution.
"""

import builtins
import dataclasses
import dis
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbits
from jaxbits.book.exercises import (
    all_exercises,
    check,
    error_advice,
    get_exercise,
    hint,
    solution,
)
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_returns,
    assert_returns_under_grad,
    assert_returns_under_jit,
    call,
    under_jit,
)
from jaxbits.book.exercises.error_advice import find_sharp_bit
from jaxbits.book.exercises.solution_source import pasteable_source, strip_annotations

ALL = sorted(all_exercises())


def load_answers(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"answers_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ANSWERS = {
    f.stem: load_answers(f)
    for f in sorted((Path(__file__).parent / "exercise_answers").glob("*.py"))
}
WRONG = {id: cases for module in ANSWERS.values() for id, cases in module.WRONG.items()}
RIGHT = [case for module in ANSWERS.values() for case in getattr(module, "RIGHT", ())]


@pytest.mark.parametrize("id", ALL)
def test_find_problem_rejects_stub(id):
    task = get_exercise(id)
    assert "not written yet" in task.find_problem(task.stub)


# Whether `check` accepts them is tested in the chapters' kernels, where readers would paste them.
@pytest.mark.parametrize("id", ALL)
def test_solution_prints_complete_code(id, capsys, monkeypatch):
    monkeypatch.setattr("__main__.np", np, raising=False)
    solution(id)
    source = capsys.readouterr().out
    assert "import numpy" not in source
    names = {"np": np}
    exec(source, names)
    used = names[get_exercise(id).stub.__name__].__code__
    assert not undefined_names(used, names)


def undefined_names(code, names):
    """Return the global names that a function loads and that are not defined."""
    loaded = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    inner = (constant for constant in code.co_consts if hasattr(constant, "co_code"))
    undefined = loaded - names.keys() - set(dir(builtins))
    return undefined.union(*(undefined_names(part, names) for part in inner))


def wrong_answers():
    """Yield the wrong answers. The gate tries the first one per exercise."""
    for id, cases in WRONG.items():
        for number, case in enumerate(cases):
            yield pytest.param(id, *case, marks=[pytest.mark.slow] if number >= 1 else [])


@pytest.mark.parametrize(("id", "answer", "message"), list(wrong_answers()))
def test_find_problem_explains_wrong_answer(id, answer, message):
    ANSWERS["tracing"].LOGGED.clear()
    assert message in get_exercise(id).find_problem(answer)


@pytest.mark.slow
@pytest.mark.parametrize(("id", "answer"), RIGHT)
def test_find_problem_accepts_other_right_answer(id, answer):
    assert get_exercise(id).find_problem(answer) is None


def test_every_exercise_has_at_least_two_wrong_answers():
    assert sorted(WRONG) == ALL
    assert all(len(cases) >= 2 for cases in WRONG.values())


def crash(*args):
    raise MemoryError("boom")


UNUSABLE_ANSWERS = {
    "number": 3,
    "None": None,
    "string": "text",
    "raises an error": crash,
    "lambda that exits": lambda *args: sys.exit(),
    "exits": sys.exit,
    "takes no arguments": lambda: 1,
    "returns None": lambda *args: None,
    "returns an object": lambda *args: object(),
    "returns strings": lambda *args: np.array(["text"], object),
    "returns a dict": lambda *args: {"a": 1},
}


@pytest.mark.parametrize("answer", UNUSABLE_ANSWERS.values(), ids=UNUSABLE_ANSWERS)
def test_check_never_raises(answer, capsys):
    printed = {}
    for id in ALL:
        check(id, answer)
        printed[id] = capsys.readouterr().out
    assert not {
        id: text
        for id, text in printed.items()
        if not text.startswith(f"○ {id}: ") or "the check cannot use" in text
    }


def python_if(x):
    return -x if x < 0 else x


def python_if_with_or(x):
    if x < 0 or x > 3:
        return -x
    return x


def python_max(x):
    return max(x, 0.0)


def if_in_comprehension(x):
    return sum(part for part in [x] if part > 0)


def converted_with_float(x):
    return jnp.ones(3) * float(x)


def item_assignment(x):
    y = jnp.zeros(3)
    y[0] = x
    return y


def nonzero_indices(x):
    return jnp.nonzero(jnp.stack([x, x]))[0]


def attribute_of_python_float(x):
    return (2.0).ndim * jnp.sin(x)


def if_on_array(x):
    return 1.0 if jnp.stack([x, x]) > 0 else 2.0


def python_key_error(x):
    return {}["missing"]


@pytest.mark.parametrize(
    ("answer", "jitted", "bit"),
    [
        (python_if, True, "value-needed-while-tracing"),
        (python_if_with_or, True, "value-needed-while-tracing"),
        (if_in_comprehension, True, "value-needed-while-tracing"),
        (converted_with_float, True, "value-needed-while-tracing"),
        (python_max, True, "python-logic-on-tracer"),
        (nonzero_indices, True, "value-dependent-size"),
        (item_assignment, False, "item-assignment"),
        (attribute_of_python_float, False, None),
        (attribute_of_python_float, True, None),
        (if_on_array, False, None),
        (python_key_error, False, None),
    ],
)
def test_find_sharp_bit_returns_bit_of_error(answer, jitted, bit):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the class depends on the case
        (under_jit(answer) if jitted else answer)(jnp.float32(1))
    found = find_sharp_bit(caught.value)
    assert (found and found.id) == bit


def test_error_advice_uses_catalogue_ids():
    assert set(error_advice._REQUIRED_CODE) <= set(jaxbits.load())


def gain(signal, factor):
    return signal * factor


SIGNAL = jnp.float32(0.81)
LAYERS = {f"layer {n}": {"w": jnp.ones(3), "b": 0.5} for n in range(5)}


@pytest.mark.parametrize(
    ("run_assertion", "expected"),
    [
        (
            lambda: assert_returns(gain, SIGNAL, 1.0, expected=1.0, why="as it should"),
            "gain(signal=0.81, factor=1.0) must return 1.0, got 0.81: as it should",
        ),
        (
            lambda: assert_returns_under_jit(gain, SIGNAL, 2, expected=1.0, static=(1,)),
            "under jit, gain(signal=0.81, factor=2) must return 1.0, got 1.62",
        ),
        (
            lambda: assert_returns_under_grad(gain, SIGNAL, 3, expected=1.0),
            "the gradient of gain(signal=0.81, factor=3) with respect to signal must be 1.0, "
            "got 3.0",
        ),
        (
            lambda: assert_returns(lambda *a: 1.0, jnp.ones(3), expected=np.float32([1.0])),
            "f([1.0, 1.0, 1.0]) must return [1.0], got 1.0",
        ),
        (
            lambda: assert_returns(lambda x: np.float16(x), 1.0, expected=np.float16(1.001)),
            "f(x=1.0) must return 1.00098, got 1.0",
        ),
        (
            lambda: assert_returns(lambda x: np.float64(x), 1.0, expected=1.00001234),
            "f(x=1.0) must return 1.00001, got 1.0",
        ),
        (
            lambda: assert_returns(lambda x: np.bool_(x), 1.0, expected="True"),
            "f(x=1.0) must return 'True', got True",
        ),
        (
            lambda: assert_returns(lambda x: np.int32(x), 1.0, expected=True),
            "f(x=1.0) must return True, got 1",
        ),
        (
            lambda: assert_returns(
                lambda x: np.ones(()), 1.0, expected=jnp.ones((), complex) * (1 + 0j)
            ),
            "f(x=1.0) must return (1+0j), got 1.0",
        ),
        (
            lambda: assert_returns(lambda x: jnp.zeros((0, 2)), 1.0, expected=np.zeros((0, 3))),
            "f(x=1.0) must return [] (float64[0, 3]), got [] (float32[0, 2])",
        ),
        (
            lambda: assert_returns(lambda x: [2], 1, expected=(2,)),
            "f(x=1) must return (2,), got [2]",
        ),
        (
            lambda: call(lambda tree, images: 1 / 0, {"w": jnp.ones((9, 9))}, jnp.ones((2, 8, 8))),
            "f(tree={'w': float32[9, 9]}, images=float32[2, 8, 8]) raises ZeroDivisionError: "
            "division by zero",
        ),
        (
            lambda: call(lambda tree, key: 1 / 0, LAYERS, jax.random.key(0)),
            "f(tree=a dict of 5, key=a key) raises ZeroDivisionError: division by zero",
        ),
        (lambda: call(lambda: 1 / 0), "it raises ZeroDivisionError: division by zero"),
    ],
)
def test_answer_rejected_message_shows_call_and_values(run_assertion, expected):
    with pytest.raises(AnswerRejected) as caught:
        run_assertion()
    assert str(caught.value) == expected


def test_find_problem_reports_error_inside_verify(monkeypatch):
    def verify(answer):
        answer()["missing"]

    task = dataclasses.replace(get_exercise("tracing/1"), verify=verify)
    assert task.find_problem(dict) == (
        "the check cannot use your function's result and raises KeyError: 'missing'"
    )


SOURCE = '''
def f(
    x: "list[int]", *more: float, last: int = 2
) -> dict[str, Callable[[int], int]]:
    """Return ….

    x: int = 1
    """
    # y: int = 3
    total: int = (
        x + last
    )

    def inner(y: int = 2) -> int:
        value: Any = {"a: b": y}
        return value

    return {"x": lambda: inner(total)}
'''


def test_strip_annotations_keeps_everything_else():
    assert (
        strip_annotations(SOURCE)
        == '''
def f(x, *more, last=2):
    """Return ….

    x: int = 1
    """
    # y: int = 3
    total = (
        x + last
    )

    def inner(y=2):
        value = {"a: b": y}
        return value

    return {"x": lambda: inner(total)}
'''
    )


def test_pasteable_source_adds_missing_imports_and_helpers():
    text = pasteable_source(answer_with_helper, "answer", known={"jnp"})
    assert (
        text
        == """\
import numpy as np


def helper(x):
    return np.asarray(x)


def answer(x):
    return helper(jnp.sin(x))"""
    )
    assert pasteable_source(answer_with_helper, "answer", known={"jnp", "helper"}).startswith(
        "def answer(x):"
    )


def helper(x: float) -> np.ndarray:
    return np.asarray(x)


def answer_with_helper(x: float) -> np.ndarray:
    return helper(jnp.sin(x))


def test_hint_prints_one_hint_per_call(capsys):
    import jaxbits.book.exercises.registry as registry

    registry._hints_given.clear()
    for _ in range(5):
        hint("out-of-bounds/1")
    lines = capsys.readouterr().out.splitlines()
    assert [line[:6] for line in lines[:3]] == ["Hint 1", "Hint 2", "Hint 3"]
    assert (
        lines[3]
        == lines[4]
        == 'That was the last hint. solution("out-of-bounds/1") shows one way to do it.'
    )


def test_exercise_functions_list_known_ids_for_unknown_id():
    for function in (hint, solution, lambda id: check(id, max)):
        with pytest.raises(KeyError, match="there are out-of-bounds/1, out-of-bounds/2"):
            function("out-of-bounds/9")
    with pytest.raises(KeyError, match="no exercise 'nothing/1'; there are"):
        get_exercise("nothing/1")
