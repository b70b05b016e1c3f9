"""Figures for chapter 10: the bits of a number, and numbers that do not fit in their dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from jaxbits.book.figures import style

if TYPE_CHECKING:
    import jax
    from matplotlib.figure import Figure

_FORMATS = {"float64": (11, 52), "float32": (8, 23), "bfloat16": (8, 7), "float16": (5, 10)}
_UNSIGNED = {2: "uint16", 4: "uint32", 8: "uint64"}


def bit_string(value: float, dtype: str) -> str:
    """Return the bits of a number as sign, exponent, and fraction, separated by spaces.

    Args:
        value: The number to convert.
        dtype: The name of a floating-point dtype.

    >>> bit_string(1.5, "bfloat16")
    '0 01111111 1000000'
    """
    with np.errstate(over="ignore"):
        kept = np.asarray(value).astype(jnp.dtype(dtype))
    text = f"{int(kept.view(_UNSIGNED[kept.itemsize])):0{8 * kept.itemsize}b}"
    exponent, _ = _FORMATS[dtype]
    return f"{text[0]} {text[1 : 1 + exponent]} {text[1 + exponent :]}"


@style.drawing
def float_bits(value: float) -> tuple[Figure, str]:
    """Draw the bits of a number in four floating-point dtypes, and the value that each stores."""
    from matplotlib.patches import Rectangle

    fig, axes = style.figure(6, 3.8)
    style.blank(axes)
    left, said = 12, []
    for row, dtype in enumerate(_FORMATS):
        y = -row * 3.0
        sign, exponent, fraction = bit_string(value, dtype).split()
        with np.errstate(over="ignore"):
            kept = float(np.asarray(value).astype(jnp.dtype(dtype)))
        said.append(
            f"{dtype} holds {kept:.17g} with {len(fraction)} bits of fraction"
            if np.isfinite(kept)
            else f"the number is too large for {dtype}, which stores inf"
        )
        axes.text(0, y + 1.55, dtype, fontweight="bold", va="center")
        axes.text(64, y + 1.55, f"{kept:.17g}", ha="right", va="center", family="monospace")
        parts = ((sign, style.RED), (exponent, style.ORANGE), (fraction, style.BLUE))
        start = left - 1 - len(exponent)
        for text, color in parts:
            for bit in text:
                axes.add_patch(
                    Rectangle(
                        (start + 0.06, y),
                        0.88,
                        1,
                        facecolor=color if bit == "1" else style.FILL,
                        edgecolor=color,
                        linewidth=0.8,
                    )
                )
                start += 1
        if start < 64:
            axes.plot([start + 0.3, 64], [y + 0.5] * 2, color=style.LINE, linewidth=1, ls=":")
            lost = f"{52 - len(fraction)} bits of the fraction are lost"
            axes.text(
                64,
                y - 0.5,
                lost if np.isfinite(kept) else "too large for this format",
                ha="right",
                va="center",
                fontsize=10,
                color=style.MUTED,
            )
    for x, text, color in (
        (0, "sign", style.RED),
        (8, "exponent", style.ORANGE),
        (22, "fraction", style.BLUE),
    ):
        axes.add_patch(Rectangle((x, 3.0), 1, 0.9, facecolor=color))
        axes.text(x + 1.6, 3.45, text, va="center", fontsize=10)
    axes.set_title("The same number in four formats")
    axes.set_xlim(-0.5, 64.5)
    axes.set_ylim(-10, 4.2)
    return fig, f"The bits of {float(value)!r}. " + "; ".join(said) + "."


@style.drawing
def token_counter(per_step: int = 2**22) -> tuple[Figure, str]:
    """Plot an int32 token counter in JAX together with the true count."""
    steps = 2048
    counted = np.asarray(jnp.cumsum(jnp.full(steps, per_step, jnp.int32)))
    true = per_step * np.arange(1, steps + 1, dtype=np.int64)
    fig, axes = style.figure(6, 2.7)
    axes.plot(true / 1e9, color=style.GREEN, label="tokens seen")
    broken = counted.astype(float)
    broken[1:][np.diff(broken) < 0] = np.nan
    axes.plot(broken / 1e9, color=style.RED, label="the int32 counter")
    axes.axhline(np.iinfo(np.int32).max / 1e9, color=style.MUTED, linewidth=1, linestyle=":")
    axes.text(2040, 2.25, "2³¹ − 1", ha="right", va="bottom", fontsize=10, color=style.MUTED)
    axes.set_title("An int32 counter becomes negative")
    axes.set_xlabel("training steps")
    axes.set_ylabel("tokens, in billions")
    axes.legend(loc="upper left")
    first = int(np.argmax(counted < 0)) + 1
    alt = (
        f"Tokens counted over {steps} training steps of {per_step} tokens. The true count is a "
        f"straight line up to {true[-1] / 1e9:.1f} billion. The int32 counter follows it to step "
        f"{first - 1}, falls to {counted[first - 1] / 1e9:.1f} billion at step {first}, and rises "
        "again."
    )
    return fig, alt


@style.drawing
def image_comparison(image: jax.Array, ways: dict[str, jax.Array]) -> tuple[Figure, str]:
    """Draw a uint8 image next to its modified versions.

    Args:
        image: The image, uint8[height, width].
        ways: A dict that maps the name of each modification to the modified image.
    """
    from matplotlib.figure import Figure

    shown = {"the image": image} | ways
    fig = Figure(figsize=(6, 2.4), layout="constrained")
    said = []
    for axes, (name, pixels) in zip(fig.subplots(1, len(shown)), shown.items(), strict=True):
        style.blank(axes)
        axes.imshow(np.asarray(pixels), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axes.set_title(name, fontsize=10.5, loc="center")
        said.append(f"{name}, from {int(pixels.min())} to {int(pixels.max())}")
    darker = {name: int((pixels < image).sum()) for name, pixels in ways.items()}
    told = ", ".join(f"{n} are darker than before in '{name}'" for name, n in darker.items())
    return fig, f"Gray images: {'; '.join(said)}. Of {image.size} pixels, {told}."


@style.drawing
def out_of_range_casts() -> tuple[Figure, str]:
    """Plot the uint8 values that result from casting floats and integers."""
    numbers = np.arange(-300, 601)
    ways = {
        "from a float, which saturates": jnp.asarray(numbers, jnp.float32).astype(jnp.uint8),
        "from an integer, which wraps around": jnp.asarray(numbers).astype(jnp.uint8),
    }
    fig, axes = style.figure(6, 3.4)
    axes.axvspan(0, 255, color=style.PALE_GREEN)
    for (name, became), color, width in zip(
        ways.items(), (style.BLUE, style.ORANGE), (4, 1.8), strict=True
    ):
        values = np.asarray(became).astype(float)
        values[1:][np.diff(values) < -100] = np.nan
        axes.plot(numbers, values, color=color, label=name, linewidth=width)
    axes.set_ylim(-15, 345)
    axes.set_yticks([0, 128, 255])
    axes.set_xticks([-256, 0, 255, 512])
    axes.set_title("Casting numbers to uint8")
    axes.set_xlabel("the number")
    axes.set_ylabel("the resulting uint8")
    axes.legend(loc="upper left")
    ends = {name: (int(v[0]), int(v[-1])) for name, v in ways.items()}
    told = " ".join(
        f"Cast {name}, -300 becomes {low} and 600 becomes {high}."
        for name, (low, high) in ends.items()
    )
    return fig, f"Two curves that agree only between 0 and 255. {told}"
