"""Count how often control flow runs its branches and bodies under each transformation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

_runs: list[int] = []

Outcome = str | tuple[int, int]
"""The name of an error, or how often a body ran and how often plain Python would run it."""

_NUMBER = jnp.float32(2.0)
_BATCH = jnp.array([2.0, 1.0, 7.0])


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, changed so that `count_runs` notices each of its runs."""

    def counts(x: Any) -> Any:
        jax.debug.callback(lambda _: _runs.append(1), x)
        return function(x)

    return counts


def count_runs(call: Callable[..., Any], *args: Any) -> int:
    """Return how many runs of counted functions a call causes."""
    _runs.clear()
    jax.block_until_ready(call(*args))
    jax.effects_barrier()  # A callback may run after the result is ready.
    return len(_runs)


_positive = counted(lambda x: 2 * x)
_negative = counted(lambda x: -x)
_double = counted(lambda x: 2 * x)


def _if(x: Any) -> Any:
    return _positive(x) if x > 0 else _negative(x)


def _for(x: Any, iterations: int = 3) -> Any:
    for _ in range(iterations):
        x = _double(x)
    return x


def _while(x: Any) -> Any:
    while x < 10:
        x = _double(x)
    return x


def _fori_loop(x: Any, iterations: Any = 3) -> Any:
    return lax.fori_loop(0, iterations, lambda _, value: _double(value), x)


def _scan(x: Any) -> Any:
    return lax.scan(lambda value, _: (_double(value), None), x, length=3)[0]


CONSTRUCTS: dict[str, Callable[[Any], Any]] = {
    "if": _if,
    "where": lambda x: jnp.where(x > 0, _positive(x), _negative(x)),
    "cond": lambda x: lax.cond(x > 0, _positive, _negative, x),
    "switch": lambda x: lax.switch((x > 0).astype(int), [_negative, _positive], x),
    "for": _for,
    "while": _while,
    "scan": _scan,
    "fori_loop": _fori_loop,
    "fori_loop, n": lambda x: _fori_loop(x, x.astype(int)),
    "while_loop": lambda x: lax.while_loop(lambda value: value < 10, _double, x),
}
"""Each construct as a function of one number. `fori_loop, n` computes its number of iterations."""

_PYTHON: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("if", "where", "cond", "switch"), _if),
    **dict.fromkeys(("for", "scan", "fori_loop"), _for),
    **dict.fromkeys(("while", "while_loop"), _while),
    "fori_loop, n": lambda x: _for(x, int(x)),
}

TRANSFORMATIONS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "eager": lambda function: function(_NUMBER),
    "jit": lambda function: jax.jit(function)(_NUMBER),
    "grad": lambda function: jax.grad(function)(_NUMBER),
    "jit of grad": lambda function: jax.jit(jax.grad(function))(_NUMBER),
    "vmap": lambda function: jax.vmap(function)(_BATCH),
}
"""Each way to run a construct, on one number or on a batch of three."""


def _outcome(construct: str, transformation: str) -> Outcome:
    try:
        runs = count_runs(TRANSFORMATIONS[transformation], CONSTRUCTS[construct])
    except (TypeError, ValueError) as error:
        return type(error).__name__
    numbers = _BATCH if transformation == "vmap" else [_NUMBER]
    return runs, sum(count_runs(_PYTHON[construct], number) for number in numbers)


@cache
def support_table() -> dict[str, dict[str, Outcome]]:
    """Return the outcome of each construct under each transformation."""
    return {
        construct: {name: _outcome(construct, name) for name in TRANSFORMATIONS}
        for construct in CONSTRUCTS
    }


def working(construct: str) -> list[str]:
    """Return the transformations under which a construct raises no error."""
    row = support_table()[construct]
    return [name for name, outcome in row.items() if not isinstance(outcome, str)]


def _python_result(construct: str, transformation: str) -> Any:
    python = _PYTHON[construct]
    if transformation == "vmap":
        return jnp.stack([python(number) for number in _BATCH])
    return TRANSFORMATIONS["grad" if "grad" in transformation else "eager"](python)


def agrees_with_python(construct: str) -> bool:
    """Return True if each result of a construct equals that of plain Python, or its gradient."""
    return all(
        bool(
            jnp.allclose(
                TRANSFORMATIONS[name](CONSTRUCTS[construct]), _python_result(construct, name)
            )
        )
        for name in working(construct)
    )


def count_saved_values(body: Callable[[Any, None], tuple[Any, None]], length: int = 20) -> int:
    """Return how many arrays with one value per iteration the gradient of a scan saves."""
    gradient = jax.grad(lambda x: lax.scan(body, x, length=length)[0])
    equations = jax.make_jaxpr(gradient)(1.0).eqns
    return sum(v.aval.shape[:1] == (length,) for eqn in equations for v in eqn.outvars)
