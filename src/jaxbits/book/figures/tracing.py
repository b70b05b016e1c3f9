"""Figures for chapter 01: libraries, jaxprs, and the costs and benefits of compilation."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from jaxbits import _jax_compat
from jaxbits.book import measurements
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MONO = "DejaVu Sans Mono"


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    look = {"arrowstyle": "-|>", "color": color, "linewidth": 1.6, "shrinkA": 2, "shrinkB": 2}
    axes.annotate("", end, start, arrowprops=look)


@style.drawing
def library_stack() -> tuple[Figure, str]:
    """Draw the four libraries that a training step uses, and what each one passes to the next."""
    fig, axes = style.figure(6, 3.0)
    style.blank(axes)
    boxes = (
        ("PyTorch", "DataLoader:\nshuffled batches", 0.0, 3.2),
        ("Flax", "layers and their\nparameters", 5.2, 3.2),
        ("JAX", "arrays, gradients,\ncompiled programs", 5.2, 0.0),
        ("Optax", "optimizer: turns\ngradients into updates", 0.0, 0.0),
    )
    for (name, job, x, y), color, pale in zip(boxes, style.COLORS, style.PALE_COLORS, strict=False):
        style.rounded_box(axes, x, y, 3.9, 1.9, facecolor=pale, edgecolor=color, linewidth=1.4)
        axes.text(x + 0.2, y + 1.42, name, fontsize=12, fontweight="bold", color=color)
        axes.text(x + 0.2, y + 0.68, job, fontsize=10, va="center")
    for start, end, label, at in (
        ((3.95, 4.15), (5.15, 4.15), "NumPy\nbatch", (4.55, 4.75)),
        ((7.15, 3.15), (7.15, 1.95), "loss", (7.65, 2.55)),
        ((5.15, 0.95), (3.95, 0.95), "gradients", (4.55, 0.45)),
        ((2.0, 1.95), (5.15, 3.25), "new parameters", (2.35, 2.75)),
    ):
        _arrow(axes, start, end, style.MUTED)
        axes.text(*at, label, fontsize=10, ha="center", va="center", color=style.MUTED)
    axes.set_xlim(-0.1, 9.2)
    axes.set_ylim(-0.1, 5.3)
    return fig, (
        "Four boxes in a circle. PyTorch's DataLoader passes NumPy batches to Flax, which defines "
        "the layers. JAX computes the gradients of the loss. Optax turns the gradients into "
        "updates, which give Flax its new parameters."
    )


def _name(variable: Any, names: dict[Any, str]) -> str:
    if hasattr(variable, "val"):  # It is a Literal, such as the 2 in `add a 2`.
        return f"{float(variable.val):g}"
    return names.setdefault(variable, chr(ord("a") + len(names)))


def equations_by_line(function: Callable[..., Any], *args: Any) -> list[tuple[int | None, str]]:
    """Trace a function, and return each equation as a string, paired with its line number.

    Args:
        function: A function that is defined in a file or a cell.
        args: The arguments to trace it with. Only shapes and dtypes matter.

    Returns:
        A list of pairs of a line number and an equation, such as ``b = add a 2``. Line numbers
        start at 0 with the function's first line, and are None if JAX does not record them.
    """
    _, first = inspect.getsourcelines(function)
    jaxpr = jax.make_jaxpr(function)(*args)
    names: dict[Any, str] = {}
    for variable in jaxpr.jaxpr.invars if hasattr(jaxpr, "jaxpr") else jaxpr.invars:
        _name(variable, names)
    rows = []
    for equation in jaxpr.eqns:
        inputs = " ".join(_name(v, names) for v in equation.invars)
        outputs = " ".join(_name(v, names) for v in equation.outvars)
        line = _jax_compat.source_line(equation)
        text = f"{outputs} = {equation.primitive.name} {inputs}"
        rows.append((None if line is None else line - first, text))
    return rows


@style.drawing
def jaxpr_and_source(function: Callable[..., Any], *args: Any) -> tuple[Figure, str]:
    """Draw a function's source next to the equations that each line produces.

    Args:
        function: A function that is defined in a file or a cell.
        args: The arguments to trace it with.
    """
    lines = textwrap.dedent(inspect.getsource(function)).rstrip().split("\n")
    rows = equations_by_line(function, *args)
    height = max(len(lines), len(rows))
    fig, axes = style.figure(6, 0.42 * height + 0.6)
    style.blank(axes)
    traced = [line for line in dict.fromkeys(line for line, _ in rows) if line is not None]
    tone = {line: n % len(style.COLORS) for n, line in enumerate(traced)}
    tops = {n: (height - 0.5) - (n + (height - len(lines)) / 2) for n in range(len(lines))}
    axes.text(0, height + 0.25, "your Python", fontsize=11, fontweight="bold", va="center")
    axes.text(6.1, height + 0.25, "its jaxpr", fontsize=11, fontweight="bold", va="center")
    for n, text in enumerate(lines):
        look: dict[str, Any] = (
            {"facecolor": style.PALE_COLORS[tone[n]]} if n in tone else {"facecolor": style.PAPER}
        )
        style.rounded_box(axes, -0.1, tops[n] - 0.36, 5.1, 0.72, edgecolor=style.PAPER, **look)
        axes.text(0, tops[n], text, fontsize=10, family=_MONO, va="center")
    said = []
    for n, (line, text) in enumerate(rows):
        y = (height - 0.5) - (n + (height - len(rows)) / 2)
        known = line is not None and line in tone
        pale = style.PALE_COLORS[tone[line]] if known and line is not None else style.FILL
        style.rounded_box(axes, 6, y - 0.36, 3.7, 0.72, facecolor=pale, edgecolor=style.PAPER)
        axes.text(6.1, y, text, fontsize=10, family=_MONO, va="center")
        if known and line is not None:
            _arrow(axes, (5.05, tops[line]), (5.95, y), style.COLORS[tone[line]])
            said.append(f"line {line + 1} gives {text}")
    axes.set_xlim(-0.2, 9.8)
    axes.set_ylim(-0.1, height + 0.6)
    return fig, f"The source of {function.__name__} next to its jaxpr: " + "; ".join(said) + "."


@style.drawing
def compiler_diagram() -> tuple[Figure, str]:
    """Draw the compilers that connect front ends to back ends, with and without a shared format."""
    fronts, backs = ("PyTorch", "TensorFlow", "JAX"), ("CPU", "GPU", "TPU")
    fig, axes = style.figure(6, 4.3)
    style.blank(axes)

    def column(
        names: tuple[str, ...], x: float, width: float, top: float, tone: int
    ) -> list[float]:
        heights = [top - 0.5 - 0.72 * n for n in range(len(names))]
        for name, y in zip(names, heights, strict=True):
            look: dict[str, Any] = {
                "facecolor": style.PALE_COLORS[tone],
                "edgecolor": style.COLORS[tone],
                "linewidth": 1.2,
            }
            style.rounded_box(axes, x, y - 0.29, width, 0.58, **look)
            axes.text(x + width / 2, y, name, fontsize=10.5, ha="center", va="center")
        return heights

    for top, title in (
        (5.9, "Without a common form: 3 × 3 = 9 translators"),
        (2.6, "With a common form: 3 + 3 = 6 translators"),
    ):
        axes.text(0, top + 0.25, title, fontsize=11, fontweight="bold", va="center")
        left, right = column(fronts, 0, 2.5, top, 0), column(backs, 7.0, 2.2, top, 1)
        if top < 4:
            middle = column(("StableHLO",), 3.55, 2.4, left[1] + 0.5, 2)[0]
            for y in left:
                _arrow(axes, (2.5, y), (3.55, middle), style.MUTED)
            for y in right:
                _arrow(axes, (5.95, middle), (7.0, y), style.MUTED)
        else:
            for start in left:
                for end in right:
                    _arrow(axes, (2.5, start), (7.0, end), style.MUTED)
    axes.set_xlim(-0.1, 9.3)
    axes.set_ylim(0.25, 6.45)
    return fig, (
        "Two diagrams. Without a common form, nine arrows lead from each of PyTorch, TensorFlow, "
        "and JAX to each of CPU, GPU, and TPU. With one, three arrows lead from the libraries to "
        "StableHLO, and three lead from StableHLO to the CPU, the GPU, and the TPU."
    )


@style.drawing
def compilation_stages() -> tuple[Figure, str]:
    """Draw the stages from a Python function to machine code, and how often each stage runs."""
    fig, axes = style.figure(6, 4.4)
    style.blank(axes)
    steps = (
        ("your Python function", "JAX traces it", 0),
        ("jaxpr", "equations with shapes and dtypes", 0),
        ("StableHLO", "common form for compilers; no dead code", 0),
        ("XLA", "removes duplicates and fuses loops", 0),
        ("machine code", "for this device and these shapes", 1),
    )
    for n, (name, what, tone) in enumerate(steps):
        y = (len(steps) - 1 - n) * 1.3
        style.rounded_box(
            axes,
            0,
            y,
            6.2,
            0.9,
            facecolor=style.PALE_COLORS[tone],
            edgecolor=style.COLORS[tone],
            linewidth=1.2,
        )
        axes.text(0.2, y + 0.62, name, fontsize=11, fontweight="bold", va="center")
        axes.text(0.2, y + 0.26, what, fontsize=10, va="center", color=style.MUTED)
        if n:
            _arrow(axes, (3.1, y + 1.3), (3.1, y + 0.9), style.MUTED)
    for low, high, text, tone in (
        (1.3, 6.1, "once for each\ncombination of\nshapes, dtypes, and\nstatic values", 0),
        (0.0, 0.9, "on every call", 1),
    ):
        axes.plot(
            [6.5, 6.7, 6.7, 6.5], [low, low, high, high], color=style.COLORS[tone], linewidth=1.6
        )
        axes.text(
            6.95, (low + high) / 2, text, fontsize=10.5, va="center", color=style.COLORS[tone]
        )
    axes.set_xlim(-0.1, 9.8)
    axes.set_ylim(-0.1, 6.3)
    return fig, (
        "Five boxes from top to bottom: your Python function, jaxpr, StableHLO, XLA, machine code. "
        "JAX goes through the first four once for each combination of shapes, dtypes, and static "
        "values. The machine code runs on every call."
    )


@style.drawing
def call_timeline() -> tuple[Figure, str]:
    """Plot the recorded times of 30 calls to a jitted gradient as its argument changes length."""
    run = measurements.load("retraces")
    series = run["series"]
    traced = set(series["traced"])
    fig, axes = style.figure(6, 3.0)
    tones = [style.ORANGE if call in traced else style.BLUE for call in series["call"]]
    axes.bar(series["call"], series["ms"], color=tones, width=0.72)
    axes.set_yscale("log")
    axes.set_ylim(0.005, 400)
    axes.set_xlabel(
        f"number of the call (length of its argument at the top)\n{measurements.machine(run)}",
        fontsize=10,
    )
    axes.set_ylabel("time of the call, ms")
    axes.set_title("Each new length is traced and compiled once")
    start = 0
    lengths = series["length"]
    for n in range(1, len(lengths) + 1):
        if n == len(lengths) or lengths[n] != lengths[start]:
            left, right = series["call"][start], series["call"][n - 1]
            axes.text((left + right) / 2, 160, f"{lengths[start]}", ha="center", fontsize=10)
            axes.plot([left - 0.3, right + 0.3], [110, 110], color=style.MUTED, linewidth=1.4)
            start = n
    slow, fast = run["results"]["first call at a length"], run["results"]["every other call"]
    return fig, (
        f"Bars for 30 calls on a logarithmic axis. Calls {sorted(traced)}, the first ones at each "
        f"new length, take about {slow['median']:.0f} {slow['unit']}; all others about "
        f"{fast['median']:.2f} {fast['unit']}, even when an earlier length returns."
    )


def _time(result: dict[str, Any]) -> str:
    """Format a measured median with about two digits and its unit."""
    digits = 0 if result["median"] >= 100 else 1
    return f"{result['median']:.{digits}f} {result['unit']}"


@style.drawing
def eager_and_jit_times() -> tuple[Figure, str]:
    """Plot the recorded times of a forward pass and a gradient, eager and jitted."""
    run = measurements.load("jit_speed")
    fig, axes = style.figure(6, 2.7)
    said = []
    for row, (name, result) in enumerate(reversed(run["results"].items())):
        tone = style.BLUE if name.endswith("jit") else style.ORANGE
        low, high = result["median"] - result["q1"], result["q3"] - result["median"]
        axes.barh(
            row,
            result["median"],
            color=tone,
            height=0.62,
            xerr=[[low], [high]],
            error_kw={"ecolor": style.MUTED, "capsize": 3},
        )
        axes.text(result["q3"] * 1.15, row, _time(result), va="center", fontsize=10)
        said.append(f"{name} {_time(result)}")
    axes.set_yticks(range(len(run["results"])), list(reversed(run["results"])))
    axes.set_xscale("log")
    axes.set_xlim(1, 40 * max(r["q3"] for r in run["results"].values()) / 4)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"µs per call, median and quartiles\n{measurements.machine(run)}", fontsize=10)
    axes.set_title("mean((x + 2)² + 3) of 1000 floats")
    return fig, "Bars on a logarithmic axis: " + "; ".join(reversed(said)) + "."
