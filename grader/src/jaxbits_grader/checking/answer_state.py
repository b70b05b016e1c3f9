"""Notice, in a student's kernel, which state answers change while a test calls them.

An answer that counts its own calls could give each test of a task what this test expects, although
a single call is right only for one of them. The grader calls `start` in the kernel before a test,
and `stop` after it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import numpy as np

from jaxbits._analysis.python_state.reachable_state import find_method_references, find_references
from jaxbits._analysis.python_state.references import Reference
from jaxbits._analysis.python_state.snapshot import StateSnapshot

_taken: list[tuple[StateSnapshot, list[Any], list[jax.Array]]] = []
_MAX_PARTS = 1000


def start(names: Iterable[str]) -> str:
    """Record the Python state that answers reach.

    Args:
        names: The names of the answers in the notebook. Those that do not exist are left out.

    Returns:
        The word "started".
    """
    main = vars(sys.modules["__main__"])
    references = [found for name in names for found in _state_of(main.get(name))]
    arrays = [array for found in references for array in _live_arrays(found.get())]
    _taken[:] = [(StateSnapshot(references), _generators(), arrays)]
    return "started"


def stop() -> str:
    """Return the names of the state that has changed since `start` or cannot be read, one per line.

    Example:
        >>> start(["missing"])
        'started'
        >>> stop()
        ''
    """
    snapshot, generators, arrays = _taken.pop()
    changes = snapshot.changes()
    snapshot.release()
    found = {change.reference.name for change in changes}
    found.update(snapshot.unreadable.values())
    if snapshot.left_out:
        found.add("more state")
    if _generators() != generators:
        found.add("a global random generator")
    if any(array.is_deleted() for array in arrays):
        found.add("a deleted array")
    return "\n".join(sorted(found))


def _state_of(answer: Any) -> Iterator[Reference]:
    if isinstance(answer, type):
        yield from find_method_references(answer)
    elif callable(answer):
        yield from find_references(answer)


def _live_arrays(value: Any, depth: int = 3) -> Iterator[jax.Array]:
    """Yield the JAX arrays in a value, which an answer could delete one by one to count."""
    if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
        if not value.is_deleted():
            yield value
    elif depth and isinstance(value, (list, tuple, dict)):
        parts = list(value.values()) if isinstance(value, dict) else list(value)
        for part in parts[:_MAX_PARTS]:
            yield from _live_arrays(part, depth - 1)


def _generators() -> list[Any]:
    name, keys, *rest = np.random.get_state()
    torch = sys.modules.get("torch")
    # A data loader draws from PyTorch's generator, so only a new seed counts.
    of_torch = [torch.initial_seed()] if torch else []
    return [random.getstate(), name, np.asarray(keys).tobytes(), *rest, *of_torch]
