"""Test the experiment that trains a GRU: its determinism, settings, and dtypes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import x64_on
from jaxbits.book.experiments.gru_training import (
    SETTINGS,
    STEPS,
    draw_batches,
    initial_state,
    is_identical,
    r2_score,
    relative_weight_distance,
    train,
    train_step,
)
from jaxbits.book.experiments.settings_vector import from_arrays, from_lists

# The gate compares the results of chapter 18, which trains the same network.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def list_run():
    return train(from_lists(SETTINGS), 0)


def test_train_reduces_loss(list_run):
    assert list_run.losses.shape == (STEPS,)
    assert list_run.losses[-1] < 0.05 * list_run.losses[0]
    assert r2_score(list_run) > 0.99


def test_train_is_deterministic_and_independent_of_packing(list_run):
    assert is_identical(list_run, train(from_lists(SETTINGS), 0))
    assert is_identical(list_run, train(from_arrays(SETTINGS), 0))
    assert is_identical(list_run, train(SETTINGS, 0))
    assert not relative_weight_distance(list_run, train(SETTINGS, 0)).any()


def test_train_depends_on_nudge_and_seed(list_run):
    nudged, other_seed = train(SETTINGS, 0, 1), train(SETTINGS, 1)
    assert not is_identical(list_run, nudged)
    assert (relative_weight_distance(list_run, nudged) > 0).all()
    assert relative_weight_distance(list_run, nudged)[0] < 1e-6
    assert relative_weight_distance(list_run, other_seed)[0] > 0.1


def test_train_starts_from_given_state():
    assert is_identical(train(SETTINGS, 0, start=initial_state(0, 1)), train(SETTINGS, 0, 1))


def test_train_uses_dtype_for_weights_and_losses():
    with x64_on():
        run = train(SETTINGS, 0, dtype="float64")
        assert r2_score(run) > 0.99
    assert {str(leaf.dtype) for leaf in jax.tree.leaves(run)} == {"float64"}


def test_is_identical_compares_dtypes(list_run):
    wider = list_run._replace(losses=np.asarray(list_run.losses, np.float64))
    assert not is_identical(list_run, wider)


def test_initial_state_moves_one_weight_to_the_next_float():
    weights, nudged = (jax.flatten_util.ravel_pytree(initial_state(0, n)[0])[0] for n in (0, 1))
    (moved,) = np.flatnonzero(weights != nudged)
    assert moved == np.argmax(weights)
    assert nudged[moved] == np.nextafter(weights[moved], np.float32(np.inf))


def test_draw_batches_does_not_depend_on_x64():
    batches = draw_batches(3)
    with x64_on():
        again = draw_batches(3)
    assert {part.dtype for part in (*batches, *again)} == {np.dtype("float32")}
    assert all((a == b).all() for a, b in zip(batches, again, strict=True))


def test_train_step_matches_first_step_of_train(list_run):
    batch = jax.tree.map(lambda part: part[0], draw_batches(0))
    (weights, _), loss = jax.jit(train_step)(initial_state(0), SETTINGS, batch)
    assert float(loss) == pytest.approx(float(list_run.losses[0]), rel=1e-5)
    flat = jax.flatten_util.ravel_pytree(weights)[0]
    assert jnp.allclose(flat, list_run.weights[0], atol=1e-5)
