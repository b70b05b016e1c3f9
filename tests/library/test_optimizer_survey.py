"""Test the survey of the dtypes that Optax optimizers change."""

import jax
import jax.numpy as jnp
import optax
import pytest
from optax import contrib

from jaxbits.book.experiments.optimizer_survey import (
    DTYPE_COMBINATIONS,
    UpdateOutcome,
    composite_optimizers,
    optax_optimizers,
    survey,
    survey_unstable,
)
from jaxbits.optim import dtype_stable

SAME = ("float32", "float32", "float32")
HALF = ("bfloat16", "bfloat16", "float32")
WIDE = ("bfloat16", "float32", "float32")
KNOWN_OPTIMIZERS = """
    adabelief adafactor adam adamw lamb lbfgs lion nadam nadamw novograd polyak_sgd sgd sm3 yogi
    contrib.dpsgd contrib.muon contrib.prodigy contrib.schedule_free_adamw contrib.sophia
"""


def test_optax_optimizers_returns_exported_optimizers():
    found = optax_optimizers()
    assert set(KNOWN_OPTIMIZERS.split()) <= set(found)
    assert not [name for name in found if "scale_by" in name or "._" in name or name[0] == "_"]
    for name in found:
        module = contrib if name.startswith("contrib.") else optax
        assert callable(getattr(module, name.removeprefix("contrib.")))


@pytest.mark.parametrize(
    ("make_optimizer", "dtypes", "verdict", "growth"),
    [
        (lambda: optax.sgd(0.1), SAME, "stable", 1.0),
        (lambda: optax.sgd(0.1), WIDE, "updates", 1.0),
        (lambda: optax.adam(0.1), HALF, "stable", 1.0),
        (lambda: optax.adam(0.1), WIDE, "state", 1.5),
        (lambda: optax.sgd(0.1, momentum=0.9), WIDE, "state", 2.0),
        (lambda: optax.novograd(0.1), WIDE, "raises", 1.0),
        (composite_optimizers()["backtracking"], SAME, "weak", 1.0),
        (composite_optimizers()["apply_if_finite"], WIDE, "raises", 1.0),
        (lambda: optax.adam(0.1), ("float32", "float64", "float64"), "state", 1.5),
    ],
)
def test_survey_returns_verdict_and_growth(make_optimizer, dtypes, verdict, growth):
    outcome = survey({"it": make_optimizer}, [dtypes])["it"][dtypes]
    assert (outcome.verdict, outcome.growth) == (verdict, growth)
    assert bool(outcome.error) == (verdict == "raises")


def test_survey_names_each_leaf_with_changed_dtype():
    outcome = survey({"adam": lambda: optax.adam(0.1)}, [WIDE])["adam"][WIDE]
    assert outcome.state == (
        "[0].mu['b']: bfloat16 -> float32",
        "[0].mu['w']: bfloat16 -> float32",
    )
    assert outcome.updates == ("float32",)
    assert UpdateOutcome(state=("a: ~int32 -> int32",)).verdict == "weak"


@pytest.mark.parametrize(
    ("make_optimizer", "dtypes", "traces"),
    [
        (lambda: optax.adam(0.1), SAME, 1),
        (lambda: optax.adam(0.1), ("float16", "float16", "float32"), 1),
        (lambda: optax.adam(0.1), WIDE, 2),
        (lambda: optax.novograd(0.1), WIDE, 0),
    ],
)
def test_survey_counts_traces(make_optimizer, dtypes, traces):
    assert dtypes in DTYPE_COMBINATIONS
    assert survey({"it": make_optimizer}, [dtypes])["it"][dtypes].traces == traces


def test_survey_counts_as_many_traces_as_jit():
    tx, params = optax.adam(0.1), {"w": jnp.ones(2, jnp.bfloat16)}
    update, state = jax.jit(tx.update), tx.init(params)
    for _ in range(3):
        _, state = update({"w": jnp.ones(2, jnp.float32)}, state, params)
    assert update._cache_size() == survey({"adam": lambda: tx}, [WIDE])["adam"][WIDE].traces


def test_survey_unstable_repeats_only_unstable_combinations():
    seen = survey({"adam": lambda: optax.adam(0.1), "sgd": lambda: optax.sgd(0.1)}, [SAME, WIDE])
    repeated = survey_unstable(seen, dtype_stable)
    assert {name: list(row) for name, row in repeated.items()} == {"adam": [WIDE], "sgd": [WIDE]}
    assert {row[WIDE].verdict for row in repeated.values()} == {"stable"}


def test_survey_leaves_x64_off():
    survey({"sgd": lambda: optax.sgd(0.1)})
    assert jnp.arange(2.0).dtype == jnp.float32


def test_survey_reports_changed_tree_structure():
    growing = optax.GradientTransformation(lambda p: {}, lambda u, s, p: (u, {"new": p}))
    outcome = survey({"grows": lambda: growing}, [SAME])["grows"][SAME]
    assert outcome.verdict == "raises"
    assert "tree" in outcome.error
