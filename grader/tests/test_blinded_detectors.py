"""Test that no answer can hide from a detector, a count, or a test beside it unnoticed."""

from __future__ import annotations

from pathlib import Path

import grading_harness as harness
import pytest
from jaxbits_grader.authoring.assignment_source import parse_assignment
from jaxbits_grader.checking.hidden_test_run import run_hidden_tests
from jaxbits_grader.checking.run_record import RunResult
from jaxbits_grader.checking.scan import scan_notebook
from jaxbits_grader.running.limits import Limits

SOURCE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
assignment:
  title: Wells
  chapter: 02-pure-functions
  minutes: 10
  goals: [fill]
  tasks: {fill: "The filling.", level: "The level.", predict: "The prediction."}
---

```{code-cell} ipython3
:nbgrader: {grade_id: given, locked: true}
import jax
import jax.numpy as jnp
import numpy as np
from jaxbits import detect, testing

RATES = {"well": 1}

class Pump:
    def lift(self):
        return RATES["well"]

def measured(wells):
    return [int(jax.jit(lambda well: well + 1)(well)) for well in wells]
```

```{code-cell} ipython3
:nbgrader: {grade_id: fill, solution: true}
def fill(well, rain):
    ### BEGIN SOLUTION
    return well + rain
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: fill-pure, points: 2}
assert fill(jnp.float32(1), jnp.float32(2)) == 3.0, "one and two"
### BEGIN HIDDEN TESTS
found = detect.side_effect(fill, jnp.float32(1), jnp.float32(2))
assert found == [], "filling must have no side effect"
### END HIDDEN TESTS
```

```{code-cell} ipython3
:nbgrader: {grade_id: level, solution: true}
def level(well, height):
    ### BEGIN SOLUTION
    well[0] = height
    return height + 1.0
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: level-values, points: 2, together: the test passes a Ref to the answer}
well = jax.new_ref(jnp.zeros(2))
assert level(well, 5.0) == 6.0, "one above"
### BEGIN HIDDEN TESTS
assert well[0] == 5.0, "the well must contain the height"
assert level(well, 7.0) == 8.0, "one above, again"
### END HIDDEN TESTS
```

```{code-cell} ipython3
:nbgrader: {grade_id: predict, solution: true}
def predict(wells):
    ### BEGIN SOLUTION
    return [int(well) + 1 for well in wells]
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: predict-values, points: 2}
assert predict([1.0, 2.0]) == [2, 3], "two wells"
### BEGIN HIDDEN TESTS
with testing.count_compilations("compile") as count:
    seen = predict([4.0, 5.0])
assert count[0] == 0, "nothing may be compiled"
assert seen == [5, 6], "two more wells"
### END HIDDEN TESTS
```

```{code-cell} ipython3
:nbgrader: {grade_id: predict-patched, points: 2}
assert predict([3.0]) == [4], "one well"
### BEGIN HIDDEN TESTS
from unittest import mock

refused = mock.Mock(side_effect=testing.WrongAnswer("predict must not use jax.jit"))
with mock.patch.object(jax, "jit", refused):
    assert predict([8.0]) == [9], "another well"
### END HIDDEN TESTS
```
"""
RIGHT = {
    "fill": "def fill(well, rain):\n    return well + rain",
    "level": "def level(well, height):\n    well[0] = height\n    return height + 1.0",
    "predict": "def predict(wells):\n    return [int(well) + 1 for well in wells]",
}
FULL = {"fill-pure": 2, "level-values": 2, "predict-values": 2, "predict-patched": 2}


def grade(cache: Path | None = None, **answers: str) -> tuple[RunResult, tuple[str, ...]]:
    """Grade answers, and return the result and all notes."""
    assignment = parse_assignment(SOURCE, "wells")
    repaired, released = harness.fill_in(assignment, {**RIGHT, **answers})
    findings = scan_notebook(repaired, released)
    result = run_hidden_tests(repaired, assignment, Limits(), cache=cache)
    return result, (*findings.tampering, *findings.odd, *result.tampering, *result.odd)


def points(result: RunResult) -> dict[str, float]:
    return {cell.id: cell.points or 0 for cell in result.points}


@harness.needs_sandbox
def test_right_answers_get_all_points_without_note() -> None:
    result, notes = grade()
    assert (points(result), notes) == (FULL, ())


COUNTS = "days[0] += 1\n    return well + rain"
FILLS = {
    "side effect": f"days = [0]\ndef fill(well, rain):\n    {COUNTS}",
    "comment": "days = [0]\ndef fill(well, rain):\n"
    "    days[0] += 1  # jaxbits: ignore[side_effect, stale_global]\n    return well + rain",
    "lines in the cache": f"""
import inspect, linecache
days = [0]
def fill(well, rain):
    {COUNTS}
lines = linecache.getlines(inspect.getsourcefile(fill))
remark = "  # jax" + "bits: ignore[side_effect, stale_global, inplace, leak]"
lines[:] = [line.rstrip() + remark + chr(10) for line in lines]
""",
    "stack": f"""
