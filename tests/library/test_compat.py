"""Test the access to JAX internals, and check that detectors retrace no other functions."""

import subprocess
import sys

import jax
import pytest

from jaxbits import _jax_compat


def two_lines(x):
    y = x + 1
    return y * 2


def test_source_line_returns_line_of_equation():
    lines = [_jax_compat.source_line(eqn) for eqn in jax.make_jaxpr(two_lines)(1.0).eqns]
    first = two_lines.__code__.co_firstlineno
    assert lines == [first + 1, first + 2]


def test_source_line_returns_none_without_source_info():
    assert _jax_compat.source_line(object()) is None


def calls_jitted(x):
    inner = jax.jit(lambda y: jax.lax.cond(y > 0, two_lines, two_lines, y))
    return inner(x) + inner(2 * x)


def test_frames_end_where_jax_starts_to_trace_a_jaxpr():
    """JAX uses one jaxpr for both calls, so the line of the first call does not belong to it."""
    program = jax.make_jaxpr(calls_jitted)(1.0)
    inner = program.eqns[0].params["jaxpr"]
    branch = inner.eqns[-1].params["branches"][0]
    user_frames = []
    for equation in (program.eqns[0], inner.eqns[-1], branch.eqns[-1]):
        frames = _jax_compat.frames(equation)
        assert [frame[:3] for frame in _jax_compat.frames_with_lasti(equation)] == frames
        user_frames.append([name for name, file, _ in frames if file == __file__])
    outermost, *others = user_frames
    assert outermost[0] == "calls_jitted"
    assert others == [["calls_jitted.<locals>.<lambda>"], ["two_lines"]]


@pytest.mark.skipif(
    jax.__version_info__ >= (0, 12),
    reason="jax 0.12 retraces functions that were jitted before the first detector runs",
)
def test_first_detector_does_not_retrace_other_functions():
    program = """
import jax
from jaxbits import detect
traces = []
step = jax.jit(lambda x: traces.append(1) or 2 * x)
step(1.0)
detect.nan(lambda x: x + 1, 1.0)
step(1.0)
print(len(traces))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
