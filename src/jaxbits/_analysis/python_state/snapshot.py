"""What Python state was before a function ran: what changed since, and how to put it back."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import copy
import random
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.iterators import copy_of_iterator, is_iterator, position
from jaxbits._analysis.python_state.references import ABSENT, Reference, is_of_user
from jaxbits._formatting import format_state

_MOST = 5000
_LARGEST_ARRAY = 1 << 22
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_HOLDERS = (object_fields.Cached, contextvars.ContextVar)
_OPAQUE = (type, types.ModuleType, types.FunctionType, types.MethodType, jax.Array, Tracer)


@dataclass(frozen=True)
class Change:
    """One thing that is no longer what it was.

    Attributes:
        reference: the name by which the function reaches it.
        kind: ``leak`` (a tracer is in it now), ``iterator`` (advanced) or ``state``.
        before: what it was, in short.
        after: what it is, in short.
    """

    reference: Reference
    kind: str
    before: str
    after: str


def short(value: Any) -> str:
    """Return a value as a message shows it, in at most 40 characters."""
    return "nothing" if value is ABSENT else format_state(value)


def _contents(value: Any) -> Any:
    """Return the parts of a mutable value, copied one level deep; None for all else."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.nbytes <= _LARGEST_ARRAY else None
    if isinstance(value, np.random.Generator):
        return copy.deepcopy(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return value.get_state(legacy=False)
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, (list, collections.deque)):
        return list(value)
    if isinstance(value, (dict, set)):
        return copy.copy(value)
    if is_iterator(value):
        return position(value)
    if isinstance(value, (*_OPAQUE, *_PLAIN)):
        return None
    if isinstance(value, _HOLDERS):
        return object_fields.contents(value)
    return object_fields.fields(value)


def _parts(value: Any) -> list[Any]:
    """Return what a value holds that may hold something itself."""
    if isinstance(value, (list, tuple, collections.deque)):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    else:
        parts = list(_held(value))
    return [part for part in parts if not isinstance(part, _PLAIN)]


def _held(value: Any) -> Iterable[Any]:
    if isinstance(value, _HOLDERS):
        return object_fields.contents(value) or ()
    return (object_fields.fields(value) or {}).values()


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        kept = a.shape == b.shape and a.dtype == b.dtype
        return kept and (a.tobytes() == b.tobytes() if a.dtype != object else _same([*a], [*b]))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, (*_PLAIN, set, np.generic)):
        return bool(a == b) or a != a
    return False


def _tracers(value: Any) -> Iterator[Any]:
    waiting, seen = collections.deque([value]), set[int]()
    while waiting and len(seen) < _MOST:
        here = waiting.popleft()
        if isinstance(here, Tracer):
            yield here
        elif isinstance(here, types.FunctionType):
            # A function that was stored carries what it closes over.
            waiting.extend(_closed_over(here))
        elif id(here) not in seen and not isinstance(here, (*_OPAQUE, *_PLAIN)):
            seen.add(id(here))
            waiting.extend(here if isinstance(here, set) else _parts(here))


