"""Recognize arrays that a program rearranges in the same random order, such as data and labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from jaxbits._analysis.computations import Computation, Computations
from jaxbits._analysis.key_values import KeyUse
from jaxbits._analysis.shared_numbers import SharedNumbers


def find_aligned_arrays(
    use: KeyUse, other: KeyUse, computations: Computations
) -> SharedNumbers | None:
    """Return where two uses of a key rearrange different arrays in one order, or None.

    An order is either the keys of a sort, as in `jax.random.permutation`, or an array of indices.
    If both uses select from the same array, the program gets equal samples, so this is a mistake.

    Args:
        use: A use of a key.
        other: Another use of the same key, with an equal result.
        computations: How the program computes its values.
    """
    if not use.frames or not other.frames:
        return None
    one = _arrays_by_order(use, other, computations)
    two = _arrays_by_order(other, use, computations)
    orders = one.keys() & two.keys()
    separate = [order for order in orders if not one[order] & two[order]]
    selections = [order for order in orders if one[order] & two[order]]
    if not separate or any(order[0] == "select" for order in selections):
        return None
    return SharedNumbers("aligned", (use.frames[0], other.frames[0]))


def _arrays_by_order(
    use: KeyUse, other: KeyUse, computations: Computations
) -> dict[tuple[str, Hashable], set[Hashable]]:
    """Return the arrays that a use of a key rearranges, by how and by the order.

    An index that depends on the other use as well is data and not an order. For example, a training
    loop that shuffles its data updates its parameters with them, and may then choose by these
    parameters what to read.
    """
    found: dict[tuple[str, Hashable], set[Hashable]] = {}
    for computation in computations.depending_on(use):
        for how, order, array in _rearranged(computation, use, other):
            found.setdefault((how, order), set()).add(array)
    return found


def _rearranged(
    computation: Computation, use: KeyUse, other: KeyUse
) -> Iterator[tuple[str, Hashable, Hashable]]:
    """Yield how an equation rearranges arrays, the order, and the arrays."""
    operands, equation = computation.operands, computation.equation
    if computation.name == "sort" and len(operands) > equation.params["num_keys"] == 1:
        if use.number in operands[0].uses:
            yield from (("sort", operands[0].number, value.number) for value in operands[1:])
    elif computation.name == "gather" and use.number in operands[1].uses:
        has_many_indices = len(equation.invars[1].aval.shape) > 1
        is_order = has_many_indices and other.number not in operands[1].uses
        if is_order and use.number not in operands[0].uses:
            yield "select", operands[1].number, operands[0].number
