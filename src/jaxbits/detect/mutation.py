"""Arguments and arrays that are changed in place."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from jaxbits.detect.detector import detector
from jaxbits.detect.finding import Finding, Place, place_of_error
from jaxbits.detect.iterators import is_iterator
from jaxbits.detect.memory import Change, Memory
from jaxbits.detect.state import arguments
from jaxbits.detect.subject import Subject, copied

_FIX = "return the new value: `x = x.at[i].set(v)`, `{**d, key: v}`"


@detector
def inplace(subject: Subject) -> Iterator[Finding]:
    """Find arguments that a function changes in place, and assignments to items of JAX arrays.

    It compares the containers among the arguments before and after one trace, and, where there are
    NumPy arrays, those before and after one plain call; and it reads the error that an assignment
    to a traced array raises. In the function's source it looks for a NumPy array that is written to
    after `jnp.asarray` has taken it: they may share memory. It cannot see what is done to
    attributes of objects. JAX raises for its own arrays; it has no switch for the rest.

    >>> import numpy as np
    >>> from jaxbits import detect
    >>> def halve(x):
    ...     x /= 2
    ...     return x
    >>> given = np.ones(2)
    >>> print(detect.inplace(halve, given)[0].message, given)
    argument args[0] is changed in place [1. 1.]
    >>> detect.inplace(lambda x: x / 2, given)
    []
    """
    errors = list(subject.errors)
    changes = list(subject.trace.changed_arguments)
    leaves = jax.tree.leaves((subject.args, subject.kwargs), is_leaf=is_iterator)
    if any(isinstance(leaf, np.ndarray) for leaf in leaves):
        changed, errors = _plain_call(subject)
        changes += changed
    for name, change in {change.reference.name: change for change in changes}.items():
        yield Finding(
            "inplace",
            "error",
            f"argument {name} is changed in place",
            f"{change.before} → {change.after}; under `jax.jit` the caller's stays as it was",
            _FIX,
        )
    for error in errors:
        text = str(error)
        assigned = isinstance(error, TypeError) and "item assignment" in text
        assigned = assigned and ("JAX" in text or "Tracer" in text)
        if assigned or (isinstance(error, AttributeError) and text == "__delitem__"):
            yield Finding(
                "inplace",
                "error",
                "an item of a JAX array is assigned to or deleted",
                f"{type(error).__name__}: {text.splitlines()[0][:70]}",
                _FIX,
                place_of_error(error.__traceback__),
            )
            break
    for place, name in _aliased(subject.function):
        yield Finding(
            "inplace",
            "warning",
            f"NumPy array `{name}` is written to after `jnp.asarray` has taken it",
            "on a CPU the two may share memory",
            "hand over a copy of its own: `a.copy()`",
            place,
            "host-buffer-shared",
        )


def _plain_call(subject: Subject) -> tuple[list[Change], list[Exception]]:
    args, kwargs = copied(subject.args), copied(subject.kwargs)
    memory = Memory(arguments(args, kwargs), objects=False)
    failed = []
    with subject.put_back():
        try:
            subject.function(*args, **kwargs)
        except Exception as error:  # what it raises may be what is looked for
            failed.append(error)
        changes = memory.changes()
    return changes, failed


def _aliased(function: Callable[..., Any]) -> Iterator[tuple[Place, str]]:
    while isinstance(function, functools.partial):
        function = function.func
    plain = inspect.unwrap(function)
    try:
        lines, start = inspect.getsourcelines(plain)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return
    file = inspect.getsourcefile(plain) or ""
    taken: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner, first = node.func.value, node.args[0]
            of_jax = isinstance(owner, ast.Name) and owner.id in ("jnp", "jax")
            taking = of_jax and node.func.attr in ("asarray", "device_put", "from_dlpack")
            if taking and isinstance(first, ast.Name):
                taken.setdefault(first.id, node.lineno)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            name = node.value.id if isinstance(node.value, ast.Name) else ""
            if name in taken and node.lineno > taken[name]:
                yield Place(file, start + node.lineno - 1, getattr(plain, "__name__", "")), name
