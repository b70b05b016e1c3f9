"""Figures for chapter 20: what fills a device's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIB = 2**20

_PARTS = {
    "arguments": ("argument_size_in_bytes", style.BLUE),
    "results": ("output_size_in_bytes", style.GREEN),
    "temporary arrays": ("temp_size_in_bytes", style.ORANGE),
}
"""The parts of a program's memory, each with its attribute in JAX's statistics and its color."""


@style.drawing
def memory_by_program(programs: Mapping[str, Any]) -> tuple[Figure, str]:
    """Plot how many MiB each compiled program needs for arguments, results, and temporary arrays.

    Args:
        programs: A dict that maps the label of each program to what its method `memory_analysis`
            returns. A label may have several lines.
    """
    fig, axes = style.figure(6, 0.62 * len(programs) + 1.5)
    said = []
    largest = max(
        sum(getattr(memory, size) for size, _ in _PARTS.values()) / MIB
        for memory in programs.values()
    )
    for row, (label, memory) in enumerate(programs.items()):
        left = 0.0
        sizes = []
        for part, (attribute, color) in _PARTS.items():
            width = getattr(memory, attribute) / MIB
            axes.barh(-row, width, left=left, color=color, height=0.6)
            left += width
            sizes.append(f"{width:.1f} MiB of {part}")
        axes.text(left + largest / 60, -row, f"{left:.0f} MiB", va="center", fontsize=10)
        said.append(f"{' '.join(label.split())}: {', '.join(sizes)}")
    for part, (_, color) in _PARTS.items():
        axes.barh(0, 0, color=color, label=part)
    axes.set_yticks([-row for row in range(len(programs))], list(programs))
    axes.set_ylim(-len(programs) + 0.5, 0.6)
    axes.set_xlim(0, largest * 1.16)
    axes.set_xlabel("MiB")
    axes.grid(axis="y", visible=False)
    axes.set_title("Memory that each program needs")
    fig.legend(loc="outside lower center", ncols=3, fontsize=10)
    return fig, f"Stacked bars. {'. '.join(said)}."


_SHARED_GPU: Sequence[tuple[str, Sequence[tuple[float, str, str]]]] = (
    (
        "One JAX process",
        ((0.75, "JAX's pool", style.PALE_BLUE), (0.25, "free", style.FILL)),
    ),
    (
        "A second JAX process asks for as much",
        ((0.75, "first process", style.PALE_BLUE), (0.75, "second process", style.PALE_RED)),
    ),
    (
        "Two processes with XLA_CLIENT_MEM_FRACTION=.40",
        (
            (0.40, "first process", style.PALE_BLUE),
            (0.40, "second process", style.PALE_GREEN),
            (0.20, "free", style.FILL),
        ),
    ),
)


@style.drawing
def shared_gpu() -> tuple[Figure, str]:
    """Draw how one process, two processes, and two limited processes divide a GPU's memory."""
    fig, axes = style.figure(6, 3.3)
    style.blank(axes)
    said = []
    for row, (title, shares) in enumerate(_SHARED_GPU):
        bottom, left = -1.35 * row, 0.0
        axes.text(0, bottom + 0.68, title, fontsize=10)
        for share, label, color in shares:
            style.rounded_box(
                axes,
                left,
                bottom,
                share,
                0.55,
                rounding=0.02,
                facecolor=color,
                edgecolor=style.INK,
                linewidth=1.0,
            )
            axes.text(
                left + share / 2,
                bottom + 0.275,
                f"{label}\n{share:.0%}",
                ha="center",
                va="center",
                fontsize=9.5,
                bbox={"facecolor": color, "edgecolor": "none", "pad": 1},
            )
            left += share
        said.append(f"{title}: {', '.join(f'{label} {share:.0%}' for share, label, _ in shares)}")
    end = -1.35 * (len(_SHARED_GPU) - 1)
    axes.plot([1, 1], [end - 0.12, 0.62], color=style.RED, linewidth=1.4, linestyle="--")
    axes.text(1.01, end - 0.05, "all of the\nGPU's memory", color=style.RED, fontsize=9.5, va="top")
    axes.set_xlim(-0.01, 1.52)
    axes.set_ylim(end - 0.55, 1.4)
    axes.text(0, 1.15, "Who gets the memory of a GPU", fontsize=12, fontweight="bold")
    return fig, f"Three bars for the memory of one GPU. {'. '.join(said)}."
