"""Draw numbers from the domain of an argument."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits_grader.authoring.input_limits import InputLimits
from jaxbits_grader.judging.fuzzing.argument_parts import (
    Path,
    is_array,
    is_key,
    is_number,
    parts_of,
    without_positions,
)

_SHARE_OF_SPECIAL = 0.1
_MAX_CHANGED = 2000


class NumberDrawer:
    """Draws numbers between those that an argument allows, or else between those that tests use.

    Args:
        seen: The arguments in the tests, keyed by name.
        limits: What the task allows, keyed by the name of the argument.
        numbers: The unusual numbers in the student's code, which are drawn most often.
        rng: The source of random numbers.
    """

    def __init__(
        self,
        seen: Iterable[Mapping[str, Any]],
        limits: Mapping[str, InputLimits],
        numbers: Sequence[float],
        rng: random.Random,
    ) -> None:
        self._limits, self._numbers, self._rng = limits, list(numbers), rng
        self._ranges: dict[Path, tuple[float, float]] = {}
        for arguments in seen:
            for path, value in parts_of(arguments):
                self._note_range(path, value)

    def _note_range(self, path: Path, value: Any) -> None:
        if is_key(value) or not (is_number(value) or is_array(value)):
            return
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "biu" and not _is_float(numbers):
            return
        numbers = numbers.astype(np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if numbers.size:
            low, high = float(numbers.min()), float(numbers.max())
            key = without_positions(path)
            known = self._ranges.get(key, (low, high))
            self._ranges[key] = min(low, known[0]), max(high, known[1])

    def changed(self, path: Path, value: Any) -> Any:
        """Return a number, an array, or keys of the same shape and dtype with other values.

        Args:
            path: The path of the value within the arguments.
            value: The value to change.
        """
        if is_key(value):
            return self._new_keys(value)
        if not is_array(value):
            return self._like(path, value, [value])
        array = np.array(value)
        flat = array.reshape(-1)
        own = [flat[place].item() for place in self._rng.choices(range(flat.size), k=4)]
        count = min(self._rng.choice((1, 1, 2, flat.size)), flat.size, _MAX_CHANGED)
        repeated = self._like(path, flat[0], own) if self._rng.random() < 0.3 else None
        for place in self._rng.sample(range(flat.size), count):
            flat[place] = self._like(path, flat[place], own) if repeated is None else repeated
        return array if isinstance(value, np.ndarray) else jnp.asarray(array, value.dtype)

    def _new_keys(self, keys: jax.Array) -> jax.Array:
        implementation = jax.random.key_impl(keys)
        seed = jax.random.key(self._rng.getrandbits(31), impl=implementation)
        return jax.random.split(seed, keys.shape) if keys.shape else seed

    def _like(self, path: Path, value: Any, own: Sequence[Any]) -> Any:
        """Return a number of the same type as another one."""
        dtype = np.asarray(value).dtype
        if dtype.kind == "b":
            return type(value)(self._rng.random() < 0.5)
        is_int = dtype.kind in "iu"
        if not is_int and not _is_float(np.asarray(value)):
            return value
        limits = self._limits.get(path[0])
        if limits and limits.special and not is_int and self._rng.random() < _SHARE_OF_SPECIAL:
            return type(value)(float(self._rng.choice(limits.special)))
        low, high = self._ranges.get(without_positions(path), (0.0, 0.0))
        if limits and limits.values:
            low, high = limits.values
        number = self._draw(low, high, limits.step if limits else None, is_int, own)
        if not is_int:
            return type(value)(number)
        if not isinstance(value, int):
            info = np.iinfo(dtype)
            number = min(max(number, int(info.min)), int(info.max))
        return type(value)(int(number) if math.isfinite(number) else own[0])

    def _draw(
        self, low: float, high: float, step: float | None, is_int: bool, own: Sequence[Any]
    ) -> float:
        rng = self._rng
        way = rng.choices(range(5), (12 if self._numbers else 0, 2, 2, 2, 1))[0]
        number: float
        if way == 0:
            number = rng.choice(self._numbers)
            near = 1 if is_int else number * 2.0**-20
            around = number, number, number, -number, number + near, number - near, 2 * number
            number = rng.choice(around)
        elif way == 1:
            number = rng.choice((low, high, 0, 1, -1, step or 1))
        elif way == 2:
            number = rng.uniform(low, high) if math.isfinite(high - low) else high
        elif way == 3:
            most = max(abs(low), abs(high), 1e-30)
            least = min(step or (1 if is_int else most * 1e-6), most)
            number = math.exp(rng.uniform(math.log(least), math.log(most))) * rng.choice((-1, 1))
        else:
            number = rng.choice(own)
        if not is_int:
            number = float(number)  # A float16 could not be compared with a large number.
            if step and way != 0 and abs(number) < 1e15 * step:
                number = round(number / step) * step
        return number if low <= number <= high else rng.choice(own)


def _is_float(array: np.ndarray) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.floating))
