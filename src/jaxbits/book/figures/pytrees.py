"""Figures for chapter 13: a pytree with its leaves, and mapped axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book.figures import style
from jaxbits.book.figures.pytree_nodes import Node, build_tree, depths, place_nodes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LOOKS = {
    "node": (style.FILL, style.INK, "-"),
    "leaf": (style.PALE_GREEN, style.INK, "-"),
    "none": (style.PAPER, style.RED, "--"),
}


def _draw_node(axes: Axes, node: Node, said: list[str]) -> None:
    ground, ink, line = _LOOKS[node.kind]
    for child in node.below:
        axes.plot([node.x, child.x], [-node.y, -child.y], color=style.LINE, linewidth=1.4, zorder=1)
        axes.text(
            (node.x + child.x) / 2,
            -(node.y + child.y) / 2,
            child.key,
            ha="center",
            va="center",
            fontsize=10,
            color=style.MUTED,
            zorder=2,
            bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 1},
        )
        _draw_node(axes, child, said)
    edge = style.RED if node.kind == "none" else style.LINE
    axes.text(
        node.x,
        -node.y,
        node.text,
        ha="center",
        va="center",
        fontsize=10.5,
        color=ink,
        zorder=3,
        bbox={
            "boxstyle": "round,pad=0.35",
            "facecolor": ground,
            "edgecolor": edge,
            "linestyle": line,
        },
    )
    what = {"node": "a node", "leaf": "a leaf", "none": "a node without leaves"}[node.kind]
    said.append(f"{node.key or 'top'}: {node.text}, {what}")


@style.drawing
def tree_diagram(tree: Any) -> tuple[Figure, str]:
    """Draw a pytree with its nodes in gray, its leaves in green, and None with a dashed border.

    Args:
        tree: Any pytree. Arrays are labeled with their shape, and other leaves with their type.
    """
    top = build_tree(tree)
    free = [0.0]
    place_nodes(top, free)
    said: list[str] = []
    deepest = max(depths(top))
    fig, axes = style.figure(6, 0.95 * deepest + 1.0)
    style.blank(axes)
    _draw_node(axes, top, said)
    axes.set_xlim(-0.6, free[0] - 0.4)
    axes.set_ylim(-deepest - 0.35, 0.35)
    axes.set_title(f"A pytree with {len(jax.tree.leaves(tree))} leaves (green)")
    return fig, "A tree diagram of a pytree. " + "; ".join(said) + "."


def lane_numbers(shape: tuple[int, ...], axis: int | None, size: int) -> np.ndarray[Any, Any]:
    """Return, for each element, the lane of a mapped function that reads it, or -1 if all lanes do.

    The function finds the lanes by mapping over an array of element numbers.

    Args:
        shape: The shape of the array.
        axis: The mapped axis, as in `in_axes`.
        size: The number of lanes.

    >>> lane_numbers((2, 3), 1, 3).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    numbers = jnp.arange(int(np.prod(shape))).reshape(shape)
    seen = jax.vmap(lambda part, _: part, in_axes=(axis, 0))(numbers, jnp.arange(size))
    lanes = np.full(numbers.size, -2)
    for lane, part in enumerate(seen):
        for number in np.ravel(part):
            lanes[number] = lane if lanes[number] == -2 else -1
    return lanes.reshape(shape)


def _grid(axes: Axes, left: float, top: float, lanes: np.ndarray[Any, Any]) -> None:
    from matplotlib.patches import Rectangle

    rows, columns = lanes.shape
    for row in range(rows):
        for column in range(columns):
            lane = int(lanes[row, column])
            axes.add_patch(
                Rectangle(
                    (left + column * 0.8, top - (row + 1) * 0.8),
                    0.8,
                    0.8,
                    facecolor=style.FILL if lane < 0 else style.PALE_COLORS[lane],
                    edgecolor=style.LINE,
                )
            )
            axes.text(
                left + (column + 0.5) * 0.8,
                top - (row + 0.5) * 0.8,
                "all" if lane < 0 else str(lane),
                ha="center",
                va="center",
                fontsize=10,
            )


@style.drawing
def vmap_axes() -> tuple[Figure, str]:
    """Show which lane of a mapped function reads each element and where each lane's results go.

    The top row shows a 4 × 3 array for several `in_axes`, and the bottom row shows four results of
    length 3 for several `out_axes`. The function computes both by mapping over numbered elements.
    """
    fig, axes = style.figure(6, 5.4)
    style.blank(axes)
    said = []
    ways: list[tuple[int | None, int]] = [(0, 4), (1, 3), (None, 4)]
    for place, (axis, size) in enumerate(ways):
        left = place * 3.6
        lanes = lane_numbers((4, 3), axis, size)
        _grid(axes, left, 0.0, lanes)
        part = "the whole (4, 3)" if axis is None else f"{size} calls, each (3,)"
        if axis == 1:
            part = f"{size} calls, each (4,)"
        axes.text(left, 0.85, f"in_axes={axis}", fontsize=11, fontweight="bold")
        axes.text(left, 0.25, part, fontsize=10, color=style.MUTED)
        said.append(
            f"in_axes={axis}: {part}; the call that reads each element is "
            + str(np.where(lanes < 0, "all", lanes.astype(str)).tolist()).replace("'", "")
        )
    for place, out_axis in enumerate((0, 1)):
        left = place * 3.6
        out = jax.vmap(lambda i: jnp.full(3, i), out_axes=out_axis)(jnp.arange(4))
        _grid(axes, left, -5.4, np.asarray(out))
        axes.text(left, -4.55, f"out_axes={out_axis}", fontsize=11, fontweight="bold")
        axes.text(left, -5.15, f"result {tuple(out.shape)}", fontsize=10, color=style.MUTED)
        said.append(
            f"out_axes={out_axis}: the result has the shape {tuple(out.shape)}; the call that "
            f"computes each element is {np.asarray(out).tolist()}"
        )
    axes.text(7.2, -6.1, "Each cell contains\nthe number of the call\nthat reads the element\n"
              "or computes it.", fontsize=10, color=style.MUTED, va="top")  # fmt: skip
    axes.set_xlim(-0.1, 10.6)
    axes.set_ylim(-8.8, 1.4)
    return fig, "The elements that each call of a mapped function uses. " + "; ".join(said) + "."
