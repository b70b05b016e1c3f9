"""Notice, in a student's kernel, which state answers change while a test calls them.

An answer that counts its own calls could give each test of a task what this test expects, although
a single call is right only for one of them. The grader calls `start` in the kernel before a test,
and `stop` after it.
"""

from __future__ import annotations

import decimal
import random
import sys
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import numpy as np

from jaxbits._analysis.python_state.reachable_state import find_method_references, find_references
from jaxbits._analysis.python_state.references import Reference
from jaxbits._analysis.python_state.snapshot import StateSnapshot
from jaxbits._analysis.python_state.state_values import nested_values

_Detail = tuple[str, object]
_taken: list[tuple[StateSnapshot, list[Any], list[Any], list[_Detail]]] = []


def start(names: Iterable[str]) -> str:
    """Record the Python state that answers reach.

    Args:
        names: The names of the answers in the notebook. Those that do not exist are left out.

    Returns:
        The word "started".
    """
    main = vars(sys.modules["__main__"])
    references = [found for name in names for found in _state_of(main.get(name))]
    snapshot = StateSnapshot(references)
    parts = list(_parts([*snapshot.values(), *(found.get() for found in references)]))
    _taken[:] = [(snapshot, _generators(), parts, list(map(_detail_of, parts)))]
    return "started"


def stop() -> str:
    """Return the names of the state that has changed since `start` or cannot be read, one per line.

    Example:
        >>> start(["missing"])
        'started'
        >>> stop()
        ''
    """
    snapshot, generators, parts, details = _taken.pop()
    changes = snapshot.changes()
    pairs = zip(parts, details, strict=True)
    # While the snapshot is active, large arrays are read-only, as they were at the start.
    changed = {before[0] for part, before in pairs if _detail_of(part) != before}
    snapshot.release()
    found = {change.reference.name for change in changes}
    found |= changed
    found.update(snapshot.unreadable.values())
    if snapshot.left_out:
        found.add("more state")
    if _generators() != generators:
        found.add("a global random generator")
    return "\n".join(sorted(found))


def _state_of(answer: Any) -> Iterator[Reference]:
    if isinstance(answer, type):
        yield from find_method_references(answer)
    elif callable(answer):
        yield from find_references(answer)


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values, what they contain, and the items of tuples, which a snapshot does not list."""
    for value in values:
        yield value
        for part in nested_values(value):
            yield part
            if isinstance(part, tuple):
                yield from _parts(part)


def _detail_of(value: Any) -> _Detail:
    """Return what a snapshot leaves out of a value, although it could count an answer's calls.

    Returns:
        A description, and something that is equal only as long as nothing changes.
    """
    if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
        return "a deleted array", value.is_deleted()
    if isinstance(value, np.ndarray):
        return "the flags of an array", value.flags.num
    if isinstance(value, decimal.Context):
        return "the flags of a decimal context", dict(value.flags)
    if isinstance(value, BaseException):
        return "the traceback of an exception", len(list(traceback.walk_tb(value.__traceback__)))
    return "", None


def _generators() -> list[Any]:
    name, keys, *rest = np.random.get_state()
    torch = sys.modules.get("torch")
    # A data loader draws from PyTorch's generator, so only a new seed counts.
    of_torch = [torch.initial_seed()] if torch else []
    return [random.getstate(), name, np.asarray(keys).tobytes(), *rest, *of_torch]
