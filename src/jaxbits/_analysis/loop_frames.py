"""Find the Python loops that lead to the equations of a traced program."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import (
    CodeLocation,
    is_detector_code,
    is_other_library,
    is_user_code,
)
from jaxbits._analysis.source import ast_utils

_RECURSION = ("", "<frozen recursion>", 0, 0)
_REPEATING_CALL = re.compile(r"\b(?:reduce|map|starmap|accumulate|repeat)\b")
_TREE_FILES = ("tree_util.py", "tree.py")

Frames = tuple[tuple[str, str, int, int], ...]


def user_frames(equation: Any, path_cache: dict[Any, tuple[Frames, bool]]) -> tuple[Frames, bool]:
    """Return the user's frames that an equation was traced in, without recursive repetitions.

    Frames of `jax.tree.map` are kept. The second value says whether a library other than JAX lies
    in between, because such a library may itself loop over leaves.
    """
    traceback = getattr(equation.source_info, "traceback", None)
    if traceback not in path_cache:
        frames = _jax_compat.frames_with_lasti(equation)
        steps = list(itertools.takewhile(lambda step: not is_detector_code(step[1]), frames))
        is_foreign = any(is_other_library(file) for _, file, _, _ in steps)
        user_steps = [step for step in steps if is_user_code(step[1]) or _is_tree_mapping(step[1])]
        unique_steps = tuple(dict.fromkeys(user_steps))
        if len(unique_steps) < len(user_steps):
            unique_steps = (*unique_steps, _RECURSION)
        path_cache[traceback] = unique_steps, is_foreign
    return path_cache[traceback]


def maps_tree(path: Frames) -> bool:
    """Return whether `jax.tree.map` or a similar function is among the frames."""
    return any(_is_tree_mapping(file) for _, file, _, _ in path)


def _is_tree_mapping(file: str) -> bool:
    return file.endswith(_TREE_FILES) and not is_user_code(file)


def loops_around(path: Frames) -> Iterator[CodeLocation]:
    """Yield the lines of the loops that lead to an equation, innermost first.

    There are none if the iterations do not come from user code. If only a call or recursion repeats
    the equation, its line takes the place of the loop.

    Args:
        path: The frames of the equation.
    """
    locations = [
        CodeLocation(file, line, name) for name, file, line, _ in path if is_user_code(file)
    ]
    seen: set[tuple[str, int]] = set()
    for location in locations:
        for loop in ast_utils.enclosing_loops(location):
            # A generator expression has frames of its own, but it is one loop.
            if (loop.file, loop.line) not in seen:
                seen.add((loop.file, loop.line))
                yield loop
    if seen or maps_tree(path):
        return
    lacks_source = not all(ast_utils.parse_file(location.file) for location in locations)
    repeats = any(_REPEATING_CALL.search(location.text) for location in locations)
    if _RECURSION in path or lacks_source or repeats:
        yield locations[0]
