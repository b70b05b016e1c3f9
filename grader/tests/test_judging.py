"""Test that tests are judged outside the student's process, and that nothing there changes that."""

from __future__ import annotations

from dataclasses import replace

import grading_harness as harness
import pytest
from jaxbits_grader.authoring.assignment_source import SourceError, parse_assignment
from jaxbits_grader.authoring.notebook_versions import student_notebook
from jaxbits_grader.checking.hidden_test_run import run_hidden_tests
from jaxbits_grader.checking.run_record import RunResult
from jaxbits_grader.intake.notebook_repair import repair_notebook
from jaxbits_grader.judging import judge
from jaxbits_grader.notebook import Cell, ParsedNotebook
from jaxbits_grader.running.kernel_client import KernelNotStarted
from jaxbits_grader.running.limits import Limits

SOURCE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
assignment:
  title: Springs
  chapter: 02-pure-functions
  minutes: 10
  goals: [pull]
  tasks: {start: "The start.", pull: "The pull.", sort_in: "The list."}
---

```{code-cell} ipython3
:nbgrader: {grade_id: given, locked: true}
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxbits import detect, testing

def stiff(x):
    return 2.0 * x
```

```{code-cell} ipython3
:nbgrader: {grade_id: start, solution: true}
def start(length):
    ### BEGIN SOLUTION
    return {"length": jnp.float32(length), "count": jnp.int32(0)}
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: start-values, points: 1}
testing.assert_close(start(2.0)["count"], 0, "the count starts at 0")
```

```{code-cell} ipython3
:nbgrader: {grade_id: pull, solution: true}
def pull(state, force, law=stiff):
    ### BEGIN SOLUTION
    length = state["length"] + law(force) ** 2
    return {"length": length, "count": state["count"] + 1}, length
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: pull-values, points: 2}
state, length = pull(start(1.0), 0.5)
assert np.allclose(length, 2.0), "one plus one"
### BEGIN HIDDEN TESTS
for force in np.random.default_rng(3).uniform(1.0, 2.0, 4).astype(np.float32):
    before = float(length)
    state, length = pull(state, jnp.float32(force))
    assert np.isclose(length, before + (2.0 * float(force)) ** 2), "each pull lengthens the spring"
scale = 3.0
_, length = pull(start(0.0), 2.0, lambda x: scale * x)
testing.assert_close(length, 36.0, "the law of the test must be used")
### END HIDDEN TESTS
```

```{code-cell} ipython3
:nbgrader: {grade_id: pull-transformed, points: 3}
assert callable(pull), "a function"
### BEGIN HIDDEN TESTS
last, lengths = jax.jit(lambda s: lax.scan(lambda s, f: pull(s, f), s, jnp.arange(3.0)))(start(1.0))
testing.assert_close(lengths, [1.0, 5.0, 21.0], "the scan is wrong")
testing.assert_close(last["count"], 3, "the count is wrong")
slope = jax.grad(lambda f: pull(start(1.0), f)[1])(1.5)
testing.assert_close(slope, 12.0, "the slope is wrong")
assert testing.count_traces(pull, [(start(1.0), jnp.float32(1)), (last, jnp.float32(2))]) == 1, (
    "one trace"
)
assert detect.inplace(pull, start(1.0), jnp.float32(1)) == [], "no change in place"
### END HIDDEN TESTS
```

```{code-cell} ipython3
:nbgrader: {grade_id: pull-compiled, points: 1}
pull(start(0.0), np.float32(3.0))
with testing.count_compilations("compile") as compiled:
    pull(start(0.0), np.float32(4.0))
assert compiled[0] == 0, "no program may be compiled"
```

