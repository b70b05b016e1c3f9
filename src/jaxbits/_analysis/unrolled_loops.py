"""Count the iterations of the Python loops that tracing has unrolled into a program."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.loop_frames import Frames, loops_around, maps_tree, user_frames

MIN_ITERATIONS = 12
"""The number of iterations that count as a loop."""
_MIN_LEAVES = 100
"""The same number if the iterations may be the leaves of a tree."""
_Place = tuple[str, int]
"""The file and the line of a loop."""
_SHAPING = {"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "copy", "copy_p"}


class _Line:
    """The equations that come from one path of frames.

    Attributes:
        operations: How often each operation occurs.
        shaped: The same, but results of different shapes count as different operations.
        size: The number of equations, including those of nested sub-jaxprs.
        is_foreign: Whether a library other than JAX lies in between.
    """

    def __init__(self, is_foreign: bool) -> None:
        self.operations: Counter[tuple[str, ...]] = Counter()
        self.shaped: Counter[tuple[str, ...]] = Counter()
        self.size, self.is_foreign = 0, is_foreign

    def add(self, equation: Any) -> None:
        """Count an equation."""
        dimensions = str(equation.params.get("dimension_numbers", ""))
        operation = (equation.primitive.name, _jax_compat.name_stack(equation), dimensions)
        name = str(equation.params.get("name", ""))
        shapes = str([getattr(variable.aval, "shape", ()) for variable in equation.outvars])
        self.operations[operation] += 1
        self.shaped[(*operation, name, shapes)] += 1
        self.size += size_of(equation)

    @property
    def count(self) -> int:
        """How often the line ran."""
        return _count_iterations(self.operations, 1 << 30 if self.is_foreign else 6)


class UnrolledLoop(NamedTuple):
    """An unrolled Python loop.

    If the loop contains another one with few iterations, its equations include those of that loop.

    Attributes:
        location: The line of the loop.
        iterations: The number of its iterations, or of those of all loops around its body.
        is_nested: Whether other loops are around it.
        equations: The number of equations that come from its body.
        size: The same, including those in the functions that the body calls.
    """

    location: CodeLocation
    iterations: int
    is_nested: bool
    equations: int
    size: int


def find_unrolled_loops(
    program: ClosedJaxpr, path_cache: dict[Any, tuple[Frames, bool]]
) -> list[UnrolledLoop]:
    """Return the loops that tracing has unrolled into a program, largest first.

    Args:
        program: The program, without those that it calls.
        path_cache: The frames of the equations that were looked up before.
    """
    lines: dict[Frames, _Line] = {}
    for equation in program.jaxpr.eqns:
        path, is_foreign = user_frames(equation, path_cache)
        if path:
            lines.setdefault(path, _Line(is_foreign)).add(equation)
    bodies: dict[CodeLocation, list[Frames]] = defaultdict(list)
    for path, line in lines.items():
        if line.count >= (_MIN_LEAVES if maps_tree(path) else MIN_ITERATIONS):
            innermost = next(loops_around(path), None)
            if innermost is not None:
                bodies[innermost].append(path)
    equations = {
        location: sum(lines[path].operations.total() for path in paths)
        for location, paths in bodies.items()
    }
    found: dict[_Place, UnrolledLoop] = {}
    loops_outside: dict[_Place, list[_Place]] = {}
    for location in sorted(bodies, key=lambda location: -equations[location]):
        paths, total = bodies[location], equations[location]
        outer = list(loops_around(paths[0]))[1:]
        # A line that runs several times in an iteration has its own count, so take the most common.
        counts = Counter(lines[path].count for path in paths)
        iterations = max(counts, key=lambda count: (counts[count], count))
        chain = 0
        for path in filter(maps_tree, paths):
            chain = chain if chain > 1 else _longest_chain(program, path, path_cache)
        if chain > 1:  # The rest of the count is due to the leaves of a tree.
            iterations = min(iterations, chain)
        elif outer and 2 * (alike := _count_alike(location, iterations, lines)) < iterations:
            # The body of the inner loop differs, so only an outer loop repeats the same operations.
            location, iterations, outer = outer[0], alike, outer[1:]
        if iterations >= MIN_ITERATIONS:
            size = sum(lines[path].size for path in paths)
            is_nested = bool(outer) and chain <= 1
            loop = UnrolledLoop(location, iterations, is_nested, total, size)
            found.setdefault(_place(location), loop)
            places = [_place(other) for other in outer] if is_nested else []
            loops_outside.setdefault(_place(location), places)
    return _merge_short_loops(found, loops_outside)


def _place(location: CodeLocation) -> _Place:
    return location.file, location.line


def _merge_short_loops(
    found: dict[_Place, UnrolledLoop], loops_outside: Mapping[_Place, list[_Place]]
) -> list[UnrolledLoop]:
    """Return the loops without those that have few iterations in each iteration of another one.

    Their equations count for the other loop, because a JAX loop in its place contains them.

    Args:
        found: The loops by their lines.
        loops_outside: The lines of the loops around each of them, innermost first.
    """
    for place in sorted(found, key=lambda place: -len(loops_outside[place])):
        around = next((other for other in loops_outside[place] if other in found), None)
        if around is None:
            continue
        inner, outer = found[place], found[around]
        if inner.iterations < MIN_ITERATIONS * outer.iterations:
            equations, size = outer.equations + inner.equations, outer.size + inner.size
            found[around] = outer._replace(equations=equations, size=size)
            del found[place]
    return sorted(found.values(), key=lambda loop: -loop.equations)


def _count_alike(location: CodeLocation, iterations: int, lines: Mapping[Frames, _Line]) -> int:
    """Return how many iterations of a loop have the same operations on arrays of the same shapes.

    Args:
        location: The line of the loop.
        iterations: The number of its iterations, including those of the loops around it.
        lines: The equations of the program by the frames that they come from.
    """
    alike, place = iterations, (location.file, location.line)
    for path, line in lines.items():
        if line.is_foreign or maps_tree(path) or not any(f[1] == location.file for f in path):
            continue
        counts = _counts(line.shaped)
        # Each iteration applies one of several operations, such as those in a list of functions.
        is_chosen = line.count < iterations == sum(counts)
        if is_chosen or line.count == iterations:
            innermost = next(loops_around(path), None)
            if innermost is not None and (innermost.file, innermost.line) == place:
                rarest = max(counts) if is_chosen else _count_iterations(line.shaped, 6)
                alike = min(alike, rarest)
    return alike


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
        if name not in _SHAPING and user_frames(equation, path_cache)[0] == path:
            primitive = primitive or name  # A line may have several equations in each iteration.
            depth += name == primitive
        longest = max(longest, depth)
        depths.update(dict.fromkeys(equation.outvars, depth))
    return longest


def size_of(equation: Any) -> int:
    """Return how many equations an equation stands for, including those of nested sub-jaxprs."""
    parts = jaxpr_utils.sub_jaxprs(equation)
    return 1 + sum(1 for part in parts for _ in jaxpr_utils.all_equations(part))


def _count_iterations(operations: Counter[tuple[str, ...]], spread: int) -> int:
    """Return how often a line ran, judging by how often each primitive occurs.

    Primitives that are `spread` times rarer than the most common one do not count, because they may
    belong to the first iteration.
    """
    counts = _counts(operations)
    highest = max(counts, default=0)
    return min((n for n in counts if spread * n >= highest), default=0)


def _counts(operations: Counter[tuple[str, ...]]) -> list[int]:
    """Return how often each operation occurs, without those that only change shapes."""
    return [n for operation, n in operations.items() if operation[0] not in _SHAPING]
