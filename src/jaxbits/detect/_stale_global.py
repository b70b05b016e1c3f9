"""Values that a compiled program keeps although they have changed since."""

from __future__ import annotations

import collections
import copy
import enum
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.mutability import candidates, is_code, is_frozen
from jaxbits._analysis.python_state.references import Reference
from jaxbits._analysis.state_messages import environment
from jaxbits._finding import Finding

_MOST = 24


@detector
def stale_global(subject: Subject) -> Iterator[Finding]:
    """Find globals and attributes whose value is baked into the compiled program.

    For each that can change it traces the function again with another value there: a program that
    differs is the proof. What can change is told by the module's source: names that are bound again
    and containers that are written to after the function, attributes that are set outside of
    `__init__`; and, without that, mutable globals whose names are not in capitals. What only could
    change, such as an attribute that is set once, is a note. At most 24 are tried. It cannot see
    what another module changes. JAX has no switch for it.

    >>> from jaxbits import detect
    >>> settings = {"rate": 0.1}
    >>> print(detect.stale_global(lambda x: x * settings["rate"], 1.0)[0].message)
    global `settings` is baked into the compiled program
    >>> detect.stale_global(lambda x, rate: x * rate, 1.0, settings["rate"])
    []
    """
    yield from environment(subject, "stale_global")
    if subject.trace.program is None:
        return
    base: tuple[str, ...] | None = None
    changeable = sorted(candidates(subject.references), key=lambda found: not found[1])
    if len(changeable) > _MOST:
        names = ", ".join(reference.name for reference, _ in changeable[_MOST:])
        subject.left_out.append(f"stale_global: {_MOST} names were tried, and not {names:.200}")
    for reference, meant in changeable[:_MOST]:
        value = reference.get()
        base = base or subject.trace.text()
        if any(_differs(subject, reference, other, base) for other in others(value, meant)):
            yield Finding(
                "stale_global",
                "warning" if meant else "note",
                f"{reference.kind} `{reference.name}` is baked into the compiled program",
                "traced again with another value there, the program is another; a cached call "
                "keeps the old one" + ("" if meant else "; nothing was seen to change it"),
                f"pass `{reference.name}` as an argument",
                reference.place,
            )


def _differs(subject: Subject, reference: Reference, other: Any, base: tuple[str, ...]) -> bool:
    value = reference.get()
    try:
        reference.set(other)
        return subject.traced_again().text() != base
    finally:
        reference.set(value)


def others(value: Any, meant: bool) -> Iterator[Any]:
    """Yield values to try in the place of one; for what is meant to change, of other sizes too."""
    other = another(value, functions=meant)
    if other is not value:
        yield other
    if meant and isinstance(value, (list, collections.deque)) and value:
        longer = copy.copy(value)
        longer.append(value[-1])
        yield longer
    if meant and type(value) is dict and value:
        yield dict(list(value.items())[:-1])
    if meant and type(value) is set:
        yield _Others(value)


class _Others(set[Any]):
    """A set that has what another has not."""

    def __contains__(self, item: object) -> bool:
        return not super().__contains__(item)


def another(value: Any, functions: bool = False, depth: int = 4) -> Any:
    """Return a value of the same kind that differs everywhere; the same one where none is known.

    >>> another({"rate": 0.5, "on": True, "name": "sgd"})
    {'rate': 1.5, 'on': False, 'name': 'sgd_'}
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, enum.Enum):
        return next((other for other in type(value) if other is not value), value)
    if isinstance(value, (int, float, complex)):
        return value + 1
    if isinstance(value, str):
        return value + "_"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return ~value if value.dtype.kind == "b" else value + value.dtype.type(1)
    if isinstance(value, jax.Array):
        return value + 1 if jnp.issubdtype(value.dtype, jnp.number) else value
    if is_code(value):
        return _shifted(value) if functions else value
    if not depth or isinstance(value, (type, types.ModuleType)) or is_frozen(value):
        return value
    parts = functools.partial(another, functions=functions, depth=depth - 1)
    if isinstance(value, types.MappingProxyType):
        return types.MappingProxyType(parts(dict(value)))
    if isinstance(value, (list, dict, set, collections.deque)):
        return _other_container(value, parts, functions)
    if isinstance(value, tuple):
        made = map(parts, value)
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return _other_object(value, parts)


def _other_container(value: Any, parts: Callable[[Any], Any], functions: bool) -> Any:
    if not value and functions:  # what was empty is not
        full = {"_": 1.0} if isinstance(value, dict) else [1.0]
        return full if isinstance(value, (list, dict)) else type(value)(full)
    if isinstance(value, dict):
        made = copy.copy(value)
        made.update({key: parts(part) for key, part in value.items()})
        return made
    return type(value)(map(parts, value)) if value else value


def _shifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives what another gives, plus one."""

    def shifted(*args: Any, **kwargs: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf + 1, function(*args, **kwargs))

    return shifted


def _other_object(value: Any, parts: Callable[[Any], Any]) -> Any:
    fields = object_fields.fields(value)
    if fields is None:
        return value
    others = {key: parts(part) for key, part in fields.items()}
    if all(others[key] is fields[key] for key in fields):
        return value
    try:
        made = copy.copy(value)
        for key, part in others.items():
            object.__setattr__(made, key, part)
    except Exception:  # an object that resists copying is left alone
        return value
    return made
