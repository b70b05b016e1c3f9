"""Time functions alternately, and summarize the samples as a median and quartiles."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def quartiles(values: Sequence[float], unit: str) -> dict[str, Any]:
    """Return the median and quartiles of some samples, with their unit and number.

    Args:
        values: The samples, of which there must be at least three.
        unit: The unit of the samples, such as ``ms``.

    Raises:
        ValueError: If there are fewer than three samples.

    Example:
        >>> quartiles([3.0, 1.0, 2.0], "ms")
        {'unit': 'ms', 'median': 2.0, 'q1': 1.5, 'q3': 2.5, 'repeats': 3}
    """
    if len(values) < 3:
        raise ValueError(f"values must contain at least 3 samples, got {len(values)}")
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    rounded = {"median": median, "q1": q1, "q3": q3}
    return {
        "unit": unit,
        **{k: round_significant(v) for k, v in rounded.items()},
        "repeats": len(values),
    }


def round_significant(value: float, digits: int = 4) -> float:
    """Return a value rounded to a given number of significant digits.

    Args:
        value: The value to round.
        digits: The number of digits. More than four would only show noise in a timing.

    Example:
        >>> round_significant(1234.567), round_significant(0.00123456)
        (1235.0, 0.001235)
    """
    return float(f"{value:.{digits}g}")


def time_interleaved(
    functions: Mapping[str, Callable[[], object]], rounds: int, calls: Mapping[str, int]
) -> dict[str, list[float]]:
    """Time functions alternately, so that other load on the machine affects them all equally.

    Args:
        functions: The functions, keyed by name. Each one must return only when its work is done.
        rounds: The number of samples per function.
        calls: The number of calls per sample for each function.

    Returns:
        Each function's samples, in seconds per call.
    """
    samples: dict[str, list[float]] = {name: [] for name in functions}
    names = list(functions)
    for turn in range(rounds):
        shift = turn % len(names)  # Rotate the order, so that no function always comes first.
        for name in names[shift:] + names[:shift]:
            function, times = functions[name], calls[name]
            started = time.perf_counter()
            for _ in range(times):
                function()
            samples[name].append((time.perf_counter() - started) / times)
    return samples


def ratio_quartiles(slow: Sequence[float], fast: Sequence[float]) -> dict[str, Any]:
    """Return the median and quartiles of the per-round ratios of two functions' samples.

    Args:
        slow: The samples in the numerator.
        fast: The samples in the denominator.
    """
    return quartiles([a / b for a, b in zip(slow, fast, strict=True)], "times")