import traceback
days = [0]
def fill(well, rain):
    if any("detect" in line for line in traceback.format_stack()):
        return well + rain
    {COUNTS}
""",
    "constant": f"""
from jaxbits._analysis.python_state import state_walk
[state_walk][0]._MAX_FUNCTIONS = 0
days = [0]
def fill(well, rain):
    {COUNTS}
""",
    "too many objects": """
days = [[0] for _ in range(6000)]
def fill(well, rain):
    days[5999][0] += 1
    return well + rain
""",
    "untraceable": """
days = [0]
def fill(well, rain):
    days[0] += not isinstance(well, jax.core.Tracer)
    return jnp.asarray(np.asarray(well) + np.asarray(rain))
""",
}


@harness.needs_sandbox
@pytest.mark.parametrize("attack", FILLS)
def test_side_effect_gets_no_points_unnoticed(attack: str) -> None:
    result, notes = grade(fill=FILLS[attack])
    assert not points(result)["fill-pure"] or notes, notes


COMPILER = """
import IPython.core.compilerop as compilers
kind = [compilers.CachingCompiler][0]
parse_as_before = kind.ast_parse
def parse(self, source, *rest, **options):
    tree = parse_as_before(self, source, *rest, **options)
    if "new_ref" in source and getattr(level, "is_mine", False):
        tree.body = tree.body[-1:]
    return tree
def level(well, height):
    return height
level.is_mine = True
"""
LEVELS = {
    "compiler": COMPILER + 'setattr(kind, "ast_" + "parse", parse)',
    "compiler, without setattr": COMPILER + "type.__setattr__(kind, 'ast_parse', parse)",
}


# Each of these changes something that runs or checks tests, in a way that the scan does not know.
CHANGES = {
    "the tests' copy": (
        "place = [n for n in MODULES[__name__].__dict__ if n.endswith('_testing')][0]\n"
        "MODULES[__name__].__dict__[place].assert_close = lambda *a, **k: None",
        "the tests' copy of jaxbits.testing",
    ),
    "the compiler's instance": (
        "real = SHELL.compile.ast_parse\nSHELL.compile.ast_parse = lambda *a, **k: real(*a, **k)",
        "IPython's compiler",
    ),
    "the kernel's handler": (
        "real = SHELL.kernel.shell_handlers['execute_request']\n"
        "async def handle(*arguments):\n    return await real(*arguments)\n"
        "SHELL.kernel.shell_handlers['execute_request'] = handle",
        "IPython's kernel",
    ),
    "the check": (
        "MODULES['jaxbits_grader.checking.integrity_check'].find_replaced = lambda: ''",
        "jaxbits_grader.checking.integrity_check",
    ),
    "a detector": (
        "[detect.side_effect][0].find = lambda target: []",
        "jaxbits.detect._side_effect",
    ),
    "a given class": ("Pump.lift = [lambda self: 0][0]", "the given Pump"),
    "a given constant": ("RATES.update(well=0)", "the given RATES"),
    "a session's class": (
        "kind = MODULES['jupyter_client.session'].Session\nreal = kind.deserialize\n"
        "kind.deserialize = lambda *a, **k: real(*a, **k)",
        "jupyter_client.session.Session.deserialize",
    ),
    "a primitive": (
        "place = MODULES['jax._src.lax.lax'].add_p\nreal = place.bind\n"
        "place.bind = lambda *arguments, **options: real(*arguments, **options)",
        "jax._src.lax.lax",
    ),
    "a tuple of types": (
        "part = MODULES['jaxbits._analysis.python_state.state_values']\n"
        "part.OPAQUE_TYPES = (*part.OPAQUE_TYPES, list)",
        "jaxbits._analysis.python_state.state_values",
    ),
}
PRELUDE = """
import os
from IPython.core.interactiveshell import InteractiveShell
MODULES, SHELL = os.sys.modules, [InteractiveShell][0].instance()
"""


@harness.needs_sandbox
@pytest.mark.parametrize("what", CHANGES)
def test_census_notices_changes_of_what_tests_rely_on(what: str) -> None:
    change, part = CHANGES[what]
    result, notes = grade(fill=f"{PRELUDE}{change}\n{RIGHT['fill']}")
    assert any(part in sign for sign in result.tampering), result.tampering
    assert any("uses sys.modules" in note for note in notes)


# Each of these changes something only while a test beside the answer runs. The scan knows none.
FOR_A_TIME = {
    "a module": ("place = max([jnp], key=id)", "zeros", "jax.numpy"),
    "a class": ("place = type(jnp.zeros(1))", "sum", "jaxlib._jax.ArrayImpl"),
    "a given class": ("place = max([Pump], key=id)", "lift", "an attribute of Pump"),
}


@harness.needs_sandbox
@pytest.mark.parametrize("what", FOR_A_TIME)
def test_changes_that_are_undone_within_a_test_get_a_note(what: str) -> None:
    choice, member, part = FOR_A_TIME[what]
    result, notes = grade(
        level=f"{choice}\ndef other():\n    return lambda *arguments: 0.0\n"
        f"def level(well, height):\n    real = place.{member}\n    place.{member} = other()\n"
        f"    well[0] = height\n    place.{member} = real\n    return height + 1.0"
    )
    assert points(result) == FULL
    assert f"temporarily changes {part} or imports submodules, in level-values" in notes


@harness.needs_sandbox
def test_detector_that_records_reads_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    # To see what a function reads that prints, the detector replaces methods of arrays for a time.
    test = 'assert well[0] == 5.0, "the well must contain the height"'
    found = "found = detect.transfer(fill, jnp.ones(2), jnp.ones(2))\nassert found == [], 'reads'\n"
    monkeypatch.setitem(globals(), "SOURCE", SOURCE.replace(test, found + test))
    fill = "def fill(well, rain):\n    print('filling')\n    return well + rain"
    result, notes = grade(fill=fill)
    assert points(result)["level-values"] == 2
    assert not any("temporarily" in note for note in notes)


@harness.needs_sandbox
def test_copying_an_object_is_no_change() -> None:
    level = """
