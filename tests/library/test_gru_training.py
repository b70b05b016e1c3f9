import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import x64_on
from jaxbits.book.experiments.gru_training import (
    SETTINGS,
    STEPS,
    initial_state,
    is_identical,
    r2_score,
    relative_weight_distance,
    train,
    train_step,
)
from jaxbits.book.experiments.settings_vector import pack, unpack


def packed(*, as_arrays):
    return unpack(pack(SETTINGS, as_arrays=as_arrays).segments, SETTINGS)


@pytest.fixture(scope="module")
def lists():
    return train(packed(as_arrays=False), 0)


def test_train_reduces_the_loss(lists):
    assert lists.losses.shape == (STEPS,)
    assert lists.losses[-1] < 0.05 * lists.losses[0]
    assert r2_score(lists) > 0.99


def test_a_run_repeats_itself_and_the_packing_does_not_matter(lists):
    assert is_identical(lists, train(packed(as_arrays=False), 0))
    assert is_identical(lists, train(packed(as_arrays=True), 0))
    assert is_identical(lists, train(SETTINGS, 0))
    assert not relative_weight_distance(lists, train(SETTINGS, 0)).any()


def test_a_last_digit_and_a_seed_change_the_run(lists):
    moved, other = train(SETTINGS, 0, 1), train(SETTINGS, 1)
    assert not is_identical(lists, moved)
    assert (relative_weight_distance(lists, moved) > 0).all()
    assert relative_weight_distance(lists, moved)[0] < 1e-6
    assert relative_weight_distance(lists, other)[0] > 0.1


def test_the_dtype_is_that_of_weights_and_losses():
    with x64_on():
        run = train(SETTINGS, 0, dtype="float64")
    assert {str(part.dtype) for part in run} == {"float64"}
    assert r2_score(run) > 0.99


def test_is_identical_compares_dtypes(lists):
    wider = lists._replace(losses=np.asarray(lists.losses, np.float64))
    assert not is_identical(lists, wider)


def test_train_step_alone_equals_the_first_step_of_train(lists):
    state = initial_state(0)
    key = jax.random.split(jax.random.fold_in(jax.random.key(0), 1), STEPS)[0]
    (weights, _), before = jax.jit(train_step)(state, SETTINGS, key)
    assert float(before) == pytest.approx(float(lists.losses[0]), rel=1e-5)
    flat = jax.flatten_util.ravel_pytree(weights)[0]
    assert jnp.allclose(flat, lists.weights[0], atol=1e-5)
