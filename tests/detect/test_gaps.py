"""Test that an audit is not green if the function raises, cannot be traced, or is only in part."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import gap_cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scores

from jaxbits import assert_clean, audit
from jaxbits._analysis import inner_limits, resource_limits
from jaxbits._analysis.detector import EVIDENCE
from jaxbits._analysis.finding import LEVELS
from jaxbits._analysis.gaps import CASES
from jaxbits._report import AuditError
from jaxbits.detect import detectors

CHECKS = len(detectors())


def run_audit(case):
    args, kwargs = scores.detector_arguments(case)
    return audit(case.fn, *args, **kwargs)


@pytest.mark.parametrize("case", gap_cases.CASES, ids=lambda case: case.name)
def test_audit_is_incomplete_in_labeled_case(case):
    report = run_audit(case)
    assert {gap.case for gap in report.gaps} == ({case.check} if case.expected else set()), str(
        report
    )
    if case.expected:
        assert not report.ok
        assert str(report).startswith(f"incomplete ({case.check}); ")
        assert str(report).splitlines()[1].startswith("incomplete: ")


def test_every_case_has_labeled_cases():
    for name in CASES.keys() - {"timeout"}:
        labels = [case.expected for case in gap_cases.CASES if case.check == name]
        assert labels.count(True) >= 3, name
        assert labels.count(False) >= 3, name


def test_gap_shows_full_error_and_line():
    report = audit(gap_cases.refuse_short, jnp.ones(3))
    (gap,) = report.gaps
    assert gap.error == "RuntimeError: x is too short\nit needs four numbers"
    assert gap.place.text == 'raise RuntimeError("x is too short\\nit needs four numbers")'
    lines = str(report).splitlines()
    assert lines[0] == f"incomplete (raises); nothing found by {CHECKS} checks of refuse_short"
    assert lines[1] == (
        "incomplete: the function raised an error when the audit called it [raises]"
    )
    assert lines[2] == f"    gap_cases.py:{gap.place.line}  {gap.place.text}"
    assert lines[3:5] == [
        "    seen: RuntimeError: x is too short",
        "          it needs four numbers",
    ]
    assert lines[5].endswith("or accept it with `allow=['raises']`")


def test_gap_shows_long_error_in_full():
    text = "x" * 5000

    def fails(x):
        raise ValueError(text)

    (gap,) = audit(fails, 1.0).gaps
    assert gap.error == f"ValueError: {text}"
    assert text in str(audit(fails, 1.0))


def test_gap_shows_line_of_definition_if_an_argument_is_missing():
    def add(x, y):
        return x + y

    (gap,) = audit(add, 1.0).gaps
    assert "missing 1 required positional argument: 'y'" in gap.error
    assert gap.place.line == add.__code__.co_firstlineno


def branch(x):
    return x if x.sum() > 1 else -x


def test_finding_that_explains_error_is_not_repeated():
    report = audit(branch, jnp.ones(3))
    (gap,) = report.gaps
    assert gap.case == "untraced"
    assert gap.error.startswith("TracerBoolConversionError: ")
    assert gap.fix == "see control_flow below"
    assert [finding.check for finding in report] == ["control_flow", "transfer"]
    headline = f"incomplete (untraced); 1 error, 1 warning by {CHECKS} checks of branch\n"
    assert str(report).startswith(headline)
    (gap,) = audit(jax.jit(branch), jnp.ones(3)).gaps
    assert (gap.case, gap.fix) == ("raises", "see control_flow below")


def test_error_names_function_and_argument():
    (gap,) = audit(branch, jnp.ones(3), checks=["leak"]).gaps
    assert gap.error.startswith("TracerBoolConversionError: Attempted boolean conversion")
    assert "while tracing the function branch" in gap.error
    assert "argument x" in gap.error
    assert gap.place.text == "return x if x.sum() > 1 else -x"

    def ignored(x):
        return x if x.sum() > 1 else -x  # jaxbits: ignore[control_flow]

    (gap,) = audit(ignored, jnp.ones(3)).gaps
    assert gap.fix == "audit the functions that you jit, one by one"


def test_gap_names_jitted_functions():
    @jax.jit
    def inner(x):
        return x.sum()

    (gap,) = audit(lambda x: float(inner(x)), jnp.ones(3)).gaps
    assert gap.case == "untraced"
    assert gap.fix.endswith(" below, or audit `inner`, which it jits, separately")


def test_assert_clean_accepts_named_cases():
    def fails(x):
        raise ValueError("on purpose")

    with pytest.raises(AuditError, match="ValueError: on purpose"):
        assert_clean(fails, 1.0)
    with pytest.raises(AuditError, match="ValueError: on purpose"):
        assert_clean(fails, 1.0, fail="error", allow=["untraced", "partial", "timeout"])
    assert_clean(fails, 1.0, allow=["raises"])
    step = lambda x: x / float(x.sum())  # noqa: E731
    with pytest.raises(AuditError, match="untraced"):
        assert_clean(step, jnp.ones(3), allow=["transfer", "control_flow"])
    assert_clean(step, jnp.ones(3), allow=["transfer", "control_flow", "untraced"])


def test_assert_clean_fails_at_chosen_level():
    def noisy(x):
        print(x)
        return x

    assert_clean(noisy, 1.0, fail="error")
    with pytest.raises(AuditError, match="side_effect"):
        assert_clean(noisy, 1.0, fail="warning")
    with pytest.raises(AuditError, match="out_of_bounds"):
        assert_clean(lambda x, i: x[i], jnp.ones(3), 7, fail="error")
    with pytest.raises(ValueError, match="fail must be one of 'error', 'warning'; got 'note'"):
        assert_clean(noisy, 1.0, fail="note")
    with pytest.raises(ValueError, match=r"allow must be names of .*'raises'.*; got 'raise'"):
        assert_clean(noisy, 1.0, allow=["raise"])


def test_raise_if_raises_for_gap_unless_allowed():
    report = audit(branch, jnp.ones(3), checks=["leak"])
    assert report.fails("error")
    with pytest.raises(AuditError, match="untraced"):
        report.raise_if("error")
    report.raise_if("error", allow=["untraced"])
    with pytest.raises(ValueError, match=r"allow must be a list of 'raises', .*; got 'leak'"):
        report.raise_if("error", allow=["leak"])


def test_gaps_are_in_dict_and_html():
    report = audit(gap_cases.refuse_short, jnp.ones(3))
    report_dict = json.loads(json.dumps(report.to_dict()))
    assert report_dict["ok"] is False
    assert report_dict["gaps"][0]["case"] == "raises"
    assert report_dict["gaps"][0]["place"]["text"].startswith("raise RuntimeError")
    text = report._repr_html_()
    assert "<b>incomplete · raises</b>" in text
    assert "x is too short<br>it needs four numbers" in text


def reads_then_raises(x):
    scale = float(np.asarray(gap_cases.X)[1])
    return jnp.no_such_function(x * scale)


@pytest.mark.parametrize("seconds", [60.0, -1.0])
def test_error_of_jitted_function_does_not_depend_on_time(monkeypatch, seconds):
    monkeypatch.setattr(inner_limits.LIMITS, "run_seconds", seconds)
    (gap,) = audit(jax.jit(reads_then_raises), jnp.ones(3), checks=["key_reuse"]).gaps
    assert gap.case == "raises"
    assert "no_such_function" in gap.error
    assert gap.place.text.startswith("return jnp.no_such_function(")


def converts_then_raises(x):
    if float(x.sum()) > 2:
        raise ValueError("x is too large")
    return x


def run_out_of_time(*args, **kwargs):
    raise resource_limits.OutOfTime


@pytest.mark.parametrize(
    ("fn", "complete", "unknown"),
    [
        (reads_then_raises, ["raises"], []),
        (converts_then_raises, ["raises"], ["untraced"]),
        (branch, ["untraced"], ["untraced"]),
    ],
)
def test_untraced_is_said_only_if_tracing_is_the_reason(monkeypatch, fn, complete, unknown):
    def gaps():
        return audit(fn, jnp.ones(3), checks=["key_reuse"]).gaps

    assert [gap.case for gap in gaps()] == complete
    with monkeypatch.context() as patch:
        patch.setattr(inner_limits.LIMITS, "run_seconds", -1.0)
        assert [gap.case for gap in gaps()] == [*unknown, "partial"]
        assert "unknown, because its run was stopped after -1 s" in gaps()[-1].message
    with monkeypatch.context() as patch:
        patch.setattr(resource_limits, "MAX_COPY_BYTES", 1)
        assert [gap.case for gap in gaps()] == [*unknown, "partial"]
        assert "unknown, because the arguments take up" in gaps()[-1].message
    monkeypatch.setattr(sys.modules["jaxbits._audit"], "confirm_call", run_out_of_time)
    assert [gap.case for gap in gaps()] == [*unknown, "timeout"]
    assert "unknown, because the time limit was reached" in gaps()[-1].message
    assert all(gap.error and gap.place for gap in gaps()[: len(unknown) or 1])


def test_limit_does_not_hide_that_a_jitted_function_raises(monkeypatch):
    monkeypatch.setattr(sys.modules["jaxbits._audit"], "confirm_call", run_out_of_time)
    (gap,) = audit(jax.jit(branch), jnp.ones(3), checks=["key_reuse"]).gaps
    assert gap.case == "raises"


def test_later_call_that_cannot_be_traced_is_partial():
    calls = [(jnp.ones(3), None), (jnp.ones(3), jnp.int32(3))]
    report = audit(lambda x, n: x if n is None or n > 2 else -x, calls=calls)
    assert report.notes == ("traces were not counted, because call 2 cannot be traced",)


def test_partial_if_values_are_not_examined(monkeypatch):
    monkeypatch.setattr(inner_limits.LIMITS, "instrumented_equations", 2)
    report = audit(lambda x, i: jnp.sin(x[i]) + jnp.cos(x[i]) * 2, jnp.ones(3), 7)
    assert [gap.case for gap in report.gaps] == ["partial"]
    assert "values were not examined, because the program has" in report.notes[0]
    assert not report.ok


def test_partial_if_arguments_are_too_large(monkeypatch):
    monkeypatch.setattr(resource_limits, "MAX_COPY_BYTES", 1000)
    report = audit(lambda x: jnp.asarray(x) * 2, np.zeros(1000))
    assert {gap.case for gap in report.gaps} == {"partial"}
    report = audit(lambda x: jnp.asarray(x) * float(x.sum()), np.zeros(1000))
    assert report.gaps[0].case == "untraced"


@pytest.fixture
def stuck_compiler(monkeypatch):
    """Make every compilation wait for the end of the test, and list those that are complete."""
    compiler = pytest.importorskip("jax._src.compiler")
    compile_and_load = compiler.backend_compile_and_load
    is_over = threading.Event()
    complete = []

    def wait_and_compile(*args, **kwargs):
        is_over.wait(timeout=60)
        result = compile_and_load(*args, **kwargs)
        complete.append(result)
        return result

    monkeypatch.setattr(compiler, "backend_compile_and_load", wait_and_compile)
    yield complete
    is_over.set()


@pytest.mark.parametrize("fn", [lambda x, i: jnp.sin(x)[i], jax.jit(lambda x, i: x[i] + 1)])
def test_audit_does_not_wait_for_compilation(stuck_compiler, fn):
    report = audit(fn, np.ones(3, np.float32), np.int32(1), limit=1.0)
    assert stuck_compiler == []
    assert report.not_run
    assert report.gaps[-1].case == "timeout"
    assert not report.ok
    assert report.fails("error")
    assert not report.fails("error", allow=["timeout"])


def test_time_limit_holds_if_python_drops_the_exception():
    finalizer_ends = time.monotonic() + 0.3

    class Slow:
        def __del__(self):
            while time.monotonic() < finalizer_ends:
                pass

    def loop():
        Slow()
        while True:
            pass

    hook = sys.unraisablehook
    with pytest.raises(resource_limits.OutOfTime), resource_limits.time_limit(0.05):
        loop()
    assert sys.unraisablehook is hook


def test_failed_check_is_not_green(monkeypatch):
    def fail(target):
        raise RuntimeError("the check's own fault")

    monkeypatch.setattr(detectors()["leak"], "find", fail)
    with pytest.raises(AuditError, match="leak failed"):
        assert_clean(jnp.sin, 1.0)
    assert_clean(jnp.sin, 1.0, allow=["partial"])
    assert_clean(jnp.sin, 1.0, allow=["leak"])


def test_levels_and_cases_are_quoted():
    root = Path(__file__).parents[2]
    contributing = (root / "CONTRIBUTING.md").read_text("utf8")
    for level, meaning in LEVELS.items():
        assert f"- **{level}.** {meaning}\n" in contributing
    readme = (root / "README.md").read_text("utf8")
    for case, meaning in CASES.items():
        assert f"| `{case}` | {meaning} |\n" in readme
        assert f'- ``"{case}"``: ' in assert_clean.__doc__
        assert " ".join(meaning.split()) in " ".join(assert_clean.__doc__.split())


def test_expensive_checks_run_last():
    seconds = dict(audit(lambda x: jnp.log(x), jnp.ones(3)).seconds)
    order = [detectors()[name].needs for name in seconds]
    assert order == sorted(order, key=EVIDENCE.index)
    assert set(order) == set(EVIDENCE)