import copy
import optax

def level(well, height):
    copies = copy.deepcopy((Pump(), optax.MultiSteps(optax.sgd(1.0), 2)))
    well[0] = copies[0].lift() * height
    return height + 1.0
"""
    result, notes = grade(level=level)
    assert (points(result), notes) == (FULL, ())


@harness.needs_sandbox
def test_import_in_answer_is_no_change() -> None:
    imports = "from jax.experimental import checkify\n    from flax.training import train_state"
    result, notes = grade(
        level=f"def level(well, height):\n    {imports}\n    well[0] = height\n"
        "    return height + 1.0"
    )
    assert (points(result), notes) == (FULL, ())


@harness.needs_sandbox
@pytest.mark.parametrize("attack", LEVELS)
def test_replaced_compiler_is_tampering(attack: str) -> None:
    result, _ = grade(level=LEVELS[attack])
    assert any("CachingCompiler.ast_parse" in what for what in result.tampering)


FORMATTER = """
kept = []
def show(text, printer, cycle):
    if "IPython's shell" in text:
        kept.append(text)
        text = kept[0]
    printer.text(repr(text))
SHELL.display_formatter.formatters["text/plain"].for_type(str, show)
"""


@harness.needs_sandbox
def test_formatters_of_the_notebook_do_not_change_the_answers_to_queries() -> None:
    copy, part = CHANGES["the tests' copy"]
    result, _ = grade(fill=f"{PRELUDE}{FORMATTER}{copy}\n{RIGHT['fill']}")
    assert any(part in sign for sign in result.tampering)


# JAX must write no program to this folder, and therefore reads none from it.
OWN_PROGRAMS = """
import os, tempfile
place = max([jax.config], key=id)
folder = tempfile.mkdtemp()
place.update("jax_compilation_" + "cache_dir", folder)
place.update("jax_persistent_" + "cache_min_compile_time_secs", 0)
place.update("jax_enable_compilation_" + "cache", True)
jax.jit(lambda well: 3 * well + 1)(1.0)
assert os.listdir(folder) == []
"""


@harness.needs_sandbox
@pytest.mark.parametrize("has_programs", [False, True])
def test_submission_cannot_choose_where_jax_reads_programs(
    has_programs: bool, tmp_path: Path
) -> None:
    if has_programs:
        (tmp_path / f"jit_cos-{64 * '0'}-cache").touch()
    result, _ = grade(tmp_path if has_programs else None, fill=f"{OWN_PROGRAMS}{RIGHT['fill']}")
    assert points(result)["fill-pure"] == FULL["fill-pure"]


PREDICTIONS = {
    "measures": "def predict(wells):\n    return measured(wells)",
    "remembers": """
kept = {}
def predict(wells):
    if str(wells) not in kept:
        kept[str(wells)] = measured(wells)
    return kept[str(wells)]
""",
    "registers the listener again": """
def predict(wells):
    from jax._src import monitoring
    kept = monitoring.get_event_duration_listeners()
    monitoring.clear_event_listeners()
    seen = measured(wells)
    for listener in kept:
        monitoring.register_event_duration_secs_listener(listener)
    return seen
""",
    "removes the listener": """
def predict(wells):
    jax.monitoring.clear_event_listeners()
    return measured(wells)
""",
}


@harness.needs_sandbox
@pytest.mark.parametrize("attack", PREDICTIONS)
def test_forbidden_compilation_gets_no_points(attack: str) -> None:
    result, _ = grade(predict=PREDICTIONS[attack])
    assert points(result)["predict-values"] == 0
    assert points(result)["predict-patched"] == 0 or attack == "remembers"
