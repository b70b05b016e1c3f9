"""Figures for chapter 15: data, training curves, decision boundaries, and the cost of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from jaxbits.book import measurements
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABELS = ((0, style.BLUE, "o"), (1, style.ORANGE, "^"))


def _points(axes: Axes, data: Any, limit: int, size: float) -> None:
    for label, color, marker in _LABELS:
        rows = np.flatnonzero(data.labels[:limit] == label)
        x, y = data.inputs[rows].T
        axes.scatter(x, y, s=size, c=color, marker=marker, linewidths=0, label=f"label {label}")


@style.drawing
def dataset_plot(data: Any) -> tuple[Figure, str]:
    """Plot the first 200 points of a dataset, with a color and a marker for each label.

    Args:
        data: A dataset such as `XorData(200, seed=42)`.
    """
    fig, axes = style.figure(3.8, 2.6)
    _points(axes, data, 200, 22)
    axes.set_aspect("equal")
    axes.set_xlabel("first input")
    axes.set_ylabel("second input")
    axes.set_title("XOR with noise")
    axes.legend(loc="center", fontsize=10)
    return fig, (
        "Four clouds of points at the corners of the unit square. The points at (0, 0) and (1, 1) "
        "have label 0, and those at (0, 1) and (1, 0) have label 1. No straight line separates the "
        "two labels."
    )


@style.drawing
def learning_curves(histories: Mapping[str, npt.NDArray[np.float32]]) -> tuple[Figure, str]:
    """Plot the loss and the accuracy of training runs over their epochs.

    Args:
        histories: A dict that maps the name of each run to its history, as `train` returns it. A
            history holds the loss and the accuracy in each epoch, float32[epochs, 2].
    """
    from matplotlib.figure import Figure

    fig = Figure(figsize=(6, 3), layout="constrained")
    tones = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE)
    described = []
    for column, what in enumerate(("loss", "accuracy")):
        axes = fig.add_subplot(1, 2, column + 1)
        for (name, history), tone in zip(histories.items(), tones, strict=False):
            line = np.asarray(history)[:, column]
            axes.plot(np.arange(1, len(line) + 1), line, color=tone, label=name, linewidth=1.6,
                      linestyle="-" if tone == tones[0] else "--")  # fmt: skip
            described.append(f"{name}, {what} from {line[0]:.2f} to {line[-1]:.2f}")
        axes.set_xlabel("epoch")
        axes.set_title(f"training {what}")
        axes.set_ylim(0, None)
    axes.legend(fontsize=10, loc="lower right")
    return fig, "Curves over the epochs: " + "; ".join(described) + "."


@style.drawing
def decision_boundaries(states: Mapping[str, Any], data: Any) -> tuple[Figure, str]:
    """Plot the label that a network predicts at each point in the plane, for several states.

    Args:
        states: A dict that maps the title of each plot to a Flax train state.
        data: The dataset whose points appear on top.
    """
    from matplotlib.figure import Figure

    fig = Figure(figsize=(6, 2.6), layout="constrained")
    ticks = np.linspace(-0.5, 1.5, 81, dtype=np.float32)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    described = []
    for place, (title, state) in enumerate(states.items()):
        axes = fig.add_subplot(1, len(states), place + 1)
        logits = state.apply_fn({"params": state.params}, jnp.asarray(grid))
        predicted = np.asarray(logits).reshape(81, 81)
        axes.contourf(ticks, ticks, predicted, levels=[-1e9, 0, 1e9],
                      colors=[style.PALE_BLUE, style.PALE_ORANGE])  # fmt: skip
        if (predicted > 0).any() and (predicted <= 0).any():
            axes.contour(ticks, ticks, predicted, levels=[0], colors=[style.INK], linewidths=1.2)
        _points(axes, data, 80, 9)
        axes.set_aspect("equal")
        axes.set_title(title, fontsize=10)
        axes.set_xticks([0, 1])
        axes.set_yticks([0, 1])
        axes.grid(visible=False)
        right = np.asarray(state.apply_fn({"params": state.params}, data.inputs)) > 0
        share = np.mean(right == (data.labels > 0))
        described.append(f"{title}: {share:.0%} of the points are classified correctly")
    return fig, (
        "The plane, colored by the label that the network predicts, with the points on top. "
        + "; ".join(described) + "."
    )  # fmt: skip


_PARTS: Sequence[tuple[str, str]] = (
    ("PyTorch, compiled", style.PURPLE),
    ("PyTorch, eager", style.PURPLE),
    ("train with train_loader", style.ORANGE),
    ("train with faster_loader, batch by batch", style.ORANGE),
    ("train with faster_loader", style.ORANGE),
    ("one compiled step, data in NumPy", style.BLUE),
    ("one compiled step, data on the device", style.BLUE),
    ("one donating step, data on the device", style.BLUE),
    ("train_loader alone", style.GREEN),
    ("faster_loader alone", style.GREEN),
    ("train_on_device", style.BLUE),
)


@style.drawing
def step_costs() -> tuple[Figure, str]:
    """Plot the recorded times of several kinds of training steps, as medians with quartiles."""
    run = measurements.load("xor_training")
    parts = [part for part in _PARTS if part[0] in run["results"]]
    fig, axes = style.figure(6, 5.3)
    described = []
    for row, (name, tone) in enumerate(reversed(parts)):
        result = run["results"][name]
        low, high = result["median"] - result["q1"], result["q3"] - result["median"]
        axes.barh(row, result["median"], color=tone, height=0.62,
                  xerr=[[low], [high]], error_kw={"ecolor": style.MUTED, "capsize": 3})  # fmt: skip
        axes.text(result["q3"] * 1.12, row, f"{result['median']:.0f}", va="center", fontsize=10)
        described.append(f"{name} {result['median']:.0f} µs")
    names = [name for name, _ in reversed(parts)]
    axes.set_yticks(range(len(names)), [_wrapped(name) for name in names], fontsize=10)
    axes.set_xscale("log")
    axes.set_xlim(2, 4000)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"µs per step of 128 samples\n{measurements.machine(run)}", fontsize=10)
    axes.set_title("The time of one training step")
    return fig, "Bars on a logarithmic axis: " + "; ".join(reversed(described)) + "."


def _wrapped(name: str) -> str:
    return name.replace(", ", ",\n", 1) if len(name) > 26 else name
