"""Small programs that draw from keys, and which key checker reports a reuse in each of them.

Chapter 06 runs both checkers on these programs, and the page *Detectors* lists the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax, random

from jaxbits import detect

Program = Callable[[jax.Array], Any]

_three = jnp.arange(3.0)
_dropout = nn.Dropout(0.5, deterministic=False)
_dense = nn.Dense(2, kernel_init=nn.initializers.normal())


def _fold_in_and_split(key: jax.Array, number: int) -> tuple[jax.Array, jax.Array]:
    return random.normal(random.fold_in(key, number)), random.normal(random.split(key)[0])


def _unpack_and_index(keys: jax.Array) -> tuple[jax.Array, jax.Array]:
    first, _ = keys
    return random.normal(first), random.normal(keys[0])


def _scan_over_closure(key: jax.Array) -> Any:
    return lax.scan(lambda carry, x: (carry + random.normal(key), x), 0.0, _three)


def _fori_loop_over_closure(key: jax.Array) -> Any:
    return lax.fori_loop(0, 3, lambda _, carry: carry + random.normal(key), 0.0)


def _wrap_and_draw(key: jax.Array) -> Any:
    return random.normal(key), random.normal(random.wrap_key_data(random.key_data(key)))


GROUPS: dict[str, dict[str, Program]] = {
    "visible": {
        "normal(k) and uniform(k)": lambda k: (random.normal(k), random.uniform(k)),
        "normal(k) in a Python loop": lambda k: [random.normal(k) for _ in range(3)],
        "split(k) and then normal(k)": lambda k: (random.split(k), random.normal(k)),
        "normal(split(k)[0]), twice": lambda k: [random.normal(random.split(k)[0]) for _ in "ab"],
        "two draws inside jit": jax.jit(lambda k: random.normal(k) + random.uniform(k)),
        "a jitted closure, called in a loop": lambda k: [
            *map(jax.jit(lambda x: x + random.normal(k)), _three)
        ],
        "a closure in scan": _scan_over_closure,
        "a closure in fori_loop": _fori_loop_over_closure,
    },
    "jaxbits only": {
        "one key under vmap": lambda k: jax.vmap(lambda x: x + random.normal(k))(_three),
        "fold_in(k, 0), twice": lambda k: [random.normal(random.fold_in(k, 0)) for _ in "ab"],
        "linen dropout, twice": lambda k: [
            _dropout.apply({}, _three, rngs={"dropout": k}) for _ in "ab"
        ],
        "key(0), twice": lambda _: [random.normal(random.key(0)) for _ in "ab"],
        "k, and k through key_data": _wrap_and_draw,
        "a, b = keys, and then keys[0]": lambda k: _unpack_and_index(random.split(k)),
        "fold_in(k, 0) and split(k)[0]": lambda k: _fold_in_and_split(k, 0),
        "fold_in(k, i) with a traced i, and split(k)[0]": lambda k: jax.jit(_fold_in_and_split)(
            k, 0
        ),
    },
    "neither": {
        "k and random.clone(k), which allows a reuse": lambda k: (
            random.normal(k),
            random.normal(random.clone(k)),
        ),
        "linen init with k, and normal(k)": lambda k: (_dense.init(k, _three), random.normal(k)),
    },
    "correct": {
        "a draw for each key from split(k, 3)": lambda k: [
            random.normal(one) for one in random.split(k, 3)
        ],
        "a draw for each fold_in(k, step)": lambda k: [
            random.normal(random.fold_in(k, step)) for step in range(3)
        ],
        "vmap over split(k, 3)": lambda k: jax.vmap(random.normal)(random.split(k, 3)),
        "one branch of cond": lambda k: lax.cond(True, random.normal, random.uniform, k),
    },
}
"""The programs by name, grouped by the checkers that report them."""

REPORTED_BY = {
    "visible": (True, True),
    "jaxbits only": (False, True),
    "neither": (False, False),
    "correct": (False, False),
}
"""Whether `jax.debug_key_reuse` and `detect.key_reuse` report the programs in each group."""


def run_checkers(
    program: Program, make_key: Callable[[int], jax.Array] = random.key
) -> tuple[bool, bool]:
    """Return whether JAX's checker and whether `detect.key_reuse` report a program.

    On JAX 0.7, call `jax.clear_caches()` first, because JAX's checker ignores functions there that
    were compiled while it was off.

    Args:
        program: A function of a key.
        make_key: The function that creates the key from a seed, for example `random.PRNGKey`.

    >>> run_checkers(lambda key: random.normal(key))
    (False, False)
    """
    try:
        with jax.debug_key_reuse(True):
            program(make_key(7))
        is_found_by_jax = False
    except jax.errors.KeyReuseError:
        is_found_by_jax = True
    return is_found_by_jax, bool(detect.key_reuse(program, make_key(7)))


def reported_programs() -> Iterator[tuple[str, bool, bool]]:
    """Yield each program's name and whether JAX's checker and `detect.key_reuse` report it."""
    for group, programs in GROUPS.items():
        for name in programs:
            yield name, *REPORTED_BY[group]
