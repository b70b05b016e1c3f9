"""What the book says about GPUs and TPUs, for the reader who runs it on one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One thing that the book says differs on an accelerator, or claims for CPUs only.

    Attributes:
        chapter: the stem of the chapter's file, such as ``10-precision``.
        text: what differs, in one or two sentences.
        rests_on: the claim or the words of the chapter that say so, exactly as they are there.
        devices: the backends that it is about.
    """

    chapter: str
    text: str
    rests_on: str
    devices: tuple[str, ...] = ("gpu", "tpu")

    def __str__(self) -> str:
        number, _, topic = self.chapter.partition("-")
        return f"Chapter {number} ({topic.replace('-', ' ')}): {self.text}"


_ROUNDS = "The units of a TPU multiply bfloat16, those of newer NVIDIA GPUs a format called TF32"

DIFFERENCES = (
    Difference(
        "10-precision",
        "Newer NVIDIA GPUs round the factors of a float32 matrix product to TF32. "
        'Set `precision="highest"` to prevent it.',
        _ROUNDS,
        ("gpu",),
    ),
    Difference(
        "10-precision",
        "A TPU rounds the factors of a float32 matrix product to bfloat16. "
        'Set `precision="highest"` to prevent it.',
        _ROUNDS,
        ("tpu",),
    ),
    Difference(
        "12-async-dispatch",
        "JAX takes three quarters of a GPU's memory with its first array.",
        "75 % of the memory is taken at once",
        ("gpu",),
    ),
    Difference(
        "12-async-dispatch",
        "The transfer guard also stops reads such as `float(x)`, which it allows on a CPU.",
        "On an accelerator it is one, and is guarded",
    ),
    Difference(
        "17-data-loading",
        'Keep loader workers off the accelerator: set `JAX_PLATFORMS="cpu"` for them.',
        "keep it off your accelerator",
    ),
    Difference(
        "18-lists-or-arrays",
        "A GPU may add numbers in another order on every run, so equal seeds may not give "
        "equal bits.",
        "A GPU may add in another order from run to run",
        ("gpu",),
    ),
    Difference(
        "10-precision",
        "What becomes of a float outside the range of an integer dtype is known for CPUs only.",
        "254 to 258 stop at 255",
    ),
    Difference(
        "04-out-of-bounds",
        "Which element a NaN index or `promise_in_bounds` reads is known for CPUs only.",
        "On a CPU, you get the last element, but JAX does not guarantee this",
    ),
    Difference(
        "09-nans",
        "Integer division by zero, and NaN times a boolean mask, are known for CPUs only.",
        "-2 and 0, on a CPU; NumPy gives 0 and warns",
    ),
    Difference(
        "03-immutable-arrays",
        "When an array shares its memory with NumPy or PyTorch is known for CPUs only.",
        "device_put shares an aligned buffer",
    ),
    Difference(
        "14-debugging",
        "The order of debug prints inside `lax.map` is known for CPUs only.",
        "under map the second print comes first",
    ),
)
"""The most important differences first."""

CPU_CLAIMS = ("01", "03", "04", "05", "07", "09", "10", "12", "14", "17", "18")
"""The numbers of the chapters that make claims for CPUs only."""


def differences(backend: str) -> list[str]:
    """Return what the book says differs on a backend, one line each.

    Args:
        backend: ``"cpu"``, ``"gpu"`` or ``"tpu"``, as `jax.default_backend` names it.

    Returns:
        The lines, none for a CPU, because the book was made on one.

    >>> differences("cpu")
    []
    >>> differences("gpu")[1]
    "Chapter 12 (async dispatch): JAX takes three quarters of a GPU's memory with its first array."
    """
    lines = [str(one) for one in DIFFERENCES if backend in one.devices]
    if lines:
        chapters = f"{', '.join(CPU_CLAIMS[:-1])} and {CPU_CLAIMS[-1]}"
        lines.append(f"Chapters {chapters} skip the claims that are made for CPUs only.")
    return lines
