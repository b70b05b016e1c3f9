"""Figures for chapter 06: a tree of keys, draws from one key, and dropout masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import jax
import numpy as np

from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Family = Mapping[str, tuple[jax.Array, str]]
"""A dict of named keys, each with the name of its parent, or an empty string for the root."""


def group_equal_keys(keys: Family) -> list[list[str]]:
    """Return groups of the names of equal keys, in the given order.

    >>> root = jax.random.key(0)
    >>> left, right = jax.random.split(root)
    >>> again = jax.random.fold_in(root, 0)
    >>> group_equal_keys({"root": (root, ""), "l": (left, "root"), "f": (again, "root")})
    [['root'], ['l', 'f']]
    """
    groups: dict[bytes, list[str]] = {}
    for name, (key, _) in keys.items():
        data = np.asarray(jax.random.key_data(key))
        groups.setdefault(data.tobytes(), []).append(name)
    return list(groups.values())


def _levels(groups: list[list[str]], keys: Family) -> list[list[list[str]]]:
    depth: dict[str, int] = {}
    for name, (_, parent) in keys.items():
        depth[name] = depth[parent] + 1 if parent else 0
    rows: list[list[list[str]]] = [[] for _ in range(max(depth.values()) + 1)]
    for group in groups:
        rows[max(depth[name] for name in group)].append(group)
    return rows


def _node(axes: Axes, x: float, y: float, names: list[str], width: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    twice = len(names) > 1
    height = 0.3 * len(names) + 0.22
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.1",
            facecolor=style.PALE_RED if twice else style.FILL,
            edgecolor=style.RED if twice else style.LINE,
            linewidth=2.2 if twice else 1.2,
        )
    )
    for i, name in enumerate(names):
        axes.text(
            x,
            y - 0.26 - 0.3 * i,
            name,
            ha="center",
            va="center",
            fontsize=10,
            color=style.RED if twice else style.INK,
            fontweight="bold" if twice else "normal",
        )


@style.drawing
def key_tree(keys: Family, title: str) -> tuple[Figure, str]:
    """Draw a tree of keys, in which equal keys share a red box.

    Args:
        keys: The keys and the names of their parents. A parent comes before its children.
        title: The title of the figure.
    """
    groups = group_equal_keys(keys)
    rows = _levels(groups, keys)
    tallest = [max(len(group) for group in row) for row in rows]
    fig, axes = style.figure(6, 0.75 + 0.55 * len(rows) + 0.27 * sum(tallest))
    style.blank(axes)
    place: dict[str, tuple[float, float]] = {}
    y = 0.0
    for row, tall in zip(rows, tallest, strict=True):
        for i, group in enumerate(row):
            x = 9.6 * (i + 0.5) / len(row)
            place.update(dict.fromkeys(group, (x, y)))
        y -= 0.3 * tall + 0.95
    colors = dict.fromkeys(keys, style.MUTED)
    for group in groups:
        if len(group) > 1:
            colors.update(dict.fromkeys(group, style.RED))
    for group in groups:
        for i, name in enumerate(group):
            parent = keys[name][1]
            if parent:
                (x0, y0), (x1, y1) = place[parent], place[name]
                beside = (i - (len(group) - 1) / 2) * 0.5
                low = y0 - 0.22 - 0.3 * len(next(g for g in groups if parent in g))
                look = {"arrowstyle": "-|>", "color": colors[name], "linewidth": 1.5}
                axes.annotate("", (x1 + beside, y1), (x0 + beside / 2, low), arrowprops=look)
    for row in rows:
        width = min(3.1, 9.6 / len(row) - 0.25)
        for group in row:
            _node(axes, *place[group[0]], group, width)
    axes.set_title(title)
    axes.set_xlim(-0.05, 9.65)
    axes.set_ylim(y + 0.65, 0.1)
    shared = [" and ".join(group) for group in groups if len(group) > 1]
    made = "; ".join(f"{n} from {p}" for n, (_, p) in keys.items() if p)
    alt = f"{title}. A tree shows where each key comes from: {made}. "
    alt += f"Equal keys: {', '.join(shared)}." if shared else "All keys differ."
    return fig, alt


@style.drawing
def draws_from_one_key(count: int = 400) -> tuple[Figure, str]:
    """Plot uniform samples against normal ones, drawn from the same key and from two keys."""
    fig, left = style.figure(6, 3.1)
    fig.clear()
    left, right = fig.subplots(1, 2, sharey=True)
    key = jax.random.key(0)
    pairs = ((left, "one key", (key, key)), (right, "two keys", tuple(jax.random.split(key))))
    said = []
    for (axes, title, (one, other)), color in zip(pairs, (style.RED, style.BLUE), strict=True):
        x = np.asarray(jax.random.normal(one, (count,)))
        y = np.asarray(jax.random.uniform(other, (count,)))
        axes.plot(x, y, ".", color=color, markersize=4)
        r = np.corrcoef(x, y)[0, 1]
        axes.set_title(f"{title}: r = {r:.2f}".replace("-", "−"))
        names = ("key", "key") if one is other else ("a", "b")
        axes.set_xlabel(f"normal({names[0]})")
        axes.set_ylabel(f"uniform({names[1]})")
        axes.set_xlim(-3.6, 3.6)
        said.append(f"{r:.2f} with {title}")
    shape = "With one key, the points form an S-shaped curve. With two keys, they fill the square."
    return fig, (
        f"{count} normal numbers plotted against uniform numbers. The correlation is "
        f"{' and '.join(said)}. {shape}"
    )


@style.drawing
def dropout_masks(masks: Mapping[str, np.ndarray]) -> tuple[Figure, str]:
    """Show which units dropout keeps in each step, for several ways of passing a key.

    Args:
        masks: For each way of passing a key, the mask of each step, bool[steps, units].
    """
    fig, _ = style.figure(6, 0.8 + 1.75 * len(masks))
    fig.clear()
    parts = fig.subplots(len(masks), 1, squeeze=False)[:, 0]
    said = []
    for axes, (way, mask) in zip(parts, masks.items(), strict=True):
        steps, units = mask.shape
        never = ~mask.any(axis=0)
        for step in range(steps):
            kept = np.flatnonzero(mask[step])
            axes.plot(kept, [step] * len(kept), "s", color=style.BLUE, markersize=5)
        bare = np.flatnonzero(never)
        axes.vlines(bare, -0.4, steps - 0.6, color=style.RED, linewidth=5, alpha=0.25)
        axes.set_title(f"{way}: {never.sum()} of {units} units never kept")
        axes.set_ylabel("step")
        axes.set_yticks(range(0, steps, 2))
        axes.set_ylim(steps - 0.4, -0.6)
        axes.set_xlim(-0.7, units - 0.3)
        axes.grid(False)
        alike = "all steps are equal" if (mask == mask[0]).all() else "the steps differ"
        count = never.sum()
        said.append(f"With {way}, {count} of {units} units are never kept, and {alike}.")
    parts[-1].set_xlabel("unit")
    return fig, f"The units that dropout keeps in each of {steps} steps. {' '.join(said)}"
