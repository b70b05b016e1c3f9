"""Measure how far x64 training runs diverge if their settings are packed differently."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from book_tools.benchmarking.timing import (
    quartiles,
    ratio_quartiles,
    round_significant,
    time_interleaved,
)
from jaxbits import x64_on
from jaxbits.book.experiments.gru_training import (
    SETTINGS,
    STEPS,
    TrainingRun,
    is_identical,
    r2_score,
    relative_weight_distance,
    train,
)
from jaxbits.book.experiments.settings_vector import from_arrays, from_lists

TITLE = "a GRU trained from lists and from arrays of settings, x64 on"
ROUNDS, SEEDS = 9, 5
RATES = {"calm": SETTINGS["training"]["rate"], "restless": 0.4}
SHOWN = [*range(1, 11), *range(15, 50, 5), *range(50, STEPS + 1, 10)]


def _runs(rate: float) -> dict[str, list[TrainingRun]]:
    """Train from lists, from arrays, and from lists with one weight changed, for each seed."""
    settings = SETTINGS | {"training": {"rate": rate}}
    lists, arrays = from_lists(settings), from_arrays(settings)
    return {
        "lists": [train(lists, seed) for seed in range(SEEDS)],
        "arrays": [train(arrays, seed) for seed in range(SEEDS)],
        "one weight changed": [train(lists, seed, 1) for seed in range(SEEDS)],
    }


def _short(values: Any) -> list[float]:
    """Return the values at the steps that the figure shows, with as many digits as it needs."""
    return [round_significant(float(values[step - 1])) for step in SHOWN]


def run() -> dict[str, Any]:
    """Train with a low and a high learning rate, and time the run with the low rate."""
    with x64_on():
        done = {name: _runs(rate) for name, rate in RATES.items()}
        lists, arrays = from_lists(SETTINGS), from_arrays(SETTINGS)
        ways = {
            "300 steps, from lists": lambda: jax.block_until_ready(train(lists, 0)),
            "300 steps, from arrays": lambda: jax.block_until_ready(train(arrays, 0)),
        }
        samples = time_interleaved(ways, ROUNDS, dict.fromkeys(ways, 1))
    calm = done["calm"]
    one, other = (np.asarray(calm[kind][0].losses, np.float64) for kind in ("lists", "arrays"))
    scores = {n: {k: [r2_score(r) for r in rs] for k, rs in d.items()} for n, d in done.items()}
    series: dict[str, Any] = {
        "steps": SHOWN,
        "rates": RATES,
        "losses": {"lists": _short(one), "arrays": _short(other)},
        "loss difference": _short(np.abs(one - other) / other),
        "scores": scores,
    }
    for name, found in done.items():
        pairs = zip(found["lists"], found["lists"][1:], strict=False)
        series[name] = {
            "arrays": [
                _short(relative_weight_distance(*p))
                for p in zip(found["lists"], found["arrays"], strict=True)
            ],
            "one weight changed": [
                _short(relative_weight_distance(*p))
                for p in zip(found["lists"], found["one weight changed"], strict=True)
            ],
            "another seed": [_short(relative_weight_distance(*p)) for p in pairs],
        }
    parted = [not is_identical(*p) for p in zip(calm["lists"], calm["arrays"], strict=True)]
    changed = np.abs(np.subtract(scores["calm"]["arrays"], scores["calm"]["lists"])).max()
    return {
        "results": {n: quartiles([1e3 * s for s in times], "ms") for n, times in samples.items()},
        "ratios": {
            "arrays against lists": ratio_quartiles(
                samples["300 steps, from arrays"], samples["300 steps, from lists"]
            )
        },
        "series": series,
        "checks": {
            "all seeds part": all(parted),
            "the scores move by less than a millionth": bool(changed < 1e-6),
        },
    }
