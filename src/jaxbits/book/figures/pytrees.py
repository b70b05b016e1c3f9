"""Figures of chapter 13: a tree and its leaves, what vmap maps over, which device holds what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LANE_COLORS = (
    style.PALE_BLUE,
    style.PALE_ORANGE,
    style.PALE_GREEN,
    style.PALE_PURPLE,
    style.PALE_RED,
)


@dataclass
class Node:
    """A place in a tree: how one gets there, what is there, and what hangs below it."""

    key: str
    text: str
    kind: str
    below: list[Node] = field(default_factory=list)
    x: float = 0.0
    y: int = 0


def build_tree(tree: Any, key: str = "") -> Node:
    """Take a tree apart as JAX does, level by level.

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


def _place(node: Node, free: list[float], depth: int = 0) -> None:
    node.y = depth
    for child in node.below:
        _place(child, free, depth + 1)
    if node.below:
        node.x = sum(child.x for child in node.below) / len(node.below)
    else:
        node.x = free[0]
        free[0] += 1.0


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
            fontsize=9.5,
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
    """Draw a tree as JAX takes it apart: nodes grey, leaves green, None dashed.

    Args:
        tree: any pytree; a leaf that is an array is named by its shape, others by their type.
    """
    top = build_tree(tree)
    free = [0.0]
    _place(top, free)
    said: list[str] = []
    deepest = max(_depths(top))
    fig, axes = style.figure(6, 0.95 * deepest + 1.0)
    style.blank(axes)
    _draw_node(axes, top, said)
    axes.set_xlim(-0.6, free[0] - 0.4)
    axes.set_ylim(-deepest - 0.35, 0.35)
    axes.set_title(f"{len(jax.tree.leaves(tree))} leaves, in green")
    return fig, "A tree. " + "; ".join(said) + "."


def _depths(node: Node) -> list[int]:
    return [node.y, *(depth for child in node.below for depth in _depths(child))]


def lane_numbers(shape: tuple[int, ...], axis: int | None, size: int) -> np.ndarray[Any, Any]:
    """Return, for each element of an array, the one call of a mapped function that sees it.

    -1 stands for an element that all calls see. Found by mapping over the elements' numbers.

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
                    facecolor=style.FILL if lane < 0 else LANE_COLORS[lane],
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
    """Draw which call of a mapped function sees which element, and where its results go.

    Above, a 4 × 3 array goes in, by `in_axes`; below, four results of length 3 come out, by
    `out_axes`. Each is found by mapping over numbers.
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
        said.append(f"in_axes={axis}: {part}, rows of calls {lanes.tolist()}")
    for place, out_axis in enumerate((0, 1)):
        left = place * 3.6
        out = jax.vmap(lambda i: jnp.full(3, i), out_axes=out_axis)(jnp.arange(4))
        _grid(axes, left, -5.4, np.asarray(out))
        axes.text(left, -4.55, f"out_axes={out_axis}", fontsize=11, fontweight="bold")
        axes.text(left, -5.15, f"result {tuple(out.shape)}", fontsize=10, color=style.MUTED)
        said.append(f"out_axes={out_axis}: shape {tuple(out.shape)}")
    axes.text(7.2, -6.1, "the number in a cell:\nwhich call sees it,\nor made it", fontsize=10,
              color=style.MUTED, va="top")  # fmt: skip
    axes.set_xlim(-0.1, 10.6)
    axes.set_ylim(-8.8, 1.4)
    return fig, "What each call of a mapped function sees. " + "; ".join(said) + "."


def _ranges(numbers: Sequence[int]) -> str:
    """Write numbers in order, a run of three or more as its ends.

    >>> _ranges([0, 1, 2, 5])
    '0–2, 5'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(
        f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )


Held = Mapping[Any, Sequence[Sequence[int]]]
"""For each device the rows and the columns it holds, each as (start, stop)."""


@style.drawing
def device_layout(
    layouts: Mapping[str, Held], processes: Mapping[Any, int] | None = None
) -> tuple[Figure, str]:
    """Draw which device holds which part of a table, for one layout or several.

    Args:
        layouts: for each title the parts; devices may be given as numbers or as text.
        processes: for each device the process it belongs to; then colours stand for processes.
    """
    from matplotlib.patches import Rectangle

    fig, axes = style.figure(6, 4.2)
    style.blank(axes)
    said = []
    left = 0.0
    tallest = 0
    for title, held in layouts.items():
        together: dict[tuple[tuple[int, ...], ...], list[int]] = {}
        for device, part in held.items():
            together.setdefault(tuple(map(tuple, part)), []).append(int(device))
        rows = max(part[0][1] for part in together)
        columns = max(part[1][1] for part in together)
        tallest = max(tallest, rows)
        for number, (part, devices) in enumerate(sorted(together.items())):
            (top, bottom), (start, stop) = part
            owner = number if processes is None else _process(processes, devices[0])
            axes.add_patch(
                Rectangle(
                    (left + start, -bottom),
                    stop - start,
                    bottom - top,
                    facecolor=LANE_COLORS[owner % len(LANE_COLORS)],
                    edgecolor=style.INK,
                    linewidth=1.2,
                )
            )
            label = _ranges(devices)
            if len(label) > 4 * (stop - start):
                label = label.replace(", ", ",\n")
            axes.text(
                left + (start + stop) / 2,
                -(top + bottom) / 2,
                label,
                ha="center",
                va="center",
                fontsize=11,
                bbox={
                    "facecolor": LANE_COLORS[owner % len(LANE_COLORS)],
                    "edgecolor": "none",
                    "pad": 1,
                },
            )
            who = f"device {_ranges(devices)}"
            said.append(f"{title}: {who} rows {top} to {bottom - 1}, columns {start} to {stop - 1}")
        for row in range(1, rows):
            axes.plot([left, left + columns], [-row] * 2, color=style.LINE, linewidth=0.5, zorder=1)
        axes.text(left, 0.3, title, fontsize=10, fontweight="bold")
        left += columns + 1.0
    if processes is not None:
        for process in sorted(set(processes.values())):
            mine = [int(device) for device, owner in processes.items() if owner == process]
            y = -0.7 - 1.2 * process
            axes.add_patch(
                Rectangle(
                    (left, y - 0.35), 0.6, 0.7, facecolor=LANE_COLORS[process % len(LANE_COLORS)]
                )
            )
            axes.text(left + 0.8, y, f"process {process}", fontsize=10, va="center")
            said.append(f"process {process} has the devices {_ranges(mine)}")
        left += 3.4
    axes.set_xlim(-0.1, left)
    axes.set_ylim(-tallest - 0.1, 1.0)
    axes.set_title("The number of the device that holds each part")
    return fig, "A table cut into parts. " + "; ".join(said) + "."


def _process(processes: Mapping[Any, int], device: int) -> int:
    return processes[device] if device in processes else processes[str(device)]
