"""What every benchmark needs: interleaved timing, medians and their spread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def spread(values: Sequence[float], unit: str) -> dict[str, Any]:
    """Return the median of the values, the quartiles around it, and how many there were.

    Raises:
        ValueError: when there are fewer than three.

    >>> spread([3.0, 1.0, 2.0], "ms")
    {'unit': 'ms', 'median': 2.0, 'q1': 1.5, 'q3': 2.5, 'repeats': 3}
    """
    if len(values) < 3:
        raise ValueError(f"values should be three or more, were {len(values)}")
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    rounded = {"median": median, "q1": q1, "q3": q3}
    return {"unit": unit, **{k: significant(v) for k, v in rounded.items()}, "repeats": len(values)}


def significant(value: float, digits: int = 4) -> float:
    """Round to as many digits as a timing is worth.

    >>> significant(1234.567), significant(0.00123456)
    (1235.0, 0.001235)
    """
    return float(f"{value:.{digits}g}")


def interleaved(
    functions: Mapping[str, Callable[[], object]], rounds: int, calls: Mapping[str, int]
) -> dict[str, list[float]]:
    """Time the functions in turns, so that a busy moment of the machine meets all of them alike.

    Args:
        functions: what to call; each returns when its work is done.
        rounds: how many samples to take of each.
        calls: how many calls one sample of each function has.

    Returns:
        For each function its samples, in seconds a call.
    """
    samples: dict[str, list[float]] = {name: [] for name in functions}
    names = list(functions)
    for turn in range(rounds):
        shift = turn % len(names)  # nobody is always first
        for name in names[shift:] + names[:shift]:
            function, times = functions[name], calls[name]
            started = time.perf_counter()
            for _ in range(times):
                function()
            samples[name].append((time.perf_counter() - started) / times)
    return samples


def ratio(slow: Sequence[float], fast: Sequence[float]) -> dict[str, Any]:
    """Return how many times slower one is than the other, round by round."""
    return spread([a / b for a, b in zip(slow, fast, strict=True)], "times")
