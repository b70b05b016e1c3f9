"""Where a program uses a PRNG key: the frames of user code, and the library call around the use."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import (
    CodeLocation,
    is_acting_code,
    is_detector_code,
    is_user_code,
)
from jaxbits._analysis.source.ast_utils import enclosing_loop


class Frame(NamedTuple):
    """A frame of user code.

    Attributes:
        location: The line.
        instruction: The index of the instruction, which distinguishes calls on the same line.
    """

    location: CodeLocation
    instruction: int


Path = tuple[tuple[Any, ...], ...]
"""All frames between an equation and the detectors, including those of libraries."""


@dataclass(frozen=True)
class LibraryCall:
    """A call from user code to a library function that uses keys, such as `jax.random.normal`.

    Attributes:
        number: A number that identifies the call.
        location: The line of user code that makes the call.
        frames: The frames of user code that lead to the call, innermost first.
        path: All frames that lead to the call.
        vmaps: How many calls of `jax.vmap` in user code enclose the call.
        is_draw: Whether the function draws numbers, even if it splits a key to do so.
        is_other_library: Whether the function belongs to a library other than JAX.
    """

    number: int
    location: CodeLocation
    frames: tuple[Frame, ...]
    path: Path
    vmaps: int
    is_draw: bool
    is_other_library: bool = False


def frames_of(equation: Any) -> tuple[tuple[Frame, ...], Path]:
    """Return the frames of user code behind an equation, innermost first, and all its frames.

    JAX stores the frames only up to the enclosing call or loop.
    """
    path: list[tuple[Any, ...]] = []
    for frame in _jax_compat.frames_with_lasti(equation):
        if is_detector_code(frame[1]):
            break
        path.append(frame)
    users = [
        Frame(CodeLocation(file, line, function), index)
        for function, file, line, index in path
        if is_user_code(file)
    ]
    return tuple(users), tuple(path)


def enter_library(
    equation: Any, jaxprs: Iterable[ClosedJaxpr], outer: tuple[Frame, ...], number: int
) -> LibraryCall | None:
    """Return the library call that an equation makes, or None if it runs code of the user.

    Args:
        equation: A call or a loop.
        jaxprs: The sub-jaxprs that it runs.
        outer: The frames of user code around the enclosing call or loop, innermost first.
        number: A number that identifies the call.
    """
    jaxprs = list(jaxprs)
    if not all(map(jaxpr_utils.is_library_jaxpr, jaxprs)):
        return None
    users, path = frames_of(equation)
    if not users:
        return None
    # `jax.random.randint` and other functions split the key that they draw from.
    is_loop = equation.primitive.name in ("scan", "while")
    is_draw = is_loop or "split" not in str(equation.params.get("name", "split"))
    vmaps = count_user_vmaps(equation)
    files = [_jax_compat.source_file(jaxpr.jaxpr) for jaxpr in jaxprs]
    is_other = all(map(is_acting_code, files))
    return LibraryCall(number, users[0].location, (*users, *outer), path, vmaps, is_draw, is_other)


def count_user_vmaps(equation: Any) -> int:
    """Return how many of the `jax.vmap` calls that enclose an equation are in user code."""
    frames = [f for f in _jax_compat.frames(equation) if "reraise_with_filtered" not in f[0]]
    is_user = [is_user_code(file) for _, file, _ in frames]
    start = is_user.index(True) if True in is_user else len(frames)
    # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/api.py
    return sum(
        frames[i][0].endswith("vmap_f") and is_user[i + 1] for i in range(start, len(frames) - 1)
    )


def call_sites(frames: Sequence[Frame], others: Sequence[Frame]) -> tuple[Frame, Frame] | None:
    """Return where two paths through the user's code call the same function, if they do.

    Args:
        frames: The frames of one use of a key, innermost first.
        others: The frames of another use.

    Returns:
        The frames of the two calls, which are equal if a Python loop makes both. None if the paths
        differ inside the function, or if no function of the user is called.
    """
    if len(frames) != len(others) or len(frames) < 2:
        return None
    differing = [n for n, (a, b) in enumerate(zip(frames, others, strict=True)) if a != b]
    site = differing[0] if differing else _looping_frame(frames)
    has_same_caller = frames[site].location.function == others[site].location.function
    if len(differing) > 1 or site == 0 or not has_same_caller:
        return None
    return frames[site], others[site]


def outer_frames(frames: Sequence[Frame], site: Frame) -> tuple[Frame, ...]:
    """Return the frames that lead to the call at `site`, without this call."""
    return tuple(frames[frames.index(site) + 1 :])


def called_function(frames: Sequence[Frame], site: Frame) -> str:
    """Return the name of the function that the call at `site` runs.

    If it is a lambda that calls another function of the user, this is the name of that function.
    """
    inner = reversed(frames[: frames.index(site)])
    names = [frame.location.function.rpartition(".")[2] for frame in inner]
    return next((name for name in names if not name.startswith("<")), names[0])


def differing_frame(frames: Sequence[Frame], other: Sequence[Frame]) -> Frame:
    """Return the outermost frame of the second of two paths at which the paths differ.

    If they do not differ, a Python loop makes both calls, and the frame is that of the loop.

    Args:
        frames: The frames of one use of a key, innermost first.
        other: The frames of another use.
    """
    pairs = zip(reversed(frames), reversed(other), strict=False)
    common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    if common < len(other):
        return other[len(other) - common - 1]
    return next((frame for frame in other if enclosing_loop(frame.location)), other[0])


def _looping_frame(frames: Sequence[Frame]) -> int:
    """Return the index of the frame with a Python loop that calls the same code repeatedly."""
    loops = (n for n in range(1, len(frames)) if enclosing_loop(frames[n].location))
    return next(loops, 1)
