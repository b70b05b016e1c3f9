"""Test that each detector misses what its docstring says it cannot see.

If a detector learns to see one of these problems, change its docstring, which the page *Detectors*
quotes.
"""

from __future__ import annotations

import argparse
import collections
import email.utils
import json
import time
import warnings
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from book_tools.pages.detector_docstrings import find_blind_spots, split_docstring
from jaxbits import detect

KEY = jax.random.key(0)
X = jnp.ones(3000)
INT8 = np.ones(3, np.int8)


class State:
    w = jnp.ones(3, jnp.float16)


class Missed(NamedTuple):
    check: str
    fn: object
    args: tuple = ()
    raises: bool = False


MISSED: list[Missed] = []


def missed(check, *args, raises=False):
    def register(fn):
        MISSED.append(Missed(check, fn, args, raises))
        return fn

    return register


missed("big_const", X)(lambda x: x + jnp.arange(200_000.0)[:3000])
CELL = eqx.nn.GRUCell(2, 8, key=KEY)


@missed("unrolled", jnp.ones((4, 100, 2)))
@jax.vmap
def runs_a_library_layer(rows):
    h = jnp.zeros(8)
    for row in rows:
        h = CELL(row, h)
    return h


missed("cast", X)(lambda x: x.astype(jnp.int8))
missed("list_args", jnp.arange(100))(lambda x: x.sum())
missed("nan", 5.0)(lambda x: jnp.where(x == 3.7, 0.0, jnp.sqrt(jnp.abs(x - 3.7))))
missed("out_of_bounds", X, 1)(lambda x, i: x[i])
missed("out_of_bounds", 5)(lambda i: jax.nn.one_hot(i, 3))
missed("out_of_bounds", 7)(lambda i: lax.switch(i, [lambda: 1.0, lambda: 2.0]))
missed("out_of_bounds", X, jnp.asarray([120], jnp.int8), raises=True)(
    lambda x, i: x[i + jnp.int8(10)]
)
missed("overflow", jnp.asarray([1], jnp.int8))(lambda x: x + x)
missed("overflow", X)(lambda x: x + (np.array([127], np.int8) + np.int8(1)))
missed("promotion", jnp.ones(3))(lambda x: x + INT8 * np.float32(2))
missed("promotion", X, X.astype(jnp.bfloat16), raises=True)(lax.add)
missed("recompile", X)(jax.jit(lambda x: x * 2))
missed("x64", jnp.float32(1e8))(lambda x: x + 1)


@missed("carry", jnp.ones(3))
def state_in_an_object(x):
    State.w = State.w + x
    return x


@missed("donation", X)
@jax.jit
def donates_in_another_trace(x):
    return jax.jit(lambda a: a + 1, donate_argnums=0)(x) + x


missed("duplicate_indices", X, jnp.arange(3))(lambda x, i: x.at[i].set(x[i] + 1))


@missed("duplicate_indices", X, jnp.array([0, 2]))
def slices_that_overlap(x, starts):
    numbers = lax.ScatterDimensionNumbers((1,), (), (0,))
    return lax.scatter(x, starts[:, None], jnp.arange(6.0).reshape(2, 3), numbers)


@missed("duplicate_indices", X, jnp.array([0, 0]))
def changed_between_read_and_write(x, i):
    old = x[i]
    return (x * 2).at[i].set(old + 1)


@missed("duplicate_indices", X, jnp.array([0, 0]))
def differentiates_the_write(x, i):
    return jax.grad(lambda v: (v.at[i].set(v[i] + 1) ** 2).sum())(x)


@missed("inplace", 1.0, argparse.Namespace(a=1))
def changes_an_object_of_a_library(x, options):
    options.a = 2
    return x


@missed("iterator", 1.0)
def iterator_in_a_list(x):
    iterators = [iter([1.0, 2.0, 3.0])]
    return lax.scan(lambda c, _: (c + next(iterators[0]), None), x, None, length=3)[0]


@missed("iterator", 1.0)
def queue(x):
    values = collections.deque([1.0, 2.0, 3.0])
    return lax.scan(lambda c, _: (c + values.popleft(), None), x, None, length=3)[0]


