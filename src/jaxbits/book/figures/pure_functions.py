"""Figures for chapter 02: which lines run when, a stale learning rate, and captured arrays."""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import textwrap
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from jaxbits.book import measurements
from jaxbits.book.figures import style
from jaxbits.book.figures.tracing import equations_by_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MONO = "DejaVu Sans Mono"


def executed_lines(function: Callable[..., Any], call: Callable[[], Any]) -> set[int]:
    """Return the indices of a function's lines that Python runs during a call.

    Args:
        function: A function that is defined in a file or a cell.
        call: A function without arguments that makes the call.

    >>> def half(x):
    ...     if x > 1:
    ...         return x / 2
    ...     return x
    >>> sorted(executed_lines(half, lambda: half(0.5)))
    [1, 3]
    """
    code = function.__code__
    seen: set[int] = set()

    def watch(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not code:
            return None
        if event == "line":
            seen.add(frame.f_lineno - code.co_firstlineno)
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        call()
    finally:
        sys.settrace(before)
    return seen


def executed_lines_per_call(function: Callable[..., Any], *args: Any) -> dict[str, set[int]]:
    """Return which lines of a function Python runs in two plain calls and in two jitted ones.

    Args:
        function: A function that is defined in a file or a cell.
        args: The arguments to pass in every call.
    """
    # JAX has not compiled this function yet, because it is a new object.
    jitted = jax.jit(lambda *args: function(*args))
    calls = {
        "plain\ncall 1": lambda: function(*args),
        "plain\ncall 2": lambda: function(*args),
        "jit\ncall 1": lambda: jitted(*args),
        "jit\ncall 2": lambda: jitted(*args),
    }
    with contextlib.redirect_stdout(io.StringIO()):
        return {name: executed_lines(function, call) for name, call in calls.items()}


@style.drawing
def traced_lines(function: Callable[..., Any], *args: Any) -> tuple[Figure, str]:
    """Draw each line of a function, the calls in which Python runs it, and its operation.

    A trace function records the lines of each call. The last column comes from the jaxpr.

    Args:
        function: A function in a file or a cell, with lines of at most 38 characters.
        args: The arguments to pass in every call.
    """
    from matplotlib.patches import Rectangle

    lines = textwrap.dedent(inspect.getsource(function)).rstrip().split("\n")
    ran = executed_lines_per_call(function, *args)
    with contextlib.redirect_stdout(io.StringIO()):
        rows = equations_by_line(function, *args)
    program: dict[int | None, str] = {line: text.split(" = ")[1].split()[0] for line, text in rows}
    fig, axes = style.figure(6, 0.4 * len(lines) + 1.2)
    style.blank(axes)
    axes.set_title("The lines that Python runs, call by call")
    top = len(lines)
    columns = {name: 5.62 + 0.75 * n for n, name in enumerate(ran)}
    tones = [style.ORANGE if name.startswith("plain") else style.BLUE for name in ran]
    for (name, x), tone in zip(columns.items(), tones, strict=True):
        axes.text(x, top + 0.45, name, fontsize=10, ha="center", va="center", color=tone)
    axes.text(8.85, top + 0.45, "in the\njaxpr", fontsize=10, ha="center", va="center",
              color=style.GREEN)  # fmt: skip
    said = []
    for n, text in enumerate(lines):
        y = top - 0.5 - n
        body = any(n in seen for seen in ran.values())
        face = style.PALE_GREEN if n in program else style.PALE_RED if body else style.PAPER
        if text.strip().startswith("return"):
            face = style.FILL
        axes.add_patch(Rectangle((-0.1, y - 0.46), 9.5, 0.92, facecolor=face, linewidth=0))
        axes.text(0, y, text, fontsize=10, family=_MONO, va="center")
        if not body:
            continue
        for (name, x), tone in zip(columns.items(), tones, strict=True):
            if n in ran[name]:
                axes.plot([x], [y], "o", color=tone, markersize=8)
            else:
                axes.text(x, y, "–", ha="center", va="center", color=style.MUTED)
        operation = program.get(n, "–")
        axes.text(8.85, y, operation, fontsize=10, family=_MONO, ha="center", va="center")
        counts = "".join("1" if n in seen else "0" for seen in ran.values())
        said.append(f"{text.strip()}: {counts}, {operation}")
    axes.set_xlim(-0.15, 9.45)
    axes.set_ylim(-0.1, top + 0.95)
    return fig, (
        f"A table of the lines of {function.__name__}. For each line, four digits say whether "
        "Python runs it (1) or not (0) in two plain calls and in two jitted calls. The operation "
        "in the jaxpr follows. " + "; ".join(said) + "."
    )


STAGE, RATES = 60, (0.4, 0.1, 0.025)


def _loss(w: jax.Array, noise: jax.Array) -> jax.Array:
    return jnp.sum((w - 1.0 + noise) ** 2) / 2


def noisy_descent(stale: bool) -> list[float]:
    """Return the RMS distance to the minimum after each step, with two drops in the learning rate.

    Args:
        stale: Whether the jitted step reads the rate from a global variable instead of an argument.
    """
    settings = {"rate": RATES[0]}

    @jax.jit
    def reading(w: jax.Array, noise: jax.Array, _: float) -> jax.Array:
        moved: jax.Array = w - settings["rate"] * jax.grad(_loss)(w, noise)
        return moved

    @jax.jit
    def given(w: jax.Array, noise: jax.Array, rate: float) -> jax.Array:
        moved: jax.Array = w - rate * jax.grad(_loss)(w, noise)
        return moved

    step = reading if stale else given
    w, far = jnp.zeros(400), []
    for n, key in enumerate(jax.random.split(jax.random.key(0), STAGE * len(RATES))):
        settings["rate"] = RATES[n // STAGE]
        w = step(w, jax.random.normal(key, w.shape), settings["rate"])
        far.append(float(jnp.sqrt(jnp.mean((w - 1.0) ** 2))))
    return far


@style.drawing
def stale_learning_rate() -> tuple[Figure, str]:
    """Plot noisy gradient descent with a learning rate that is read from a global or passed."""
    fig, axes = style.figure(6, 3.2)
    ends = []
    for stale, name, tone in (
        (True, "rate read from\na global", style.RED),
        (False, "rate passed", style.BLUE),
    ):
        far = noisy_descent(stale)
        axes.plot(range(1, len(far) + 1), far, color=tone, linewidth=1.8)
        ends.append(f"{name} {far[-1]:.2f}".replace("\n", " "))
        axes.text(len(far) + 3, far[-1], name, color=tone, va="center",
                  fontsize=10)  # fmt: skip
    for n, rate in enumerate(RATES):
        start = n * STAGE
        if n:
            axes.axvline(start, color=style.MUTED, linewidth=1.2, linestyle=":")
        axes.text(start + STAGE / 2, 0.93, f"rate = {rate}", ha="center", color=style.MUTED,
                  fontsize=10)  # fmt: skip
    axes.set_xlim(0, 230)
    axes.set_xticks(range(0, 181, 60))
    axes.set_ylim(0, 1)
    axes.set_xlabel("step")
    axes.set_ylabel("distance from the minimum")
    axes.set_title("A rate read from a global variable never decreases")
    return fig, (
        "Two curves show the distance from the minimum over 180 steps. The rate decreases after 60 "
        "and after 120 steps. The curves coincide for the first 60 steps. The distances at the end "
        f"are: {'; '.join(ends)}."
    )


_CURVES = (
    ("captured and sorted", "captured,\nand sorted", style.RED, "-", 1.0),
    ("captured", "captured", style.ORANGE, "-", 1.6),
    ("argument, sorted", "passed,\nand sorted", style.BLUE, "--", 0.7),
)


@style.drawing
def captured_array_costs() -> tuple[Figure, str]:
    """Plot the recorded compile times against the size of a table that is captured or passed."""
    run = measurements.load("captured_constant")
    series = run["series"]
    floats = series["floats"]
    fig, axes = style.figure(6, 3.8)
    said = []
    for name, label, tone, line, place in _CURVES:
        ms = series[f"{name}, ms"]
        axes.text(floats[-1] * 1.3, ms[-1] * place, label, color=tone, fontsize=10, va="center")
        axes.plot(floats, ms, "o", color=tone, linestyle=line, markersize=4)
        said.append(f"{name} from {ms[0]:.0f} to {ms[-1]:.0f} ms")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(floats[0] * 0.8, floats[-1] * 9)
    axes.set_ylim(20, 20000)
    axes.set_yticks([100, 1000, 10000], ["100", "1 000", "10 000"])
    axes.set_xticks([100, 1000, 10000], ["100", "1 000", "10 000"])
    axes.minorticks_off()
    axes.set_xlabel(f"numbers in the table\n{measurements.machine(run)}", fontsize=10)
    axes.set_ylabel("tracing and compiling, ms")
    axes.set_title("The time to compile with a captured table")
    return fig, (
        "Three curves show the time for tracing and compiling, on logarithmic axes, for tables of "
        f"{floats[0]} to {floats[-1]} numbers: " + "; ".join(said) + "."
    )
