"""Test that a detector which is called directly warns about what it did not examine."""

from __future__ import annotations

import inspect
import time
import warnings
from typing import NamedTuple

import gap_cases
import jax
import jax.numpy as jnp
import limit_cases
import numpy as np
import pytest

from jaxbits import detect
from jaxbits._analysis import resource_limits
from jaxbits._analysis.inner_limits import LIMITS
from jaxbits.detect import detectors

X = jnp.arange(4.0)
UNTRACED, RAISES, PARTIAL = "JAX cannot trace", "the function raised", ""


def reads(x):
    return x / float(x.sum())


def branches(x):
    return x if x.sum() > 0 else -x


def fails(x):
    return jnp.no_such_function(x)


def returns_text(x):
    return x, "text"


def tiles(x, n):
    return jnp.tile(x, n)


def fills(buffer):
    buffer.fill(0)
    return jnp.asarray(buffer)


def assigns(x):
    x[0] = 1.0
    return x


def assigns_before_it_branches(x):
    if x[0] > 0:
        x[0] = 0.0
    return x


def times_reads(x):
    start = time.perf_counter()
    y = float(x.sum())
    return y, time.perf_counter() - start


class Case(NamedTuple):
    check: str
    fn: object
    args: tuple = (X,)
    warning: str | None = None


CASES = [
    # The checks of the program see nothing if there is no program.
    *(Case(check, reads, warning=UNTRACED) for check in ("key_reuse", "nan", "recompile", "x64")),
    *(Case(check, fails, warning=RAISES) for check in ("key_reuse", "nan", "transfer", "timing")),
    *(Case(check, jnp.sin) for check in detectors()),
    *(Case(check, jax.jit(fails), warning=RAISES) for check in ("leak", "unrolled", "inplace")),
    # A check does not warn if it says why the function cannot be traced.
    Case("control_flow", branches),
    Case("control_flow", jax.jit(branches)),
    Case("control_flow", assigns, warning=RAISES),
    Case("dynamic_shape", tiles, (X, jnp.int32(2))),
    Case("dynamic_shape", lambda x: x[x > 1]),
    Case("dynamic_shape", branches, warning=UNTRACED),
    Case("inplace", assigns),
    Case("inplace", assigns_before_it_branches, (X + 1,), RAISES),
    Case("iterator", lambda x, n: x + next(n), (X, (n for n in range(3)))),
    Case("iterator", lambda x, n: x + next(n), (X, iter([1.0, 2.0]))),
    # These checks run the function.
    Case("transfer", reads),
    Case("transfer", branches),
    Case("donation", reads),
    Case("timing", times_reads),
    Case("inplace", fills, (np.ones(3),)),
    Case("inplace", lambda x: jnp.asarray(np.sort(x)), (np.ones(3),)),
    # These checks see what happens up to the error.
    Case("leak", reads, warning=UNTRACED),
    Case("side_effect", reads, warning=UNTRACED),
    Case("side_effect", returns_text),
    Case("leak", returns_text),
    Case("key_reuse", returns_text, warning=UNTRACED),
    # The audit leaves out some Python state, which matters only to some checks.
    Case("leak", lambda x: x * len(gap_cases.records), warning="only 5000 parts of a dict"),
    Case("key_reuse", lambda x: x * len(gap_cases.records)),
    Case("stale_global", gap_cases._many_names(), warning="stale_global: 24 names were tried"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.fn.__name__}")
def test_direct_call_warns_about_gap(case):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        detectors()[case.check](case.fn, *case.args)
    texts = [str(warning.message) for warning in caught]
    start = f"detect.{case.check} may have missed something: {case.warning}"
    assert bool(texts) == (case.warning is not None), texts
    assert all(text.startswith(start) for text in texts[:1]), texts
    assert len(texts) <= 1 or "state" in texts[1], texts


def test_warning_shows_error_and_line_and_points_at_call():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1
        assert detect.key_reuse(fails, 1.0) == []
    (warning,) = caught
    assert (warning.category, warning.filename, warning.lineno) == (UserWarning, __file__, line)
    assert str(warning.message).splitlines() == [
        "detect.key_reuse may have missed something: the function raised an error when the check "
        "called it",
        f"test_gap_warnings.py:{fails.__code__.co_firstlineno + 1}  return jnp.no_such_function(x)",
        "AttributeError: module 'jax.numpy' has no attribute 'no_such_function'",
    ]


def test_one_warning_for_each_gap(monkeypatch):
    monkeypatch.setattr(LIMITS, "run_events", 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        detect.key_reuse(limit_cases.branches_before_it_calls_a_jitted_function, X)
    messages = [str(warning.message).splitlines()[0].partition(": ")[2] for warning in caught]
    assert messages == [
        "JAX cannot trace the function, so the check saw nothing of its program",
        "whether the function raises an error is unknown, because its run was stopped after 3 "
        "events",
    ]


def test_cut_evidence_is_warning(monkeypatch):
    monkeypatch.setattr(LIMITS, "run_events", 3)
    with pytest.warns(UserWarning, match="stopped after 3 events, so its later part was not"):
        detect.timing(limit_cases.times_a_loop, X)
    monkeypatch.setattr(LIMITS, "instrumented_equations", 2)
    with pytest.warns(UserWarning, match="values were not examined, because the program has"):
        detect.out_of_bounds(limit_cases.reads_in_a_long_program, X, 7)
    assert detect.key_reuse(limit_cases.reads_in_a_long_program, X, 7) == []
    monkeypatch.setattr(resource_limits, "MAX_COPY_BYTES", 1)
    with pytest.warns(UserWarning, match="transfer ran only in part: the arguments take up"):
        detect.transfer(reads, X)


def test_values_that_are_exchanged_between_devices_are_a_gap():
    gathers = jax.pmap(lambda x: jax.lax.all_gather(x * 2, "i").sum(), axis_name="i")
    with pytest.warns(UserWarning, match="values inside `.*` were not examined"):
        assert detect.overflow(gathers, jnp.array([[200, 100]], jnp.uint8)) == []
    sums = jax.pmap(lambda x: jax.lax.psum(x * 2, "i").sum(), axis_name="i")
    with warnings.catch_warnings(action="error"):
        assert detect.overflow(sums, jnp.array([[200, 100]], jnp.uint8))
