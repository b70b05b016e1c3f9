"""Figures for chapter 16: training curves, convolution windows, and flattening orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KERNEL, STRIDE = 3, 2


@style.drawing
def step_plot(series: Mapping[str, Sequence[float]], title: str, what: str) -> tuple[Figure, str]:
    """Plot losses over training steps on a logarithmic axis, with one line per run.

    Args:
        series: A dict that maps the names of at most five runs to their losses.
        title: The title of the figure.
        what: The label of the vertical axis.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    fig, axes = style.figure(6, 3.4)
    tones = (style.RED, style.BLUE, style.GREEN, style.PURPLE, style.ORANGE)
    looks = ("-", "--", ":", "-.", "-")
    said = []
    for (name, line), tone, look in zip(series.items(), tones, looks, strict=False):
        steps = np.arange(1, len(line) + 1)
        axes.plot(steps, line, look, color=tone, label=name, marker="o", markersize=3.5)
        said.append(f"The line '{name}' goes from {line[0]:.3g} to {line[-1]:.3g}.")
    values = [value for line in series.values() for value in line]
    axes.set_yscale("log")
    # LogLocator shows too few ticks on axes shorter than two decades, so add minor ticks.
    axes.yaxis.set_major_locator(
        LogLocator(subs=(1,) if max(values) > 100 * min(values) else (1, 2, 5))
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel(what)
    axes.set_title(title)
    axes.legend()
    return fig, f"{title}. The vertical axis shows the {what}. {' '.join(said)}"


def window_inputs(size: int, padding: str | tuple[int, int]) -> list[list[int]]:
    """Return the input cells that each output of a convolution reads.

    The kernel has size 3 and stride 2. An output reads the cells for which its derivative is
    nonzero.

    Args:
        size: The number of input cells.
        padding: The padding, as `flax.linen.Conv` accepts it.

    >>> window_inputs(4, "SAME"), window_inputs(4, (1, 1))
    ([[0, 1, 2], [2, 3]], [[0, 1], [1, 2, 3]])
    """
    how = padding if isinstance(padding, str) else [padding]
    kernel = jnp.ones((1, 1, KERNEL))

    def convolved(x: jax.Array) -> jax.Array:
        return lax.conv_general_dilated(x[None, None], kernel, (STRIDE,), how)[0, 0]

    derivative = np.asarray(jax.jacobian(convolved)(jnp.zeros(size)))
    return [[int(i) for i in np.flatnonzero(row)] for row in derivative]


def _pads(size: int, padding: str | tuple[int, int]) -> tuple[int, int]:
    """Return the number of cells that a padding adds before and after the input."""
    if not isinstance(padding, str):
        return padding
    ((before, behind),) = lax.padtype_to_pads((size,), (KERNEL,), (STRIDE,), padding)
    return int(before), int(behind)


def _windows(
    axes: Axes, top: float, size: int, title: str, reads: list[list[int]], pads: tuple[int, int]
) -> None:
    from matplotlib.patches import Rectangle

    tones = (style.PALE_BLUE, style.PALE_ORANGE)
    edges = (style.BLUE, style.ORANGE)
    first_is_short = len(reads[0]) < KERNEL
    axes.text(-1.2, top + 0.55, title, fontsize=11, fontweight="bold", va="center")
    for cell in range(size):
        axes.add_patch(
            Rectangle((cell, top - 0.8), 1, 0.8, facecolor=style.FILL, edgecolor=style.LINE)
        )
        axes.text(cell + 0.5, top - 0.4, str(cell), ha="center", va="center", fontsize=10)
    for cell in (*range(-pads[0], 0), *range(size, size + pads[1])):
        axes.add_patch(
            Rectangle(
                (cell, top - 0.8), 1, 0.8, facecolor="none", edgecolor=style.MUTED, linestyle="--"
            )
        )
        axes.text(
            cell + 0.5, top - 0.4, "pad", ha="center", va="center", fontsize=10, color=style.MUTED
        )
    for number, cells in enumerate(reads):
        start = cells[-1] - KERNEL + 1 if number == 0 and first_is_short else cells[0]
        y = top - 1.3 - 0.55 * (number % 2)
        tone, edge = tones[number % 2], edges[number % 2]
        axes.add_patch(Rectangle((start, y - 0.2), KERNEL, 0.42, facecolor=tone, edgecolor=edge))
        axes.text(start + 1.5, y, f"output {number}", ha="center", va="center", fontsize=10)


@style.drawing
def padding_windows(size: int = 8) -> tuple[Figure, str]:
    """Show which cells each output reads with padding 'SAME' and padding=1, at stride 2.

    An output reads the cells for which its derivative is nonzero.
    """
    fig, axes = style.figure(6, 3.7)
    style.blank(axes)
    said = []
    for top, title, padding in ((4.0, "padding 'SAME' (Flax)", "SAME"), (0.4, "padding=1", (1, 1))):
        reads = window_inputs(size, padding)
        pads = _pads(size, padding)
        _windows(axes, top, size, title, reads, pads)
        said.append(
            f"With {title}, the number of padding cells is {pads[0]} before the input and "
            f"{pads[1]} after it. The first output reads cells {reads[0]}, and the last one reads "
            f"cells {reads[-1]}"
        )
    axes.set_xlim(-1.3, size + 1.3)
    axes.set_ylim(-1.8, 5.0)
    what = f"A convolution with kernel size {KERNEL} and stride {STRIDE} reads {size} input cells"
    return fig, f"{what}. {'. '.join(said)}."


@style.drawing
def flatten_order(height: int = 2, width: int = 2, channels: int = 3) -> tuple[Figure, str]:
    """Draw the order in which PyTorch and Flax flatten the numbers in an image.

    Args:
        height: The height of the image.
        width: The width of the image.
        channels: The number of channels.
    """
    from matplotlib.patches import Rectangle

    where = np.arange(channels * height * width).reshape(channels, height, width)
    orders = {
        "PyTorch flattens (channel, row, column)": where.reshape(-1),
        "Flax flattens (row, column, channel)": where.transpose(1, 2, 0).reshape(-1),
    }
    tones = (style.PALE_BLUE, style.PALE_ORANGE, style.PALE_GREEN, style.PALE_PURPLE)
    fig, axes = style.figure(6, 3.2)
    style.blank(axes)
    pixels = height * width
    for top, label, (title, order) in zip((3.4, 1.0), (4.75, 0.4), orders.items(), strict=True):
        axes.text(0, label, title, fontsize=11, fontweight="bold", va="center")
        for place, number in enumerate(order):
            channel, pixel = divmod(int(number), pixels)
            face = tones[channel % len(tones)]
            axes.add_patch(
                Rectangle((place, top - 0.2), 1, 1.1, facecolor=face, edgecolor=style.LINE)
            )
            text = f"{'RGBA'[channel % 4]}{pixel}"
            axes.text(place + 0.5, top + 0.35, text, ha="center", va="center", fontsize=10)
    first, second = (place.tolist() for place in orders.values())
    for start, end in ((first.index(n), second.index(n)) for n in range(0, len(first), pixels)):
        line = {"arrowstyle": "-|>", "color": style.MUTED, "linewidth": 1.2}
        axes.annotate("", (end + 0.5, 1.95), (start + 0.5, 3.15), arrowprops=line)
    axes.set_xlim(-0.1, len(first) + 0.1)
    axes.set_ylim(0.1, 5)
    return fig, (
        f"An image with {channels} channels and {pixels} pixels is flattened to {len(first)} "
        "numbers. In PyTorch, all pixels of the first channel come first, followed by those of "
        "the second channel. In Flax, all channels of the first pixel come first. If PyTorch's "
        f"order is {first}, Flax's order is {second}."
    )
