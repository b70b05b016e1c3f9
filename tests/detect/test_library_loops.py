"""Test findings about what a library other than JAX does in a loop of its own."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxbits import detect

KEY = jax.random.key(0)
TIMES = jnp.array([0.25, 0.5, 0.75])

# A solver that looks at the time after the last one, although it does not need it, and that
# evaluates the same path of noise in every iteration.
SOLVER = """
import jax
import jax.numpy as jnp
from jax import lax


def solve(key, times):
    def step(state):
        place, total = state
        noise = jax.random.normal(jax.random.split(key)[0])
        return place + 1, total + noise * jnp.where(times[place + 1] > 0.6, 1.0, 0.5)

    return lax.while_loop(lambda state: state[0] < times.size, step, (0, 0.0))[1]


def repeat(function, key):
    return lax.fori_loop(0, 3, lambda _, total: total + function(key), 0.0)
"""


@pytest.fixture(scope="module")
def library():
    module = {"__name__": "solvers"}
    exec(compile(SOLVER, "/site-packages/solvers.py", "exec"), module)
    return module


def test_read_in_loop_of_library_is_not_reported(library):
    assert detect.out_of_bounds(library["solve"], KEY, TIMES) == []


def test_key_that_library_repeats_in_its_loop_is_note(library):
    (found,) = detect.key_reuse(lambda key: library["solve"](key, TIMES), KEY)
    assert found.severity == "note"
    assert found.message == "a library uses one PRNG key 2 times in one call"


def test_key_that_user_code_repeats_in_loop_of_library_is_error(library):
    def draw_twice(key):
        return library["repeat"](lambda k: jax.random.normal(k), key)

    assert [f.severity for f in detect.key_reuse(draw_twice, KEY)] == ["error"]


def test_key_that_two_calls_of_library_share_is_error(library):
    def solve_twice(key):
        return library["solve"](key, TIMES) + library["solve"](key, 2 * TIMES)

    assert "error" in [f.severity for f in detect.key_reuse(solve_twice, KEY)]


def test_key_that_python_loop_passes_to_library_is_error(library):
    def solve_often(key):
        return sum(library["solve"](key, TIMES) for _ in range(2))

    assert "error" in [f.severity for f in detect.key_reuse(solve_often, KEY)]


def test_key_that_loop_of_user_repeats_in_library_is_error(library):
    def solve_often(key):
        def add(_, total):
            return total + library["solve"](key, TIMES)

        return lax.fori_loop(0, 3, add, 0.0)

    assert "error" in [f.severity for f in detect.key_reuse(solve_often, KEY)]


def test_trap_in_last_argument_is_found_although_there_are_many_parameters():
    def loss(params, points):
        distances = jnp.linalg.norm(points * params[0], axis=1)
        return (distances * sum(params)).sum()

    params = [jnp.float32(n + 1) for n in range(12)]
    points = jnp.arange(1.0, 7.0).reshape(3, 2)
    found = detect.nan(loss, params, points)
    assert any("points" in (finding.evidence or "") for finding in found)
