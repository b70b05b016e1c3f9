"""Name a piece of Python state by the path that leads to it, such as `self.cache.hits`."""

from __future__ import annotations

import collections
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.held_values import HOLDER_TYPES
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.object_copies import CONTAINER_TYPES, items_of
from jaxbits._analysis.python_state.references import Reference, is_user_object
from jaxbits._analysis.python_state.state_values import PLAIN_TYPES, nested_values
from jaxbits._analysis.python_state.use_lines import first_use_line

_MAX_KEY = 40


class StatePath(NamedTuple):
    """How a reference leads to a value.

    Attributes:
        reference: The reference.
        steps: The steps from the value of the reference to the value, last step first, as nested
            pairs of a step and the steps before it, or None if there are no steps. A step is the
            name of an attribute, or a tuple with the index or key of an item.
    """

    reference: Reference
    steps: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        """The expression that leads to the value, such as ``self.layers[0]``."""
        found, steps = [], self.steps
        while steps is not None:
            step, steps = steps
            found.append(f".{step}" if isinstance(step, str) else _subscript(*step))
        reference = self.reference
        start = "self" if reference.kind == "object" else reference.name
        return start + "".join(reversed(found))

    def parts(self, value: Any) -> list[tuple[StatePath, Any]]:
        """Return the values inside a value, and the paths to them.

        Args:
            value: The value that this path leads to.
        """
        named = [(step, part) for step, part in _steps(value) if not isinstance(part, PLAIN_TYPES)]
        return [(StatePath(self.reference, (step, self.steps)), part) for step, part in named]

    def attribute(self, value: Any, name: str) -> Reference:
        """Return a reference to an attribute of a value.

        Args:
            value: The object that this path leads to.
            name: The name of the attribute.
        """
        start, label = self.reference, f"{self.name}.{name}"
        stored, line = None, start.location_of_attribute(label)
        if start.code is not None and line is not None:
            store = first_use_line(start.code, "attribute", label, stores_only=True)
            stored = replace(line, line=store) if store else None
        stored = stored or start.stored_at
        return Reference("attribute", label, value, name, line, start.code, stored)


def has_named_attributes(value: Any) -> bool:
    """Return whether messages name the attributes of a value that change.

    They do so for a user's object and for a `types.SimpleNamespace`, unless it is a container or an
    iterator. The attributes of a library's object are internals of this library.
    """
    if isinstance(value, CONTAINER_TYPES) or is_iterator(value):
        return False
    return isinstance(value, types.SimpleNamespace) or is_user_object(value)


def _steps(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the steps from a value to the values inside it, and these values."""
    attributes = object_fields.attribute_dict(value) if isinstance(value, CONTAINER_TYPES) else None
    if attributes is not None:
        yield "__dict__", attributes  # A subclass may have attributes besides its items.
    if isinstance(value, np.ndarray):
        items = value.flat if value.dtype == object else ()
        yield from (((index,), item) for index, item in enumerate(items))
    elif isinstance(value, (list, tuple, collections.deque)):
        yield from (((index,), item) for index, item in enumerate(items_of(value)))
    elif isinstance(value, dict):
        yield from (((key,), item) for key, item in items_of(value))
    elif (fields := object_fields.fields(value)) is not None and not isinstance(
        value, HOLDER_TYPES
    ):
        yield from fields.items()
    else:
        yield from (((index,), item) for index, item in enumerate(nested_values(value)))


def _subscript(key: Any) -> str:
    return f"[{key!r:.{_MAX_KEY}}]" if isinstance(key, (int, str)) else "[…]"
