"""Find the arguments that a function returns in an updated form, as a train step does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import is_library_tuple


def carried_leaves(target: FunctionUnderTest) -> set[int]:
    """Return the positions of the leaves that belong to a state that the function returns.

    A state is a container whose tree structure and shapes appear again in the results. An array by
    itself says too little, because many functions return an array of the same shape. The positions
    count the leaves of ``(args, kwargs)``.

    >>> import jax.numpy as jnp
    >>> def step(params, batch):
    ...     return jax.tree.map(lambda p: p - batch.sum(), params), batch.mean()
    >>> params = {"w": jnp.ones(2), "b": jnp.ones(())}
    >>> carried_leaves(FunctionUnderTest(step, (params, jnp.ones(3))))
    {0, 1}
    """
    returned = {(node, shapes) for node, shapes, _ in _parts(target.trace.output_types)}
    return {
        position
        for node, shapes, positions in _argument_parts(target)
        if node.num_nodes > 1 and (node, shapes) in returned
        for position in positions
    }


def library_state_inputs(target: FunctionUnderTest) -> set[int]:
    """Return the positions of the program's inputs that belong to the state of a library.

    An example is the state of an Optax optimizer. A library stores such a state in its own named
    tuples, and the function returns them updated. The caller passes them on unchanged, so nobody
    differentiates with respect to them.
    """
    returned = {_node_type(node) for node, _, _ in _parts(target.trace.output_types)}
    input_at = {leaf: number for number, leaf in enumerate(target.trace.traced)}
    found: set[int] = set()
    for node, _, positions in _argument_parts(target):
        kind = _node_type(node)
        if kind in returned and is_library_tuple(kind):
            found |= {input_at[n] for n in positions if n in input_at}
    return found


def library_state_constants(target: FunctionUnderTest) -> list[Any]:
    """Return the arrays of a library's state that the function replaces in its Python state.

    An example is the state of an Optax optimizer that a method keeps in an attribute of `self`. In
    the program, such arrays are constants.
    """
    found: list[Any] = []
    for change in target.trace.log.changes:
        value = change.reference.get()  # The old value, because tracing restored it.
        leaves = jax.tree.leaves(value, is_leaf=is_iterator)
        for node, _, positions in _parts(value):
            if is_library_tuple(_node_type(node)):
                found += (leaves[n] for n in positions)
    return found


def _argument_parts(target: FunctionUnderTest) -> Iterator[tuple[Any, tuple[Any, ...], range]]:
    """Yield what `_parts` yields for each argument, in the order in which JAX flattens them."""
    start = 0
    for argument in (*target.args, *(target.kwargs[name] for name in sorted(target.kwargs))):
        positions = range(0)
        for node, shapes, positions in reversed(list(_parts(argument))):
            yield node, shapes, range(start + positions.start, start + positions.stop)
        start += positions.stop  # The whole argument comes last.


def _parts(value: Any) -> Iterator[tuple[Any, tuple[Any, ...], range]]:
    """Yield the structure of each part of a tree, the shapes of its leaves, and their positions."""
    leaves, tree = jax.tree.flatten(value, is_leaf=is_iterator)
    shapes = [getattr(leaf, "shape", ()) for leaf in leaves]
    for node, start in _subtrees(tree):
        stop = start + node.num_leaves
        yield node, tuple(shapes[start:stop]), range(start, stop)


def _subtrees(tree: Any, start: int = 0) -> Iterator[tuple[Any, int]]:
    """Yield each node of a tree structure, parents first, with the position of its first leaf."""
    yield tree, start
    for child in tree.children():
        yield from _subtrees(child, start)
        start += child.num_leaves


def _node_type(node: Any) -> Any:
    data = node.node_data()
    return None if data is None else data[0]
