"""Build the nodes of a pytree, and compute their positions in a tree diagram."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np


@dataclass
class Node:
    """A node in a drawing of a pytree, with its key, text, kind, children, and position."""

    key: str
    text: str
    kind: str
    below: list[Node] = field(default_factory=list)
    x: float = 0.0
    y: int = 0


def build_tree(tree: Any, key: str = "") -> Node:
    """Flatten a pytree level by level with JAX, and return its top node.

    Args:
        tree: Any pytree.
        key: This pytree's key in its parent.

    >>> top = build_tree({"w": 1.0, "b": None})
    >>> [(n.key, n.kind) for n in top.below]
    [("['b']", 'none'), ("['w']", 'leaf')]
    """
    if tree is None:
        return Node(key, "None", "none")
    leaves = jax.tree.leaves(tree)
    if len(leaves) == 1 and leaves[0] is tree:
        text = str(tuple(np.shape(tree))) if isinstance(tree, jax.Array) else type(tree).__name__
        return Node(key, text, "leaf")
    level, _ = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda part: part is not tree)
    below = [build_tree(part, jax.tree_util.keystr(path)) for path, part in level]
    return Node(key, type(tree).__name__, "node", below)


def place_nodes(node: Node, free: list[float], depth: int = 0) -> None:
    """Set the positions of a node and its descendants, with leaves side by side.

    Args:
        node: The root of the subtree.
        free: A list that holds the next free x position, which the function updates.
        depth: The y position of the node.
    """
    node.y = depth
    for child in node.below:
        place_nodes(child, free, depth + 1)
    if node.below:
        node.x = sum(child.x for child in node.below) / len(node.below)
    else:
        node.x = free[0]
        free[0] += 1.0


def depths(node: Node) -> list[int]:
    """Return the y positions of a node and its descendants."""
    return [node.y, *(depth for child in node.below for depth in depths(child))]
