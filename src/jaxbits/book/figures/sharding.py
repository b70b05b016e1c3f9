"""Figures for chapter 19: which device holds which part of an array."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxbits.book.figures import style

if TYPE_CHECKING:
    import jax
    from matplotlib.figure import Figure


def _ranges(numbers: Sequence[int]) -> str:
    """Format numbers in ascending order, with three or more consecutive numbers as a range.

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
"""A dict that maps each device to the (start, stop) pairs of the rows and columns it holds."""


def shard_ranges(array: jax.Array) -> dict[int, list[tuple[int, int]]]:
    """Return which part of an array each device of this process holds.

    Args:
        array: A sharded array.

    Returns:
        A dict that maps the number of each device to a (start, stop) pair for each axis.

    >>> import jax.numpy as jnp
    >>> list(shard_ranges(jnp.ones((8, 2))).values())
    [[(0, 8), (0, 2)]]
    """
    return {
        shard.device.id: [
            part.indices(size)[:2] for part, size in zip(shard.index, array.shape, strict=True)
        ]
        for shard in array.addressable_shards
    }


def put_with_each_spec(
    array: jax.Array, mesh: jax.sharding.Mesh, specs: Sequence[jax.sharding.PartitionSpec]
) -> dict[str, jax.Array]:
    """Shard an array over a mesh in several ways, for `device_layout`.

    Args:
        array: The array to shard.
        mesh: The mesh that the specs refer to.
        specs: One spec for each way to shard the array.

    Returns:
        A dict that maps each spec, written as code, to the array sharded with it.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from jax.sharding import AxisType, PartitionSpec
    >>> mesh = jax.make_mesh((1,), ("data",), axis_types=(AxisType.Auto,))
    >>> list(put_with_each_spec(jnp.ones((8, 2)), mesh, [PartitionSpec(None, "data")]))
    ['P(None, "data")']
    """
    import jax

    sharded = {}
    for spec in specs:
        # JAX versions format a spec differently.
        entries = ", ".join("None" if entry is None else json.dumps(entry) for entry in spec)
        sharding = jax.sharding.NamedSharding(mesh, spec)
        sharded[f"P({entries})"] = jax.device_put(array, sharding)
    return sharded


@style.drawing
def device_layout(
    layouts: Mapping[str, Held | jax.Array], processes: Mapping[Any, int] | None = None
) -> tuple[Figure, str]:
    """Show which device holds which part of a table, for one or more layouts.

    Args:
        layouts: A dict that maps the title of each layout to a sharded array, or to the part that
            each device holds. A device may be a number or a string.
        processes: The index of each device's process. If given, the colors distinguish processes.
    """
    from matplotlib.patches import Rectangle

    fig, axes = style.figure(6, 4.2)
    style.blank(axes)
    said = []
    left = 0.0
    tallest = 0
    for title, layout in layouts.items():
        held = layout if isinstance(layout, Mapping) else shard_ranges(layout)
        together: dict[tuple[tuple[int, ...], ...], list[int]] = {}
        for device, part in held.items():
            together.setdefault(tuple(map(tuple, part)), []).append(int(device))
        rows = max(part[0][1] for part in together)
        columns = max(part[1][1] for part in together)
        tallest = max(tallest, rows)
        for number, (part, devices) in enumerate(sorted(together.items())):
            (top, bottom), (start, stop) = part
            owner = number if processes is None else _process(processes, devices[0])
            color = style.PALE_COLORS[owner % len(style.PALE_COLORS)]
            axes.add_patch(
                Rectangle(
                    (left + start, -bottom),
                    stop - start,
                    bottom - top,
                    facecolor=color,
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
                bbox={"facecolor": color, "edgecolor": "none", "pad": 1},
            )
            who = f"device {_ranges(devices)} holds"
            if len(devices) > 1:
                who = f"devices {_ranges(devices)} hold"
            said.append(f"{title}: {who} rows {top} to {bottom - 1}, columns {start} to {stop - 1}")
        for row in range(1, rows):
            axes.plot([left, left + columns], [-row] * 2, color=style.LINE, linewidth=0.5, zorder=1)
        axes.text(left, 0.3, title, fontsize=10, fontweight="bold")
        left += columns + 1.0
    if processes is not None:
        for process in sorted(set(processes.values())):
            mine = [int(device) for device, owner in processes.items() if owner == process]
            y = -0.7 - 1.2 * process
            color = style.PALE_COLORS[process % len(style.PALE_COLORS)]
            axes.add_patch(Rectangle((left, y - 0.35), 0.6, 0.7, facecolor=color))
            axes.text(left + 0.8, y, f"process {process}", fontsize=10, va="center")
            said.append(f"process {process} has the devices {_ranges(mine)}")
        left += 3.4
    axes.set_xlim(-0.1, left)
    axes.set_ylim(-tallest - 0.1, 1.0)
    axes.set_title("Each part is labeled with the devices that hold it")
    return fig, "A table whose parts are on different devices. " + "; ".join(said) + "."


def _process(processes: Mapping[Any, int], device: int) -> int:
    return processes[device] if device in processes else processes[str(device)]