@missed("key_reuse", KEY, 1, 1)
def equal_numbers(key, i, j):
    one, other = jax.random.fold_in(key, i), jax.random.fold_in(key, j)
    return jax.random.normal(one) + jax.random.normal(other)


@missed("key_reuse", KEY, 5)
def equal_keys_only_in_the_first_steps(key, step):
    first, second = jax.random.split(key)
    noise = jax.random.normal(jax.random.fold_in(key, step))
    return noise * jax.random.normal(first) + jax.random.normal(second)


@missed("key_reuse", KEY, KEY)
def same_key_twice(one, other):
    return jax.random.normal(one) + jax.random.normal(other)


@missed("key_reuse", jax.random.split(KEY, 3))
def array_and_element(keys):
    return jax.vmap(jax.random.normal)(keys).sum() + jax.random.normal(keys[0])


@missed("leak", X, {})
def stored_in_an_argument(x, cache):
    cache["x"] = x * 2
    return x


@missed("leak", X, argparse.Namespace())
def stored_in_an_object_of_a_library(x, options):
    options.x = x * 2
    return x


@missed("leak", X)
def stored_in_a_module_of_a_library(x):
    json.last_x = x * 2
    return x


@missed("side_effect", X)
def reads_a_clock_in_a_library(x):
    email.utils.formatdate()
    return x


@missed("side_effect", X)
def prints_in_another_branch(x, verbose=False):
    if verbose:
        print(x)
    return x


@missed("timing", jnp.ones((50, 50)))
def numpy_reads_another_array(x):
    start = time.perf_counter()
    y = x @ x
    np.add(x, 1)
    print(time.perf_counter() - start)
    return y


@pytest.mark.parametrize("case", MISSED, ids=lambda case: case.check)
def test_missed(case):
    try:
        with warnings.catch_warnings():
            if case.raises:  # Some versions of JAX raise an error themselves.
                warnings.filterwarnings("ignore", ".*the function raised an error", UserWarning)
            assert list(detect.detectors()[case.check](case.fn, *case.args)) == []
    finally:
        vars(json).pop("last_x", None)


def test_what_other_modules_do(tmp_path, monkeypatch):
    (tmp_path / "blind_a.py").write_text("rate = 0.1\ndef scale(x):\n    return x * rate\n")
    (tmp_path / "blind_b.py").write_text(
        "import blind_a\nimport numpy as np\n"
        "def change():\n    blind_a.rate = 0.2\n"
        "def large():\n    return np.array([2**40])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import blind_a
    import blind_b

    assert detect.stale_global(blind_a.scale, 1.0) == []
    assert detect.x64(lambda x: x + blind_b.large(), jnp.ones(1)) == []


def branches(x):
    if x > 0:
        x = x + 1
    return -x if x > 3 else x


def shapes(x):
    return x[x > 0].sum() + jnp.unique(x).sum()


def reads(x):
    a = np.add(x + 1, 1)
    b = np.sin(x + 2)
    return a + b


@pytest.mark.parametrize(
    ("check", "fn", "x"),
    [("control_flow", branches, 1.0), ("dynamic_shape", shapes, X), ("transfer", reads, X)],
)
def test_only_the_first_line_is_found(check, fn, x):
    assert [f.place.line for f in detect.detectors()[check](fn, x)] == [
        fn.__code__.co_firstlineno + 1
    ]


def grows(x):
    for _ in range(30):
        x = jnp.concatenate([x, jnp.sin(x[:1]) * 2 + 1])
    return x


@pytest.mark.parametrize(
    ("check", "fn"),
    [("const_key", lambda x: x + jax.random.normal(KEY)), ("unrolled", grows)],
)
def test_what_may_be_intended_is_reported(check, fn):
    assert [f.severity for f in detect.detectors()[check](fn, jnp.ones(3))] == ["warning"]


def test_every_sentence_is_tested():
    tested = {case.check for case in MISSED} | {"control_flow", "dynamic_shape", "transfer"}
    tested |= {"stale_global", "x64", "const_key", "unrolled"}
    docstrings = {name: found.__doc__ or "" for name, found in detect.detectors().items()}
    assert tested == {n for n, d in docstrings.items() if find_blind_spots(split_docstring(d)[1])}
