"""Figures for chapter 10: sums and averages that stop changing because of rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@jax.jit
def _count(start: jax.Array, steps: int) -> jax.Array:
    total: jax.Array = lax.fori_loop(0, steps, lambda _, s: s + jnp.ones((), s.dtype), start)
    return total


def running_sum(dtype: str, most: int) -> tuple[list[int], list[float]]:
    """Return the powers of two up to `most` and, for each, the sum of that many ones.

    Args:
        dtype: The dtype of the sum.
        most: The largest number of additions.

    >>> running_sum("bfloat16", 512)[1][-3:]
    [128.0, 256.0, 256.0]
    """
    total, done = jnp.zeros((), dtype), 0
    counts, sums = [], []
    stuck = False
    for count in (2**k for k in range(most.bit_length())):
        if not stuck:  # If one addition does not change the sum, no later one does.
            total, stuck = _count(total, count - done), bool(total + 1 == total)
        counts.append(count)
        sums.append(float(total))
        done = count
    return counts, sums


@style.drawing
def running_sums() -> tuple[Figure, str]:
    """Plot running sums of ones in three dtypes, together with the true sum."""
    most = 2**27
    fig, axes = style.figure(6, 2.9)
    axes.plot([1, most], [1, most], color=style.MUTED, linewidth=1.2, ls=":", label="exact")
    told = []
    tones = {"float32": style.GREEN, "float16": style.BLUE, "bfloat16": style.RED}
    for dtype, tone in tones.items():
        counts, sums = running_sum(dtype, most)
        axes.plot(counts, sums, color=tone, label=dtype)
        axes.text(most * 1.5, sums[-1], f"{sums[-1]:,.0f}", va="center", color=tone, fontsize=10)
        told.append(f"{dtype} stops at {sums[-1]:.0f}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.6, most * 300)
    axes.set_xticks([1, 100, 10_000, 1_000_000, 100_000_000])
    axes.set_ylim(0.7, most * 3)
    axes.set_title("Adding ones, one at a time")
    axes.set_xlabel("ones added")
    axes.set_ylabel("the sum")
    axes.legend(loc="upper left")
    return fig, f"Running sums of ones on logarithmic axes: {', '.join(told)}."


def moving_average(dtype: str, steps: int, target: float = 2.0, rate: float = 0.001) -> jax.Array:
    """Return the exponential moving average after each step, starting from 1.

    Each step adds ``rate * (target - average)``.

    Args:
        dtype: The dtype of the average.
        steps: The number of updates.
        target: The constant value to average.
        rate: The weight of the new value in each step.

    Returns:
        The averages as an array of the given dtype, [steps].

    >>> float(moving_average("bfloat16", 1000)[-1])
    1.0
    """
    # XLA may compute a chain of 16-bit operations in 32 bits, and it may join a product and a sum.
    # Therefore, its results depend on the CPU. NumPy rounds the result of each operation.
    # https://github.com/openxla/xla/blob/main/xla/xla.proto (xla_allow_excess_precision)
    kind: Any = np.dtype(jnp.dtype(dtype)).type
    average, averages = kind(1), []
    for _ in range(steps):
        average += kind(rate) * (kind(target) - average)
        averages.append(average)
    return jnp.array(averages, dtype)


@style.drawing
def moving_averages(steps: int = 6000) -> tuple[Figure, str]:
    """Plot a moving average that should approach 2, in three dtypes."""
    fig, axes = style.figure(6, 2.8)
    told = []
    tones = {"float32": style.GREEN, "float16": style.BLUE, "bfloat16": style.RED}
    for dtype, tone in tones.items():
        averages = moving_average(dtype, steps).astype(jnp.float32)
        axes.plot(range(1, steps + 1), averages, color=tone)
        end = float(averages[-1])
        axes.text(steps * 1.03, end, f"{dtype}\n{end:.3g}", va="center", color=tone, fontsize=10)
        told.append(f"{dtype} ends at {end:.3g}")
    axes.axhline(2, color=style.MUTED, linewidth=1.2, linestyle=":")
    axes.text(0, 2.03, "the target", color=style.MUTED, fontsize=10)
    axes.set_xlim(-0.02 * steps, steps * 1.25)
    axes.set_xticks(range(0, steps + 1, 2000))
    axes.set_ylim(0.9, 2.15)
    axes.set_title("A moving average that starts at 1 and should reach 2")
    axes.set_xlabel("steps")
    axes.set_ylabel("the moving average")
    alt = f"Moving averages that start at 1 and should approach 2, over {steps} steps: "
    return fig, alt + ", ".join(told) + "."
