"""The detector `list_args`: lists of numbers as arguments, and arrays built from many pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal
from jax.tree_util import DictKey, SequenceKey

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import CodeLocation, location_of
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator

_JOINS = ("concatenate", "stack")
# The primitives that change the shape or the dtype of an array, but not what it consists of.
_RESHAPES = {"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "transpose", "copy"}
_CONTAINER_KEYS = (SequenceKey, DictKey)
_MAX_IN_LIST, _MAX_IN_ARGUMENT, _MAX_PIECES = 16, 32, 64
_MIN_ALIKE = 8
"""How many numbers must have alike places in an argument, so that one array could replace them."""


@detector
def list_args(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find lists of numbers passed as arguments, and arrays that are assembled from many pieces.

    Each number in a list becomes an input of the program, and each piece becomes an equation, so
    tracing and compilation take longer as the list grows. The detector reports at least 16 numbers
    in one list, 32 numbers in one argument, or 64 pieces in one array. Numbers in different fields
    of objects do not count, because no array can replace them. The detector cannot see lists that
    were converted to an array before the call. JAX has no switch for this.

    >>> from jaxbits import detect
    >>> import jax.numpy as jnp
    >>> found = detect.list_args(lambda xs: jnp.array(xs).sum(), list(range(100)))[0]
    >>> found.message, found.evidence
    ('100 numbers are passed as separate arguments', 'args[0]: 100 inputs instead of 1')
    >>> detect.list_args(lambda xs: xs.sum(), jnp.arange(100))
    []
    """
    for name, is_input, argument in _arguments(target):
        lengths, total = _count_numbers(argument, is_input)
        longest = max(lengths, default=0)
        is_single = _is_number(argument)
        if not is_single and (longest >= _MAX_IN_LIST or total >= _MAX_IN_ARGUMENT):
            yield Finding(
                "warning",
                f"{total} numbers are passed as separate arguments",
                f"{name}: {total} inputs instead of 1",
                "`np.array(...)` before the call",
            )
    program = target.trace.program
    if program is None:
        return
    joins = [e for e in jaxpr_utils.all_equations(program) if e.primitive.name in _JOINS]
    if sum(len(equation.invars) for equation in joins) < _MAX_PIECES:
        return  # Do not look up the lines, because that takes most of the time.
    counted = _Joins()
    counted.run(program, [1] * len(program.jaxpr.invars))
    for location, count in counted.most.most_common(1):
        if count >= _MAX_PIECES:
            equations = sum(1 for _ in jaxpr_utils.all_equations(program))
            yield Finding(
                "warning",
                f"an array is built from {count} pieces",
                f"{equations} equations in the program",
                "work on the whole array, with `jax.vmap` or `lax.scan` where it needs a loop",
                location,
                "list-as-argument",
            )


class _Joins:
    """A count of the pieces that each array of a program is joined from.

    Attributes:
        most: For each line, the largest number of pieces that end up in one array.
    """

    def __init__(self) -> None:
        self.most: Counter[CodeLocation | None] = Counter()

    def run(
        self, program: ClosedJaxpr, inputs: Sequence[int], call: CodeLocation | None = None
    ) -> list[int]:
        """Count the pieces in the results of a jaxpr. An array that nothing joined counts as 1.

        A join inside a library function counts only if it has at least 16 pieces, because then the
        user probably passed a list.

        Args:
            program: The jaxpr.
            inputs: The number of pieces in each of its inputs.
            call: The line that calls the library function to which the jaxpr belongs, if any.
        """
        pieces: dict[Any, int] = dict(zip(program.jaxpr.invars, inputs, strict=True))

        def read(atom: Any) -> int:
            return 1 if isinstance(atom, Literal) else pieces.get(atom, 1)

        for equation in program.jaxpr.eqns:
            name, called = equation.primitive.name, jaxpr_utils.called_jaxpr(equation)
            if name in _JOINS:
                total = sum(map(read, equation.invars))
                location = call or location_of(equation)
                if total >= _MAX_IN_LIST or (location is not None and call is None):
                    self.most[location] = max(total, self.most[location])
                pieces[equation.outvars[0]] = total
            elif name in _RESHAPES:
                pieces[equation.outvars[0]] = read(equation.invars[0])
            for jaxpr in jaxpr_utils.sub_jaxprs(equation):
                is_hidden = call is not None or jaxpr_utils.is_library_jaxpr(jaxpr)
                inner_call = (call or location_of(equation)) if is_hidden else None
                if called is not None and jaxpr.jaxpr is called.jaxpr:
                    results = self.run(jaxpr, list(map(read, equation.invars)), inner_call)
                    pieces.update(zip(equation.outvars, results, strict=False))
                else:
                    self.run(jaxpr, [1] * len(jaxpr.jaxpr.invars), inner_call)
        return list(map(read, program.jaxpr.outvars))


def _is_number(value: Any) -> bool:
    if isinstance(value, (int, float, complex, np.generic)):
        return True
    return isinstance(value, (jax.Array, np.ndarray)) and value.ndim == 0


def _arguments(target: FunctionUnderTest) -> Iterator[tuple[str, list[bool], Any]]:
    """Yield the name of each argument, whether each of its leaves is an input, and its value.

    A leaf is no input if the function's own transformation makes it static.
    """
    arguments = {f"args[{i}]": argument for i, argument in enumerate(target.args)}
    arguments |= {name: target.kwargs[name] for name in sorted(target.kwargs)}
    inputs, start = set(target.trace.traced), 0
    for name, argument in arguments.items():
        stop = start + len(jax.tree.leaves(argument, is_leaf=is_iterator))
        is_traced = target.trace.program is not None
        yield name, [not is_traced or leaf in inputs for leaf in range(start, stop)], argument
        start = stop


def _count_numbers(tree: Any, is_input: list[bool]) -> tuple[list[int], int]:
    """Return how many inputs in each list or tuple are numbers, and how many an array can replace.

    An array can replace numbers whose places differ only in the index or key of a list or a
    dictionary, such as `layers[0].rate` and `layers[1].rate`.
    """
    lengths: Counter[Any] = Counter()
    leaves = jax.tree_util.tree_leaves_with_path(tree, is_leaf=is_iterator)
    numbers = [
        path
        for (path, leaf), flag in zip(leaves, is_input, strict=True)
        if flag and _is_number(leaf)
    ]
    for path in numbers:
        if (
            path
            and all(isinstance(key, _CONTAINER_KEYS) for key in path)
            and isinstance(path[-1], SequenceKey)
        ):
            lengths[path[:-1]] += 1
    alike = Counter(
        tuple("" if isinstance(key, _CONTAINER_KEYS) else str(key) for key in path)
        for path in numbers
    )
    return list(lengths.values()), sum(count for count in alike.values() if count >= _MIN_ALIKE)
