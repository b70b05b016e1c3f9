"""Change the last digits of arguments, to see how much a result depends on rounding."""

from __future__ import annotations

import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits_grader.judging.fuzzing.argument_parts import is_array, is_number, parts_of, with_part
from jaxbits_grader.judging.fuzzing.recorded_calls import RecordedCall

_CHANGE = 2.0**-22  # About two units in the last place of a float32.


def perturbed(call: RecordedCall, rng: random.Random) -> RecordedCall:
    """Return a call in which each floating-point number is slightly larger or smaller.

    If two numbers are equal, as in the maximum of a row, this usually makes one of them larger.

    Args:
        call: The call.
        rng: The source of random numbers.
    """
    own = call.copied()
    noise = np.random.default_rng(rng.getrandbits(64))
    args = tuple(_perturb(arg, noise) for arg in own.args)
    kwargs = {name: _perturb(arg, noise) for name, arg in own.kwargs.items()}
    return RecordedCall(own.name, args, kwargs, own.transforms)


def _perturb(value: Any, noise: np.random.Generator) -> Any:
    for path, part in parts_of(value):
        is_float = (is_number(part) or is_array(part)) and np.asarray(part).dtype.kind == "f"
        if is_float and np.size(part):
            array = np.asarray(part)
            signs = noise.choice((-1.0, 1.0), array.shape)
            new: Any = (array * (1 + _CHANGE * signs)).astype(array.dtype)
            if isinstance(part, jax.Array):
                new = jnp.asarray(new, part.dtype)
            elif not is_array(part):
                new = type(part)(new)
            value = with_part(value, path, new)
    return value
