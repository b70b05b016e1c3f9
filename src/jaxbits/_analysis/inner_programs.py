"""Find the functions of the user that a program or a run jits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import is_user_code
from jaxbits._analysis.eager_events import Event


def names_in_program(program: ClosedJaxpr) -> Iterator[str]:
    """Yield the names of the user's jitted functions that a program calls.

    >>> import jax
    >>> @jax.jit
    ... def step(x):
    ...     return x + 1
    >>> list(names_in_program(jax.make_jaxpr(lambda x: step(x) * 2)(1.0)))
    ['step']
    """
    for equation in program.jaxpr.eqns:
        if equation.primitive.name in ("jit", "pjit") and _is_users(equation.params["jaxpr"]):
            yield str(equation.params["name"])


def names_in_run(events: Iterable[Event]) -> Iterator[str]:
    """Yield the names of the user's jitted functions that ran outside any trace."""
    for event in events:
        is_program = event.kind == "dispatch" and event.name.isidentifier()
        if is_program and not event.is_tracing and _is_users(event.program):
            yield event.name


def _is_users(program: Any) -> bool:
    return is_user_code(_jax_compat.source_file(getattr(program, "jaxpr", program)))
