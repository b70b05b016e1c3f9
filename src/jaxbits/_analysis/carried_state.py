"""Find the arguments that a function returns in an updated form, as a train step does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from jaxbits._analysis.copying import PYTHON_NUMBERS, is_array
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
    trace = target.trace
    if trace.output_tree is None or trace.program is None:
        return set()
    shapes = [aval.shape for aval in trace.program.out_avals]
    returned = {
        (node, tuple(shapes[start : start + node.num_leaves]))
        for node, start in _subtrees(trace.output_tree)
    }
    leaves, tree = _flatten(target)
    shapes_in = [getattr(leaf, "shape", ()) for leaf in leaves]
    found: set[int] = set()
    for node, start in _arguments(tree):
        for part, first in _subtrees(node, start):
            positions = range(first, first + part.num_leaves)
            is_container = not jax.tree_util.treedef_is_leaf(part)
            if is_container and (part, tuple(shapes_in[n] for n in positions)) in returned:
                found |= {*positions}
    return found


def library_state_inputs(target: FunctionUnderTest) -> set[int]:
    """Return the positions of the program's inputs that belong to the state of a library.

    An example is the state of an Optax optimizer. A library stores such a state in its own named
    tuples, and the function returns them updated. The caller passes them on unchanged, so nobody
    differentiates with respect to them.
    """
    tree = target.trace.output_tree
    if tree is None:
        return set()
    returned = {_node_type(node) for node, _ in _subtrees(tree)}
    leaves, tree = _flatten(target)
    static_types = () if target.trace.strict_error is None else PYTHON_NUMBERS
    is_traced = [is_array(v) and not isinstance(v, static_types) for v in leaves]
    input_at = {leaf: n for n, leaf in enumerate(np.flatnonzero(is_traced).tolist())}
    found: set[int] = set()
    for node, start in _subtrees(tree):
        kind = _node_type(node)
        if kind in returned and is_library_tuple(kind):
            found |= {input_at[n] for n in range(start, start + node.num_leaves) if n in input_at}
    return found


def _flatten(target: FunctionUnderTest) -> tuple[list[Any], Any]:
    leaves, tree = jax.tree.flatten((target.args, target.kwargs), is_leaf=is_iterator)
    return leaves, tree


def _arguments(tree: Any) -> Iterator[tuple[Any, int]]:
    """Yield the structure of each argument, with the position of its first leaf."""
    start = 0
    for group in tree.children():
        for argument in group.children():
            yield argument, start
            start += argument.num_leaves


def _subtrees(tree: Any, start: int = 0) -> Iterator[tuple[Any, int]]:
    """Yield each node of a tree structure, parents first, with the position of its first leaf."""
    yield tree, start
    for child in tree.children():
        yield from _subtrees(child, start)
        start += child.num_leaves


def _node_type(node: Any) -> Any:
    data = node.node_data()
    return None if data is None else data[0]