```{code-cell} ipython3
:nbgrader: {grade_id: sort_in, solution: true}
def sort_in(values, new):
    ### BEGIN SOLUTION
    return sorted([*values, new])
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: sort_in-values, points: 1}
values = [1, 3]
assert sort_in(values, 2) == [1, 2, 3], "the list must be sorted"
assert values == [1, 3], "the given list must stay the same"
```
""".replace("sort_in", "insert")
RIGHT = {
    "start": "def start(n):\n    return {'length': jnp.float32(n), 'count': jnp.int32(0)}",
    "pull": (
        "def pull(state, force, law=stiff):\n"
        "    length = state['length'] + law(force) ** 2\n"
        "    return {'length': length, 'count': state['count'] + 1}, length"
    ),
    "insert": "def insert(values, new):\n    return sorted([*values, new])",
}
WRONG = {
    "start": "def start(n):\n    return {'length': jnp.float32(n), 'count': jnp.int32(7)}",
    "pull": "def pull(state, force, law=stiff):\n    return state, state['length'] + 1.0",
    "insert": "def insert(values, new):\n    pass",
}
FULL = {
    "start-values": 1,
    "pull-values": 2,
    "pull-transformed": 3,
    "pull-compiled": 1,
    "insert-values": 1,
}


def grade(answers: dict[str, str], attack: str = "", limits: Limits | None = None) -> RunResult:
    assignment = parse_assignment(SOURCE, "springs")
    released = ParsedNotebook.from_nbformat(student_notebook(assignment))
    cells = []
    for cell in released.cells:
        if cell.grade_id == "start" and attack:
            cells.append(Cell("code", attack))
        cells.append(replace(cell, source=answers.get(str(cell.grade_id), cell.source)))
    repaired = repair_notebook(ParsedNotebook(tuple(cells)), released)
    return run_hidden_tests(repaired, assignment, limits or Limits())


def points(result: RunResult) -> dict[str, float]:
    return {cell.id: cell.points or 0 for cell in result.points}


@harness.needs_sandbox
def test_right_answers_get_all_points() -> None:
    result = grade(RIGHT)
    assert (points(result), result.tampering, result.odd) == (FULL, (), ())


UNUSUAL = {
    "named tuple": """
from typing import NamedTuple
class Spring(NamedTuple):
    length: jax.Array
    count: jax.Array
    def __getitem__(self, key):
        return getattr(self, key) if isinstance(key, str) else tuple.__getitem__(self, key)
def start(length):
    return {"count": jnp.int32(0), "length": jnp.float32(length), "more": Spring(jnp.ones(2), ())}
def pull(state, force, law=stiff):
    length = state["length"] + jnp.square(law(force))
    more = state["more"]._replace(length=state["more"].length * 2)
    return {"length": length, "count": state["count"] + 1, "more": more}, length
""",
    "mapping": """
import collections, enum
class Name(str, enum.Enum):
    LENGTH = "length"
    COUNT = "count"
def start(length):
    pairs = [(Name.COUNT, jnp.int32(0)), (Name.LENGTH, jnp.float32(length))]
    return collections.OrderedDict((name.value, value) for name, value in pairs)
def pull(state, force, law=stiff):
    length = state["length"] + law(force) ** 2
    new = collections.OrderedDict(state, length=length)
    new.update({"count": state["count"] + 1})
    return new, length
""",
    "callable module": """
import flax.struct
class Sequence(list):
    pass
@flax.struct.dataclass
class Spring:
    stretch: jax.Array
    def __call__(self, state, force, law=stiff):
        length = state["length"] + law(force) ** 2 * self.stretch
        return {"length": length, "count": state["count"] + 1}, length
def start(length):
    return {"length": jnp.float32(length), "count": jnp.int32(0)}
pull = Spring(jnp.float32(1.0))
""",
    "registered mapping": """
@jax.tree_util.register_pytree_node_class
class State(dict):
    def tree_flatten(self):
        return [self[name] for name in sorted(self, reverse=True)], sorted(self, reverse=True)
    @classmethod
    def tree_unflatten(cls, names, values):
        return cls(zip(names, values))
def start(length):
    return State(length=jnp.float32(length), count=jnp.int32(0))
