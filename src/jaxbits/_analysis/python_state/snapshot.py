"""Snapshots of Python state, which show what has changed since then and can restore it."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbits import _jax_compat
from jaxbits._analysis.python_state import held_values, object_fields
from jaxbits._analysis.python_state.iterators import (
    copy_iterator,
    has_readable_position,
    is_iterator,
)
from jaxbits._analysis.python_state.object_copies import CONTAINER_TYPES
from jaxbits._analysis.python_state.references import (
    ABSENT,
    Reference,
    changes_items,
    is_user_object,
)
from jaxbits._analysis.python_state.state_paths import StatePath, has_named_attributes
from jaxbits._analysis.python_state.state_values import (
    MAX_ARRAY_BYTES,
    MAX_OBJECTS,
    OPAQUE_TYPES,
    PLAIN_TYPES,
    copy_contents,
    describe_value,
    find_tracers,
    is_same,
    restore_contents,
)

# Objects from these modules have no state, or the detectors read it in other ways.
_READABLE = {"_collections", "builtins", "collections", "datetime", "decimal", "functools", "jax"}
_READABLE |= {"jaxlib", "ml_dtypes", "numpy", "re", "torch"}


@dataclass(frozen=True)
class StateChange:
    """A piece of Python state that a function changed.

    Attributes:
        reference: The name through which the function reaches this state.
        kind: ``leak`` if it now holds a tracer, ``iterator`` if it is an iterator that advanced, or
            ``state`` for any other change.
        before: A description of the old value.
        after: A description of the new value.
        traces: JAX's traces to which the tracers belong, if `kind` is ``leak``.
    """

    reference: Reference
    kind: str
    before: str
    after: str
    traces: tuple[Any, ...] = ()


def _is_flat(value: Any) -> bool:
    """Return whether nothing inside a value can change, so that there is nothing to record."""
    if type(value) is tuple:
        return all(isinstance(part, (*OPAQUE_TYPES, *PLAIN_TYPES)) for part in value)
    return isinstance(value, OPAQUE_TYPES)


def _is_unreadable(value: Any) -> bool:
    """Return whether an object may have state that only its C methods can change."""
    root = type(value).__module__.partition(".")[0]
    if value is ABSENT or callable(value) or root in _READABLE:
        return False
    return not is_user_object(value)


def _is_mutable_argument(value: Any) -> bool:
    """Return whether changes to a value matter because it is a container, array, or user object."""
    return isinstance(value, (dict, list, tuple, set, collections.deque, np.ndarray)) or (
        is_user_object(value) and not isinstance(value, OPAQUE_TYPES) and not is_iterator(value)
    )


def _describe_change(value: Any, recorded: Any, current: Any) -> tuple[str, str]:
    """Return descriptions of a mutable value before and after a change to its contents."""
    if isinstance(value, np.ndarray) and np.shape(recorded) == np.shape(current):
        count = int(np.sum(~((recorded == current) | (recorded != recorded))))
        dims = ",".join(map(str, value.shape))
        return f"{value.dtype}[{dims}]", f"{count} of {value.size} entries changed"
    if isinstance(recorded, dict) and list(recorded) == list(current):
        changed = [key for key in current if not is_same(recorded[key], current[key])]
        if len(changed) == 1 and isinstance(value, (dict, held_values.HOLDER_TYPES)):
            (key,) = changed
            name = f"[{key!r:.40}]" if isinstance(value, dict) else key
            return f"{name}: {describe_value(recorded[key])}", describe_value(current[key])
    if isinstance(recorded, (list, dict, set)) and isinstance(value, CONTAINER_TYPES):
        kind = type(value).__name__
        return f"{kind} of {len(recorded)}", f"{kind} of {len(current)}"
    if isinstance(recorded, (list, dict, set, str)):
        return describe_value(recorded), describe_value(current)
    return describe_value(value), describe_value(value)


def _has_unreported_change(
    value: Any, before: Any, current: Any, reported: set[tuple[int, Any]]
) -> bool:
    """Return whether anything changed besides reported attributes and cached properties."""
    if isinstance(value, held_values.LruCache):
        return next(find_tracers(list(current)), None) is not None
    if isinstance(value, (dict, list, set)) or not isinstance(before, dict):
        return True
    return bool(_changed_attributes(value, before, current, reported))


def _changed_attributes(
    value: Any, before: Any, current: Any, reported: set[tuple[int, Any]]
) -> list[str]:
    """Return the attributes that changed besides reported ones and cached properties."""
    names = dict.fromkeys((*before, *(current or {})))
    changed = [n for n in names if not is_same(before.get(n, ABSENT), current.get(n, ABSENT))]
    return [
        name
        for name in changed
        if (id(value), name) not in reported
        and (
            not object_fields.is_cached_property(value, name)
            or next(find_tracers(current.get(name)), None) is not None
        )
    ]


def _may_have_changed_results(
    reference: Reference, recorded: tuple[Any, ...], current: tuple[Any, ...]
) -> bool:
    """Return whether the code that uses a cached function may have changed its new results."""
    known = set(map(id, recorded))
    new = [result for result in current if id(result) not in known]
    if any(map(is_iterator, new)):
        return True
    writes = reference.code is not None and changes_items(reference.code)
    return writes and any(isinstance(result, (*CONTAINER_TYPES, np.ndarray)) for result in new)


def _change(reference: Reference, before: Any, after: Any) -> StateChange:
    """Return the change of a name that has a different value."""
    tracers = list(find_tracers(after))
    old, new = describe_value(before), describe_value(after)
    # A container with the same type has different contents.
    if tracers and old == new and tracers[0] is not after:
        new += f" with {describe_value(tracers[0])}"
    traces = tuple(map(_jax_compat.trace_of, tracers))
    return StateChange(reference, "leak" if traces else "state", old, new, traces)


class StateSnapshot:
    """A copy of all mutable state that some references reach, starting with the nearest objects.

    If `objects` is False, the snapshot skips all objects except containers, NumPy arrays,
    and user objects, and it leaves large arrays writable. Otherwise, arrays that are too large to
    be copied are read-only until `restore` or `release` is called.

    Attributes:
        left_out: Notes on what could not be recorded.
        unreadable: The names of objects whose state only C code can read, keyed by their id.

    >>> holder = {"seen": [1]}
    >>> snapshot = StateSnapshot([Reference("global", "seen", holder, "seen")])
    >>> holder["seen"].append(2)
    >>> [(change.before, change.after) for change in snapshot.changes()]
    [('list of 1', 'list of 2')]
    >>> snapshot.restore()
    >>> holder
    {'seen': [1]}
    """

    def __init__(self, references: Iterable[Reference], objects: bool = True) -> None:
        self.left_out: list[str] = []
        self.unreadable: dict[int, str] = {}
        self._objects = objects
        self._bindings: list[tuple[Reference, Any]] = []
        self._mutable: dict[int, tuple[Any, Any, StatePath]] = {}
        self._copies: dict[int, Any] = {}
        self._read_only: list[Any] = []
        try:
            for reference in references:
                self._bindings.append((reference, reference.get()))
            self._record()
        except BaseException:  # An interruption must not leave the user's arrays read-only.
            self.release()
            raise

    def _record(self) -> None:
        waiting = collections.deque((StatePath(r), value) for r, value in self._bindings)
        while waiting:
            path, value = waiting.popleft()
            if id(value) in self._mutable or isinstance(value, (*OPAQUE_TYPES, *PLAIN_TYPES)):
                continue
            if not self._objects and not _is_mutable_argument(value):
                continue
            if len(self._mutable) >= MAX_OBJECTS:
                self.left_out.append(
                    f"state beyond the {MAX_OBJECTS} nearest objects was not recorded"
                )
                return
            if isinstance(value, np.ndarray) and value.nbytes > MAX_ARRAY_BYTES:
                self._make_read_only(value)
                continue
            recorded = copy_contents(value)
            if recorded is None and _is_unreadable(value):
                self.unreadable[id(value)] = path.name
            if recorded is not None:
                self._mutable[id(value)] = (value, recorded, path)
                if is_iterator(value):
                    if not has_readable_position(value):
                        what = f"the {type(value).__name__} `{path.name}`"
                        self.left_out.append(f"how far {what} advances is unknown")
                    duplicate = copy_iterator(value)
                    if duplicate is not None:
                        self._copies[id(value)] = duplicate
                    continue
            parts = [(step, part) for step, part in path.parts(value) if not _is_flat(part)]
            if len(parts) > MAX_OBJECTS:
                self.left_out.append(
                    f"only {MAX_OBJECTS} parts of a {describe_value(value)} were recorded"
                )
            waiting.extend(parts[:MAX_OBJECTS])

    def values(self) -> list[Any]:
        """Return the mutable values that the snapshot has recorded."""
        return [value for value, _, _ in self._mutable.values()]

    def _make_read_only(self, array: Any) -> None:
        if self._objects and array.flags.writeable:
            self._read_only.append(array)
            array.flags.writeable = False

    def release(self) -> None:
        """Make large arrays writable again, and keep all changes."""
        # NumPy makes a view writable only if the array that owns the memory is.
        for array in sorted(self._read_only, key=lambda array: array.base is not None):
            array.flags.writeable = True

    def changes(self) -> list[StateChange]:
        """Return what changed. Each change appears once, under the first name that reaches it."""
        found: list[StateChange] = []
        reported: set[tuple[int, Any]] = set()
        for reference, before in self._bindings:
            after = reference.get()
            if after is not before and not is_same(before, after):
                found.append(_change(reference, before, after))
                reported.add((id(reference.holder), reference.key))
        for value, recorded, path in self._mutable.values():
            current = copy_contents(value)
            if isinstance(value, held_values.LruCache) and _may_have_changed_results(
                path.reference, recorded, current
            ):
                self.left_out.append(
                    f"changes to the new results in the cache of `{path.name}` were not recorded"
                )
            if is_same(recorded, current) or not _has_unreported_change(
                value, recorded, current, reported
            ):
                continue
            if self._objects and has_named_attributes(value):
                for name in _changed_attributes(value, recorded, current, reported):
                    before, after = recorded.get(name, ABSENT), current.get(name, ABSENT)
                    found.append(_change(path.attribute(value, name), before, after))
                continue
            kind, traces = "iterator" if is_iterator(value) else "state", tuple[Any, ...]()
            if isinstance(recorded, (list, dict, set, tuple)) and kind == "state":
                old_tracers = {id(t) for t in find_tracers(recorded)}
                tracers = [t for t in find_tracers(current) if id(t) not in old_tracers]
                traces = tuple(map(_jax_compat.trace_of, tracers))
                kind = "leak" if traces else kind
            before, after = _describe_change(value, recorded, current)
            found.append(StateChange(path.reference, kind, before, after, traces))
        return found

    def restore(self) -> None:
        """Restore everything that can be restored. A generator that advanced stays advanced."""
        self.release()
        for value, recorded, _ in self._mutable.values():
            # A user-defined class may raise an error. If it does, restore the rest anyway.
            with contextlib.suppress(Exception):
                current = copy_contents(value)
                if not is_same(recorded, current) and _has_unreported_change(
                    value, recorded, current, set()
                ):
                    restore_contents(value, recorded)
        for reference, value in self._bindings:
            with contextlib.suppress(Exception):
                if id(value) in self._copies:
                    _, position, _ = self._mutable[id(value)]
                    if copy_contents(value) != position:  # Other names keep the advanced iterator.
                        value = self._copies[id(value)]
                if reference.get() is not value:
                    reference.set(value)
