"""The detector `unrolled`: Python loops that tracing unrolls into the program."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import (
    CodeLocation,
    is_detector_code,
    is_other_library,
    is_user_code,
    location_of,
)
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.source import ast_utils

_WARNING_ITERATIONS, _NOTE_ITERATIONS, _MIN_LEAVES = 20, 12, 100
_WARNING_EQUATIONS = 50
"""The number of unrolled equations below which compiling them takes no time worth a warning."""
_SHAPING = {"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "copy", "copy_p"}
_RECURSION = ("", "<frozen recursion>", 0, 0)
_REPEATING_CALL = re.compile(r"\b(?:reduce|map|starmap|accumulate|repeat)\b")
_TREE_FILES = ("tree_util.py", "tree.py")

Frames = tuple[tuple[str, str, int, int], ...]


@detector
def unrolled(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find Python loops and recursion that tracing unrolls into the program.

    The detector groups the traced program's equations by the line of user code that they come from,
    and counts the equations with each primitive. The count of the rarest of the common primitives
    gives the number of iterations. The detector warns about 20 or more iterations if they have at
    least 50 equations together, including those in functions that they call. It adds a note about
    12 or more iterations. It also counts iterations that a JAX loop unrolls because of its
    `unroll=` argument, but not the leaves of a tree that `jax.tree.map` visits. The detector cannot
    tell whether `lax.scan` could replace the loop. It cannot see a loop over a library's layers if
    the first iteration has different operations from the rest, as when `jax.vmap` does not map the
    initial state. JAX has no switch for this.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> def f(x):
    ...     for i in range(100):
    ...         x = jnp.sin(x) + i
    ...     return x
    >>> found = detect.unrolled(f, 1.0)[0]
    >>> found.message, found.evidence
    ('a Python loop is unrolled: 100 iterations', '200 of 200 equations; a JAX loop has about 2')
    """
    if target.trace.program is None:
        return
    path_cache: dict[Any, tuple[Frames, bool]] = {}
    seen: set[int] = set()
    reported: set[CodeLocation | None] = set()
    for program in _user_jaxprs(target.trace.program, seen):
        total = len(program.jaxpr.eqns)
        if total >= _NOTE_ITERATIONS:
            for location, iterations, equations, size in _unrolled_loops(program, path_cache):
                if location not in reported:
                    reported.add(location)
                    is_costly = iterations >= _WARNING_ITERATIONS and size >= _WARNING_EQUATIONS
                    yield Finding(
                        "warning" if is_costly else "note",
                        f"a Python loop is unrolled: {iterations} iterations",
                        f"{equations} of {total} equations; a JAX loop has about "
                        f"{max(1, round(equations / iterations))}",
                        "`lax.scan` or `lax.fori_loop`; `jax.vmap` where iterations do not depend "
                        "on each other",
                        location,
                    )
        for equation in program.jaxpr.eqns:
            iterations = (
                equation.params.get("unroll", 1) if equation.primitive.name == "scan" else 1
            )
            if int(iterations) >= _WARNING_ITERATIONS:
                size = sum(len(part.jaxpr.eqns) for part in jaxpr_utils.sub_jaxprs(equation))
                is_costly = int(iterations) * size >= _WARNING_EQUATIONS
                yield Finding(
                    "warning" if is_costly else "note",
                    f"a JAX loop is unrolled by {int(iterations)}",
                    f"{int(iterations) * size} equations instead of {size}",
                    "a small `unroll`, such as 4, or none",
                    location_of(equation),
                )


def _user_jaxprs(program: ClosedJaxpr, seen: set[int]) -> Iterator[ClosedJaxpr]:
    """Yield each of the user's jaxprs once, starting with the outermost."""
    waiting = [program]
    while waiting:
        jaxpr = waiting.pop()
        if id(jaxpr.jaxpr) in seen:
            continue
        seen.add(id(jaxpr.jaxpr))
        yield jaxpr
        for equation in jaxpr.jaxpr.eqns:
            waiting += [
                p for p in jaxpr_utils.sub_jaxprs(equation) if not jaxpr_utils.is_library_jaxpr(p)
            ]