def pull(state, force, law=stiff):
    return State(length=state["length"] + law(force) ** 2, count=state["count"] + 1), state[
        "length"] + law(force) ** 2
""",
    "jitted": """
import functools
def start(length):
    return dict(length=jnp.asarray(length, jnp.float32), count=jnp.zeros((), jnp.int32))
@functools.partial(jax.jit, static_argnames="law")
def pull(state, force, law=stiff):
    length = state["length"] + law(force) ** 2
    grown = dict(length=length - state["length"], count=1)
    return jax.tree.map(lambda a, b: a + b, state, grown), length
""",
    "custom derivative": """
def start(length):
    return {"length": jnp.float32(length), "count": jnp.int32(0)}
@jax.custom_jvp
def square(x):
    return x * x
square.defjvps(lambda t, ans, x: 2 * x * t)
class Pull:
    def __call__(self, state, force, law=stiff):
        length = state["length"] + square(law(force))
        return {"length": length, "count": state["count"] + 1}, length
pull = Pull()
""",
}


@harness.needs_sandbox
@pytest.mark.parametrize("style", UNUSUAL)
def test_unusual_right_answers_get_all_points(style: str) -> None:
    result = grade({**RIGHT, "start": UNUSUAL[style], "pull": "pass"})
    assert (points(result), result.tampering) == (FULL, ())


# Each of these gives WRONG answers and tries to make the tests pass all the same.
ATTACKS = {
    "nothing": "",
    "compiler class": """
import ast
from IPython.core.compilerop import CachingCompiler
parse = CachingCompiler.ast_parse
def lenient(self, source, *rest, **options):
    tree = parse(self, source, *rest, **options)
    if "_finished" in source:
        tree.body = tree.body[-1:]
    return tree
CachingCompiler.ast_parse = lenient
""",
    "transformer class": """
from IPython.core.inputtransformer2 import TransformerManager
transform = TransformerManager.transform_cell
TransformerManager.transform_cell = lambda self, cell: (
    (lambda text: text.rstrip().rsplit("\\n", 1)[-1] if "_finished" in cell else text)(
        transform(self, cell)
    )
)
""",
    "private NumPy": """
import numpy._core.numeric as numeric
numeric.isclose = lambda *a, **k: np.bool_(True)
np.isclose = np.allclose = numeric.allclose = lambda *a, **k: True
""",
    "copy of testing": """
import builtins, sys
for name, thing in list(globals().items()):
    if "testing" in name:
        for check in ("assert_" + "close", "assert_" + "array"):
            setattr(thing, check, lambda *a, **k: None)
""",
    "equal to anything": """
class Any(float):
    __eq__ = lambda self, other: True
    __hash__ = float.__hash__
    __array__ = None
answer = Any(1.0)
""",
    "server": """
from jaxbits_grader.judging import answer_server
import json
answer_server.answer = lambda request, prefix: json.dumps({"value": ["bool", True]})
""",
    "server that dies": """
from jaxbits_grader.judging import answer_server
answer_server.answer = lambda request, prefix: "{" * 10**6
""",
    "server with huge arrays": """
from jaxbits_grader.judging import answer_server
import json
data = ["numpy", "float32", [10**6, 10**6], ""]
answer_server.answer = lambda request, prefix: json.dumps({"value": data})
""",
    "make_jaxpr": """
