"""Draw new inputs for an answer that are similar to those that its tests use.

The method is that of fuzzers that change known inputs and take numbers from a dictionary. Here, the
dictionary has the numbers in the student's code, because an answer that is wrong only for some
sizes or numbers often mentions them. See https://lcamtuf.coredump.cx/afl/technical_details.txt.
"""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Collection, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxbits_grader.authoring.input_limits import InputLimits
from jaxbits_grader.authoring.new_inputs import NewInputs
from jaxbits_grader.judging.fuzzing.argument_parts import (
    Axis,
    convert,
    is_array,
    is_key,
    is_number,
    lengths_of,
    part_at,
    parts_of,
    take,
    with_part,
)
from jaxbits_grader.judging.fuzzing.number_drawer import NumberDrawer
from jaxbits_grader.judging.fuzzing.recorded_calls import RecordedCall, copy_argument

_ONLY_NUMBERS = 0.4  # How many calls differ from recorded ones only in numbers.
_MAX_ITEMS = 20_000
_Arguments = dict[str, Any]


class InputDrawer:
    """Draws calls of a function that are similar to recorded ones.

    Args:
        function: A function with the parameters of the answer.
        calls: Recorded calls of the answer, to which the tests have applied the same
            transformations.
        inputs: Which arguments may change.
        limits: What the task allows as inputs.
        numbers: The unusual numbers in the student's code, which most new inputs contain.
        rng: The source of random numbers.

    Example:
        >>> call = RecordedCall("half", (5,), {})
        >>> inputs, limits = NewInputs(("n",)), [InputLimits("half", "n", values=(5, 6))]
        >>> drawer = InputDrawer(lambda n: n / 2, [call], inputs, limits, [], random.Random(0))
        >>> sorted({call.args for call in (drawer.draw() for _ in range(50)) if call})
        [(5,), (6,)]
    """

    def __init__(
        self,
        function: Callable[..., Any],
        calls: Sequence[RecordedCall],
        inputs: NewInputs,
        limits: Sequence[InputLimits],
        numbers: Sequence[float],
        rng: random.Random,
    ) -> None:
        self._signature = inspect.signature(function)
        self._condition = compile(inputs.condition, "<only_if>", "eval")
        self._rng, self._numbers, self._free = rng, list(numbers), frozenset(inputs.arguments)
        self._calls = [(call, bound) for call in calls if (bound := self._bind(call)) is not None]
        own = {one.argument: one for one in limits if one.function == calls[0].name}
        self._limits = {name: one for name, one in own.items() if name in self._free}
        self._is_mapped = "vmap" in calls[0].transforms.names
        #: Whether a call needs no time for tracing and compiling.
        self.is_fast = not calls[0].transforms.names
        seen = [arguments for _, arguments in self._calls]
        self._drawer = NumberDrawer(seen, self._limits, numbers, rng)
        self._lengths = [dict(lengths_of(arguments)) for arguments in seen]
        self._all = self._group_axes()
        self._groups = [
            group for group in self._all if all(path[0] in self._free for path, _ in group)
        ]

    def _bind(self, call: RecordedCall) -> _Arguments | None:
        try:
            return dict(self._signature.bind(*call.args, **call.kwargs).arguments)
        except TypeError:
            return None

    def draw(self) -> RecordedCall | None:
        """Return a new call, or None if the drawn change was impossible."""
        if not self._calls:
            return None
        call, arguments = self._rng.choice(self._calls)
        drawn = arguments
        changes = (self._change_numbers, self._change_size, self._change_kind, self._swap)
        weights = (1, 1, 0, 0) if self._numbers and self._rng.random() < 0.6 else (4, 3, 1, 1)
        if self._rng.random() < _ONLY_NUMBERS:  # JAX compiles nothing for other numbers.
            weights = (1, 0, 0, 0)
        for _ in range(self._rng.choice((1, 1, 2, 3))):
            drawn = self._rng.choices(changes, weights)[0](drawn)
        if drawn is arguments or not self._is_allowed(drawn):
            return None
        bound = self._signature.bind(*call.args, **call.kwargs)
        bound.arguments.update(drawn)
        return RecordedCall(call.name, bound.args, bound.kwargs, call.transforms).copied()

    def _is_allowed(self, arguments: _Arguments) -> bool:
        lengths = dict(lengths_of(arguments))
        if any(len({lengths[axis] for axis in group & lengths.keys()}) > 1 for group in self._all):
            return False  # An argument from another call may not fit the others.
        try:
            return bool(eval(self._condition, {"np": np, "jnp": jnp}, arguments))
        except Exception:  # Under vmap, an argument has one more axis.
            return False

    def _change_numbers(self, arguments: _Arguments) -> _Arguments:
        """Change some numbers of a part of an argument."""
        found = [
            (path, part)
            for path, part in parts_of(arguments)
            if path[0] in self._free
            and (is_key(part) or ((is_number(part) or is_array(part)) and np.size(part)))
        ]
        if not found:
            return arguments
        path, part = self._rng.choice(found)
        return with_part(arguments, path, self._drawer.changed(path, part))

    def _change_kind(self, arguments: _Arguments) -> _Arguments:
        """Turn a part of an argument into another type or dtype that the task allows."""
        found = [
            (path, part)
            for path, part in parts_of(arguments)
            if (limits := self._limits.get(path[0])) and limits.kinds
            and not is_key(part) and (is_number(part) or is_array(part))
        ]  # fmt: skip
        if not found:
            return arguments
        path, part = self._rng.choice(found)
        return with_part(
            arguments, path, convert(part, self._rng.choice(self._limits[path[0]].kinds))
        )

    def _swap(self, arguments: _Arguments) -> _Arguments:
        """Take an argument from another call."""
        _, other = self._rng.choice(self._calls)
        names = [name for name in arguments if name in other and name in self._free]
        if not names:
            return arguments
        name = self._rng.choice(names)
        return {**arguments, name: copy_argument(other[name])}

    # ------------------------------------------------------------ sizes

    def _change_size(self, arguments: _Arguments) -> _Arguments:
        """Change the length of an axis, and of all axes that belong to it."""
        lengths = dict(lengths_of(arguments))
        groups = [axes for group in self._groups if (axes := group & lengths.keys())]
        if not groups:
            return arguments
        axes = self._rng.choice(groups)
        found = {lengths[axis] for axis in axes}
        n = found.pop()
        if found or not n:
            return arguments
        low, high = self._size_range(axes)
        items = max(_count_items(part_at(arguments, path)) // n for path, _ in axes)
        m = self._draw_size(low, max(low, min(high, _MAX_ITEMS // max(items, 1))))
        places = self._rng.choices(range(n), k=m)
        way = self._rng.randrange(3)
        places = [i % n for i in range(m)] if way == 0 else sorted(places) if way == 1 else places
        # The arrays in a list come before the list, whose positions change.
        for path, axis in sorted(axes, key=lambda one: -len(one[0])):
            arguments = with_part(arguments, path, take(part_at(arguments, path), axis, places))
        return arguments

    def _draw_size(self, low: int, high: int) -> int:
        rng = self._rng
        # An answer that treats one size specially mentions this size or the one next to it.
        mentioned = [int(n) for n in self._numbers if low - 1 <= n <= high + 1]
        if mentioned and rng.random() < 0.8:
            size = rng.choice(mentioned) + rng.choice((-1, 0, 0, 0, 1))
        else:
            any_size = math.exp(rng.uniform(math.log(max(low, 1)), math.log(max(high, 1))))
            size = rng.choice((low, low + 1, low + 2, high, round(any_size)))
        return min(max(size, low), high)

    def _size_range(self, axes: Collection[Axis]) -> tuple[int, int]:
        """Return the smallest and the largest length that the task allows or the tests use."""
        low, high = 0, _MAX_ITEMS
        for path, axis in axes:
            limits = self._limits.get(path[0])
            if limits and axis < len(limits.sizes) and len(path) == 1 and not self._is_mapped:
                least, most = limits.sizes[axis]
            else:
                seen = [one[path, axis] for one in self._lengths if (path, axis) in one]
                least, most = min(seen), max(seen)
            low, high = max(low, least), min(high, most)
        return low, max(low, high)

    def _group_axes(self) -> list[frozenset[Axis]]:
        """Group the axes that have the same length in each call."""
        groups: list[list[Axis]] = []
        for axis in dict.fromkeys(axis for one in self._lengths for axis in one):
            for group in groups:
                both = [one for one in self._lengths if axis in one and group[0] in one]
                if both and all(one[axis] == one[group[0]] for one in both):
                    group.append(axis)
                    break
            else:
                groups.append([axis])
        return [frozenset(group) for group in groups]


def _count_items(value: Any) -> int:
    return int(value.size) if is_array(value) else len(value)