def _closed_over(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not bound yet
            if isinstance(cell.cell_contents, Tracer):
                yield cell.cell_contents


def _is_given_to_change(value: Any) -> bool:
    """Whether a change of an argument counts: of containers, arrays and the user's own objects."""
    return isinstance(value, (dict, list, tuple, set, collections.deque, np.ndarray)) or (
        is_of_user(value) and not isinstance(value, _OPAQUE) and not is_iterator(value)
    )


def _unexplained(value: Any, before: Any, now: Any, told: set[tuple[int, Any]]) -> bool:
    """Whether more has changed than attributes that are told of, and that are computed once."""
    if isinstance(value, object_fields.Cached):
        return next(_tracers(list(now)), None) is not None
    if isinstance(value, (dict, list, set)) or not isinstance(before, dict):
        return True
    names = before.keys() | (now or {}).keys()
    changed = {n for n in names if not _same(before.get(n, ABSENT), now.get(n, ABSENT))}
    changed -= {name for name in changed if (id(value), name) in told}
    return any(
        not object_fields.computed_once(value, name)
        or next(_tracers(now.get(name)), None) is not None
        for name in changed
    )


class Memory:
    """Remembers everything mutable behind some references, the nearest first.

    Without `objects`, only containers and NumPy arrays. Arrays too large to be copied are made
    read-only until `restore`.

    Attributes:
        left_out: what could not be remembered, in sentences.

    >>> holder = {"seen": [1]}
    >>> memory = Memory([Reference("global", "seen", holder, "seen")])
    >>> holder["seen"].append(2)
    >>> [(change.before, change.after) for change in memory.changes()]
    [('list of 1', 'list of 2')]
    >>> memory.restore()
    >>> holder
    {'seen': [1]}
    """

    def __init__(self, references: Iterable[Reference], objects: bool = True) -> None:
        self.left_out: list[str] = []
        self._objects = objects
        self._bound: list[tuple[Reference, Any]] = []
        self._mutable: dict[int, tuple[Any, Any, Reference]] = {}
        self._copies: dict[int, Any] = {}
        self._locked: list[Any] = []
        for reference in references:
            self._bound.append((reference, reference.get()))
        self._remember()

    def _remember(self) -> None:
        waiting = collections.deque((value, reference) for reference, value in self._bound)
        while waiting:
            value, reference = waiting.popleft()
            if id(value) in self._mutable or isinstance(value, (*_OPAQUE, *_PLAIN)):
                continue
            if not self._objects and not _is_given_to_change(value):
                continue
            if len(self._mutable) >= _MOST:
                self.left_out.append(f"state beyond the {_MOST} objects that are nearest")
                return
            if isinstance(value, np.ndarray) and value.nbytes > _LARGEST_ARRAY:
                self._lock(value)
                continue
            contents = _contents(value)
            if contents is not None:
                self._mutable[id(value)] = (value, contents, reference)
                if is_iterator(value):
                    made = copy_of_iterator(value)
                    if made is not None:
                        self._copies[id(value)] = made
                    continue
            parts = _parts(value)
            if len(parts) > _MOST:
                self.left_out.append(f"what a {short(value)} holds beyond {_MOST} parts")
            waiting.extend((part, reference) for part in parts[:_MOST])

    def _lock(self, array: Any) -> None:
        if self._objects and array.flags.writeable:
            array.flags.writeable = False
            self._locked.append(array)

    def changes(self) -> list[Change]:
        """Return what is not as it was, each thing once, by the name that reaches it first."""
        found: dict[int, Change] = {}
        told: set[tuple[int, Any]] = set()
        for reference, before in self._bound:
            after = reference.get()
            if after is not before and not _same(before, after):
                kind = "leak" if next(_tracers(after), None) is not None else "state"
                found[len(found)] = Change(reference, kind, short(before), short(after))
                told.add((id(reference.holder), reference.key))
        for value, contents, reference in self._mutable.values():
            now = _contents(value)
            if _same(contents, now) or not _unexplained(value, contents, now, told):
                continue
            kind = "iterator" if is_iterator(value) else "state"
            if isinstance(contents, (list, dict, set, tuple)) and kind == "state":
                kept = {id(t) for t in _tracers(contents)}
                if any(id(t) not in kept for t in _tracers(now)):
                    kind = "leak"
            shown = isinstance(contents, (list, dict, set))
            before, after = short(contents if shown else value), short(now if shown else value)
            found.setdefault(id(value), Change(reference, kind, before, after))
        return list(found.values())

    def restore(self) -> None:
        """Put everything back, as far as it can be: a generator that was advanced stays so."""
        for array in self._locked:
            array.flags.writeable = True
        for value, contents, _ in self._mutable.values():
            with contextlib.suppress(Exception):  # the user's classes; the rest goes on
                now = _contents(value)
                if not _same(contents, now) and _unexplained(value, contents, now, set()):
                    _put_back(value, contents)
        for reference, value in self._bound:
            with contextlib.suppress(Exception):
                value = self._copies.get(id(value), value)
                if reference.get() is not value:
                    reference.set(value)


def _put_back(value: Any, contents: Any) -> None:
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = contents
    elif isinstance(value, np.random.Generator):
        value.bit_generator.state = contents
    elif isinstance(value, np.random.RandomState):
        value.set_state(contents)
    elif isinstance(value, random.Random):
        value.setstate(contents)
    elif isinstance(value, (list, collections.deque)):
        value.clear()
        value.extend(contents)
    elif isinstance(value, (dict, set)):
        value.clear()
        value.update(contents)
    elif isinstance(value, _HOLDERS):
        object_fields.put_back(value, contents)
    elif not is_iterator(value):
        object_fields.put_back_fields(value, contents)