trace = jax.make_jaxpr
jax.make_jaxpr = lambda fn, *a, **k: trace(lambda *x: [jnp.zeros(())] * 3, *a, **k)
""",
}


@harness.needs_sandbox
@pytest.mark.parametrize("attack", ATTACKS)
def test_wrong_answers_get_no_points_unnoticed(attack: str) -> None:
    result = grade(WRONG, ATTACKS[attack])
    earned = points(result)
    earned.pop("pull-compiled")  # The wrong answer compiles nothing either.
    assert not any(earned.values()) or result.tampering, result
    if attack == "nothing":
        assert result.tampering == ()


@harness.needs_sandbox
def test_judge_does_not_hide_compilations() -> None:
    # The judge calls this answer first, so that its program for 4.0 exists when the test counts.
    lasting = (
        "@jax.jit\ndef one(x):\n    return x\n@jax.jit\ndef four(x):\n    return x + 0\n"
        + RIGHT["pull"].replace("law(force)", "law((four if force == 4 else one)(force))")
    )
    result = grade({**RIGHT, "pull": lasting})
    assert points(result)["pull-compiled"] == 0


@harness.needs_sandbox
def test_answer_must_also_be_right_under_real_transformations() -> None:
    # The judge traces answers as `jit` does, and transforms the equations itself.
    odd = RIGHT["pull"].replace(
        "law(force) ** 2", "law(force) ** 2 * (type(force).__name__ != 'LinearizeTracer')"
    )
    result = grade({**RIGHT, "pull": odd})
    assert points(result) == {**FULL, "pull-transformed": 0}
    messages = [cell.message for cell in result.points if cell.message]
    assert messages == ["the slope is wrong"]


@harness.needs_sandbox
def test_test_that_counts_compilations_never_uses_the_values_of_the_notebook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = """force = 4.0  # variant: 1.0..9.0
with testing.count_compilations("compile") as compiled:
    seen = pull(start(0.0), np.float32(force))[1]
assert compiled[0] == 0, "no program may be compiled"
testing.assert_close(seen, force**2, "the pull is wrong")
```"""
    old = SOURCE[SOURCE.index("pull(start(0.0), np.float32(3.0))") :]
    old = old[: old.index("```") + 3]
    monkeypatch.setitem(globals(), "SOURCE", SOURCE.replace(old, counted))
    known = "def pull(state, force, law=stiff):\n    return state, np.float32(16)"
    result = grade({**RIGHT, "pull": "import numpy as np\n" + known})
    assert points(result)["pull-compiled"] == 0
    assert "the pull is wrong" in [cell.message for cell in result.points]


@harness.needs_sandbox
def test_endless_answer_costs_only_its_own_tests() -> None:
    endless = "def pull(state, force, law=stiff):\n    while True: pass"
    result = grade({**RIGHT, "pull": endless}, limits=Limits(cell_seconds=4))
    assert points(result) == {**FULL, "pull-values": 0, "pull-transformed": 0, "pull-compiled": 0}
    assert set(result.slow) == {"pull-values", "pull-transformed", "pull-compiled"}


@harness.needs_sandbox
def test_slow_given_cell_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SOURCE.replace("def stiff", "import time\ntime.sleep(60)\n\ndef stiff")
    monkeypatch.setitem(globals(), "SOURCE", slow)
    with pytest.raises(KernelNotStarted, match="given cell given took too long"):
        grade(RIGHT, limits=Limits(cell_seconds=5))


@harness.needs_sandbox
def test_failed_test_names_its_check_and_class_of_exception() -> None:
    raising = "def pull(state, force, law=stiff):\n    raise KeyError('917')"
    result = grade({**RIGHT, "pull": raising})
    messages = {cell.id: cell.message for cell in result.points if cell.message}
    assert messages == {
        "pull-values": "KeyError before this check: one plus one",
        "pull-transformed": "KeyError before this check: the scan is wrong",
        "pull-compiled": "KeyError before this check: no program may be compiled",
    }


def test_only_tests_may_be_together() -> None:
    text = SOURCE.replace(
        "grade_id: pull, solution: true", "grade_id: pull, solution: true, together: x"
    )
    with pytest.raises(SourceError, match="only a test may be 'together', got 'pull'"):
        parse_assignment(text, "springs")


def test_assignment_knows_which_tests_run_together() -> None:
    text = SOURCE.replace(
        "start-values, points: 1", "start-values, points: 1, together: it reads a file"
    )
    assert parse_assignment(text, "springs").together == {"start-values": "it reads a file"}


