"""Differences on GPUs and TPUs that the book mentions and `runtime.report` prints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """A difference on an accelerator, or something that the book claims only for CPUs.

    Attributes:
        chapter: The name of the chapter's file without its suffix, such as ``10-precision``.
        text: The difference, in one or two sentences.
        source: A quotation from the chapter that supports the text. A test checks that the chapter
            contains it.
        backends: The backends to which the difference applies.
    """

    chapter: str
    text: str
    source: str
    backends: tuple[str, ...] = ("gpu", "tpu")

    def __str__(self) -> str:
        number, _, topic = self.chapter.partition("-")
        return f"Chapter {number} ({topic.replace('-', ' ')}): {self.text}"


_ROUNDING = "The matrix units of a TPU multiply bfloat16 numbers, and those of newer NVIDIA GPUs"

DIFFERENCES = (
    Difference(
        "10-precision",
        "Newer NVIDIA GPUs round the factors of a float32 matrix product to TF32. "
        'Set `precision="highest"` to prevent it.',
        _ROUNDING,
        ("gpu",),
    ),
    Difference(
        "10-precision",
        "A TPU rounds the factors of a float32 matrix product to bfloat16. "
        'Set `precision="highest"` to prevent it.',
        _ROUNDING,
        ("tpu",),
    ),
    Difference(
        "20-devices-and-memory",
        "JAX takes three quarters of a GPU's memory with its first array.",
        "On a GPU, JAX reserves three quarters of the memory",
        ("gpu",),
    ),
    Difference(
        "12-async-dispatch",
        "The transfer guard also rejects reads such as `float(x)`, which it allows on a CPU.",
        "On an accelerator, reading a value is a transfer",
    ),
    Difference(
        "17-data-loading",
        'Keep loader workers off the accelerator: set `JAX_PLATFORMS="cpu"` for them.',
        "may reserve memory on your accelerator",
    ),
    Difference(
        "18-lists-or-arrays",
        "A GPU may add numbers in a different order in every run, so equal seeds may not give "
        "equal bits.",
        "A GPU may add numbers in a different order in every run",
        ("gpu",),
    ),
    Difference(
        "10-precision",
        "The result of casting a float to an integer dtype that cannot hold it is only claimed "
        "for CPUs.",
        "254 to 258 saturate at 255",
    ),
    Difference(
        "04-out-of-bounds",
        "Which element a NaN index or `promise_in_bounds` reads is only claimed for CPUs.",
        "On a CPU, you get the last element, but JAX does not guarantee this",
    ),
    Difference(
        "09-nans",
        "The results of integer division by zero, of NaN times a boolean mask, and of a root that "
        "is NaN only under `jit` are only claimed for CPUs.",
        "on a CPU, 1 // 0 is -2, and 5 % 0 is 0",
    ),
    Difference(
        "03-immutable-arrays",
        "When an array shares its memory with NumPy or PyTorch is only claimed for CPUs.",
        "device_put shares an aligned buffer",
    ),
    Difference(
        "14-debugging",
        "The order of debug prints inside `lax.map` is only claimed for CPUs.",
        "under map, the second print comes first",
    ),
)
"""All differences, with the most important first."""

CHAPTERS_WITH_CPU_CLAIMS = (
    "01",
    "03",
    "04",
    "05",
    "07",
    "09",
    "10",
    "12",
    "14",
    "16",
    "17",
    "18",
    "20",
)
"""The numbers of the chapters that make some claims only for CPUs."""


def differences(backend: str) -> list[str]:
    """Return the differences that apply to a backend, one line each.

    Args:
        backend: ``"cpu"``, ``"gpu"``, or ``"tpu"``, as `jax.default_backend` returns it.

    Returns:
        The lines. For a CPU, the list is empty, because the book's outputs were computed on a CPU.

    >>> differences("cpu")
    []
    >>> differences("gpu")[1].partition(": ")[2]
    "JAX takes three quarters of a GPU's memory with its first array."
    """
    lines = [str(difference) for difference in DIFFERENCES if backend in difference.backends]
    if lines:
        numbers = CHAPTERS_WITH_CPU_CLAIMS
        chapters = f"{', '.join(numbers[:-1])} and {numbers[-1]}"
        lines.append(f"Chapters {chapters} skip the claims that are made for CPUs only.")
    return lines