def _unrolled_loops(
    program: ClosedJaxpr, path_cache: dict[Any, tuple[Frames, bool]]
) -> Iterator[tuple[CodeLocation, int, int, int]]:
    """Yield (location, iterations, equations, size) for each unrolled loop, largest first.

    `size` counts the equations in the functions that the loop calls, too.
    """
    paths: dict[Frames, Counter[tuple[str, ...]]] = defaultdict(Counter)
    sizes: Counter[Frames] = Counter()
    foreign_paths: set[Frames] = set()
    for equation in program.jaxpr.eqns:
        path, is_foreign = _user_frames(equation, path_cache)
        if path:
            if is_foreign:
                foreign_paths.add(path)
            dimensions = equation.params.get("dimension_numbers", "")
            operation = (equation.primitive.name, _jax_compat.name_stack(equation), str(dimensions))
            paths[path][operation] += 1
            sizes[path] += _size_of(equation)
    loops: Counter[CodeLocation] = Counter()
    loop_sizes: Counter[CodeLocation] = Counter()
    counts: dict[CodeLocation, Counter[int]] = defaultdict(Counter)
    chains: Counter[CodeLocation] = Counter()
    for path, operations in paths.items():
        count = _count_iterations(operations, 1 << 30 if path in foreign_paths else 6)
        maps_tree = any(_is_tree_mapping(file) for _, file, _, _ in path)
        is_loop = count >= (_MIN_LEAVES if maps_tree else _NOTE_ITERATIONS)
        location = _loop_location(path) if is_loop else None
        if location is not None:
            loops[location] += sum(operations.values())
            loop_sizes[location] += sizes[path]
            counts[location][count] += 1
            if maps_tree and chains[location] <= 1:
                chains[location] = max(chains[location], _longest_chain(program, path, path_cache))
    for location, equations in loops.most_common():
        # A line that runs several times in an iteration has its own count, so take the most common.
        iterations = max(counts[location], key=lambda count: (counts[location][count], count))
        if chains[location] > 1:  # The rest of the count is due to the leaves of a tree.
            iterations = min(iterations, chains[location])
        if iterations < _NOTE_ITERATIONS:
            continue
        yield location, iterations, equations, loop_sizes[location]


def _longest_chain(
    program: ClosedJaxpr, path: Frames, path_cache: dict[Any, tuple[Frames, bool]]
) -> int:
    """Return how many equations of a line are computed from each other, at most.

    That is how many iterations of a loop depend on each other if the line is in the loop.
    """
    depths: dict[Any, int] = {}
    longest, primitive = 0, ""
    for equation in program.jaxpr.eqns:
        inputs = [v for v in equation.invars if not isinstance(v, Literal)]
        depth = max((depths.get(v, 0) for v in inputs), default=0)
        name = equation.primitive.name
        if name not in _SHAPING and _user_frames(equation, path_cache)[0] == path:
            primitive = primitive or name  # A line may have several equations in each iteration.
            depth += name == primitive
        longest = max(longest, depth)
        depths.update(dict.fromkeys(equation.outvars, depth))
    return longest


def _size_of(equation: Any) -> int:
    """Return how many equations an equation stands for, including those of nested sub-jaxprs."""
    parts = jaxpr_utils.sub_jaxprs(equation)
    return 1 + sum(1 for part in parts for _ in jaxpr_utils.all_equations(part))


def _count_iterations(operations: Counter[tuple[str, ...]], spread: int) -> int:
    """Return how often a line ran, judging by how often each primitive occurs.

    Primitives that are `spread` times rarer than the most common one do not count, because they may
    belong to the first iteration.
    """
    counts = [n for operation, n in operations.items() if operation[0] not in _SHAPING]
    highest = max(counts, default=0)
    return min((n for n in counts if spread * n >= highest), default=0)


def _user_frames(equation: Any, path_cache: dict[Any, tuple[Frames, bool]]) -> tuple[Frames, bool]:
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


def _is_tree_mapping(file: str) -> bool:
    return file.endswith(_TREE_FILES) and not is_user_code(file)


def _loop_location(path: Frames) -> CodeLocation | None:
    """Return the line of the loop, or None if the iterations do not come from user code."""
    locations = [
        CodeLocation(file, line, name) for name, file, line, _ in path if is_user_code(file)
    ]
    for location in locations:
        loop = ast_utils.enclosing_loop(location)
        if loop is not None:
            return loop
    if any(_is_tree_mapping(file) for _, file, _, _ in path):
        return None
    lacks_source = not all(ast_utils.parse_file(location.file) for location in locations)
    repeats = any(_REPEATING_CALL.search(location.text) for location in locations)
    if _RECURSION in path or lacks_source or repeats:
        return locations[0]
    return None