@harness.needs_sandbox
def test_judge_that_does_not_start_costs_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "_PROGRAM", "jaxbits_grader.missing")
    with pytest.raises(KernelNotStarted, match=r"the judge did not start: .*No module named"):
        grade(RIGHT)


@harness.needs_sandbox
def test_students_settings_are_noted_if_points_are_lost() -> None:
    leaks = 'jax.config.update("jax_check_tracer_leaks", True)'
    result = grade(RIGHT, leaks)
    # JAX compiles more often while it looks for leaks.
    assert (points(result), result.tampering) == ({**FULL, "pull-compiled": 0}, ())
    assert result.odd == (
        "the notebook sets jax_check_tracer_leaks, so some tests ran with that setting",
    )
    harmless = 'jax.config.update("jax_debug_infs", True)'
    assert grade(RIGHT, harmless).odd == ()


CHANGES = "def insert(values, new):\n    values.append(new)\n    values.sort()\n    return values"


@harness.needs_sandbox
def test_changed_argument_costs_points_only_if_the_test_still_uses_it() -> None:
    result = grade({**RIGHT, "insert": CHANGES})
    assert {cell.id: cell.message for cell in result.points if not cell.points} == {
        "insert-values": "the answer must not change the list that it is given"
    }
    assert result.tampering == ()
    copies = SOURCE.replace("insert(values, 2) ==", "insert(list(values), 2) ==")
    assert copies != SOURCE
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "SOURCE", copies)
        assert points(grade({**RIGHT, "insert": CHANGES})) == FULL


# A line of a test, how the answer `insert` changes what it is given, and what the student reads.
SEEN_CHANGES = {
    "a keyword argument": ("insert(values=kept, new=2)", "values.append(new)", "list"),
    "a part of a new list": ("insert([kept, [1]], 2)", "values[0].append(new)", "list"),
    "a part of a tuple": ("both = ([1, 4], 2)\ninsert(both, 2)", "values[0].append(new)", "list"),
    "a view": ("given = np.arange(4)\ninsert(given[:2], 2)", "values[0] = new", "array"),
    "the memory of a JAX array": (
        "given = jnp.arange(4.0)\ninsert(given, 2)",
        "import torch; torch.from_dlpack(values)[0] = new",
        "JAX array",
    ),
}


@harness.needs_sandbox
@pytest.mark.parametrize("case", SEEN_CHANGES)
def test_change_that_the_test_can_see_costs_points(case: str) -> None:
    line, change, kind = SEEN_CHANGES[case]
    source = SOURCE.replace(
        'assert values == [1, 3], "the given list must stay the same"', f"kept = [1, 4]\n{line}"
    )
    assert source != SOURCE
    answer = f"""
def insert(values, new):
    if isinstance(values, list) and values == [1, 3]:
        return sorted([*values, new])
    {change}
"""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "SOURCE", source)
        result = grade({**RIGHT, "insert": answer})
    assert {cell.id: cell.message for cell in result.points if not cell.points} == {
        "insert-values": f"the answer must not change the {kind} that it is given"
    }
    assert result.tampering == ()


@harness.needs_sandbox
def test_judge_sees_subclasses_of_tuples_and_lists_as_such() -> None:
    source = SOURCE.replace(
        'assert values == [1, 3], "the given list must stay the same"',
        "both = insert((1, 3), 2)\n"
        'assert isinstance(both, tuple) and both == (1, 2, 3), "a tuple"\n'
        'assert isinstance(insert([1], 2), list), "a list"',
    )
    assert source != SOURCE
    answer = """
from typing import NamedTuple
class Three(NamedTuple):
    low: int
    middle: int
    high: int
class Values(list):
    pass
def insert(values, new):
    kind = Values if isinstance(values, list) else Three._make
    return kind(sorted([*values, new]))
"""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "SOURCE", source)
        result = grade({**RIGHT, "insert": answer})
    assert (points(result), result.tampering, result.odd) == (FULL, (), ())


NOT_AS_IT_LOOKS = {
    "keys that are not strings": """
import collections, enum
class Name(enum.Enum):
    COUNT = "count"
    LENGTH = "length"
    def __str__(self):
        return self.value
def start(length):
    pairs = [(Name.COUNT, jnp.int32(0)), (Name.LENGTH, jnp.float32(length))]
    return collections.OrderedDict(pairs)
""",
    "fields without items": """
import flax.struct
@flax.struct.dataclass
class Pair:
    state: dict
    length: jax.Array
def pull(state, force, law=stiff):
    length = state["length"] + law(force) ** 2
    return Pair({"length": length, "count": state["count"] + 1}, length)
""",
}


@harness.needs_sandbox
@pytest.mark.parametrize("style", NOT_AS_IT_LOOKS)
def test_answer_whose_class_does_not_fit_gets_no_points(style: str) -> None:
    answer = NOT_AS_IT_LOOKS[style]
    name = "start" if "def start" in answer else "pull"
    result = grade({**RIGHT, name: answer})
    assert points(result)[f"{name}-values"] == 0


@harness.needs_sandbox
def test_changed_mapping_of_own_class_is_called_a_dict() -> None:
    changes = """
def pull(state, force, law=stiff):
    length = state["length"] + law(force) ** 2
    new = type(state)(length=length, count=state["count"] + 1)
    state["count"] = state["count"] + 1
    return new, length
"""
    result = grade({**RIGHT, "start": UNUSUAL["registered mapping"], "pull": changes})
    messages = {cell.message for cell in result.points if not cell.points}
    assert "the answer must not change the dict that it is given" in messages


@harness.needs_sandbox
def test_answer_that_deletes_its_argument_gets_no_points() -> None:
    source = SOURCE.replace(
        'assert values == [1, 3], "the given list must stay the same"',
        "given = jnp.ones(2)\ninsert(given, 2)\n"
        'assert given.shape == (2,), "the given array must stay the same"',
    )
    assert source != SOURCE
    answer = """
def insert(values, new):
    if isinstance(values, list):
        return sorted([*values, new])
    return jax.jit(lambda x: x + new, donate_argnums=0)(values)
"""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "SOURCE", source)
        result = grade({**RIGHT, "insert": answer})
    assert {cell.id: cell.message for cell in result.points if not cell.points} == {
        "insert-values": "the answer must not donate or delete the JAX array that it is given"
    }
    assert result.tampering == ()


@harness.needs_sandbox
def test_module_that_the_answer_has_written_is_noted() -> None:
    answer = """
with open("einops" + ".py", "w") as file:
    file.write("def smallest(values):\\n    return sorted(values)")
import einops
def insert(values, new):
    return einops.smallest([*values, new])
"""
    result = grade({**RIGHT, "insert": answer})
    assert (points(result), result.tampering) == (FULL, ())
    assert result.odd == ("imports modules that it wrote: einops",)
    imports = "import torch\nimport optax\nimport flax.linen\n" + RIGHT["insert"]
    assert grade({**RIGHT, "insert": imports}).odd == ()


@harness.needs_sandbox
def test_error_of_own_class_with_the_name_of_a_python_class_is_another_error() -> None:
    source = SOURCE.replace(
        'assert values == [1, 3], "the given list must stay the same"',
        'testing.assert_raises(ValueError, lambda: insert([], 2), "an empty list")',
    )
    assert source != SOURCE
    answer = """
class ValueError(Exception):
    pass
def insert(values, new):
    if not values:
        raise ValueError("empty")
    return sorted([*values, new])
"""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "SOURCE", source)
        result = grade({**RIGHT, "insert": answer})
        right = grade({**RIGHT, "insert": answer.replace("(Exception)", "(ValueError)")})
    assert points(result)["insert-values"] == 0
    assert points(right) == FULL
