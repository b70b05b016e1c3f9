"""Right and wrong answers to the exercises on pure functions."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

SETTINGS: dict = {}
STEPS: list = []


def update_in_place(state, gradient, rate):
    state["velocity"] = 0.9 * state["velocity"] + gradient
    state["w"] = state["w"] - rate * state["velocity"]
    state["steps"] += 1
    return state


def remember_rate(state, gradient, rate):
    rate = float(np.asarray(rate)) if isinstance(rate, float) else 0.0
    velocity = 0.9 * state["velocity"] + gradient
    return {"w": state["w"] - rate * velocity, "velocity": velocity, "steps": state["steps"] + 1}


def use_old_velocity(state, gradient, rate):
    velocity = 0.9 * state["velocity"] + gradient
    w = state["w"] - rate * state["velocity"]
    return {"w": w, "velocity": velocity, "steps": state["steps"] + 1}


def count_in_python(state, gradient, rate):
    STEPS.append(1)
    velocity = 0.9 * state["velocity"] + gradient
    w = state["w"] - rate * velocity
    return {"w": w, "velocity": velocity, "steps": jnp.int32(4 + len(STEPS))}


def count_in_state(state, gradient, rate):
    state["steps"] += 1
    velocity = 0.9 * state["velocity"] + gradient
    return {"w": state["w"] - rate * velocity, "velocity": velocity, "steps": state["steps"]}


def with_a_python_if(state, gradient, rate):
    velocity = 0.9 * state["velocity"] + gradient
    w = state["w"] - rate * velocity if rate > 0 else state["w"]
    return {"w": w, "velocity": velocity, "steps": state["steps"] + 1}


def momentum(state, gradient, rate):
    velocity = 0.9 * state["velocity"] + gradient
    new = {"w": state["w"] - rate * velocity, "velocity": velocity}
    return state | new | {"steps": state["steps"] + 1}


def use_vmap(w, batches, rate):
    def step(batch):
        error = w - batch.mean()
        return w - rate * error, error**2 / 2

    ends, losses = jax.vmap(step)(batches)
    return ends[-1], losses


def average_all_batches(w, batches, rate):
    error = w - batches.mean()
    return w - rate * error, error**2 / 2


def use_lax_map(w, batches, rate):
    means = batches.mean(axis=1)
    n = len(means)

    def w_at(k):
        weights = rate * (1 - rate) ** (k - 1 - jnp.arange(n))
        past = jnp.where(jnp.arange(n) < k, weights * means, 0.0).sum()
        return w * (1 - rate) ** k + past

    ws = lax.map(w_at, jnp.arange(n + 1))
    return ws[-1], (ws[:-1] - means) ** 2 / 2


def hard_code_means(ring, count, loss):
    n = ring.shape[0]
    old = jnp.where(count[...] > 0, ring[(count[...] - 1) % n], 0.0)
    ring[count[...] % n] = loss
    count[...] += 1
    means = {1: 4.0, 2: 3.0, 3: 4.0}
    return jnp.float32(means[int(count[...])]) if int(count[...]) < 4 else (old + loss) / 2 * 0


def use_iterator(w, batches, rate):
    rows = iter(batches)

    def step(w, _):
        error = w - next(rows).mean()
        return w - rate * error, error**2 / 2

    return lax.scan(step, w, None, length=len(batches))


def use_python_loop(w, batches, rate):
    losses = []
    for batch in batches:
        error = w - batch.mean()
        losses.append(error**2 / 2)
        w = w - rate * error
    return w, jnp.stack(losses)


def append_to_list(w, batches, rate):
    losses = []

    def step(i, w):
        error = w - batches[i].mean()
        losses.append(error**2 / 2)
        return w - rate * error

    return lax.fori_loop(0, len(batches), step, w), jnp.stack(losses)


def loss_after_the_step(w, batches, rate):
    def step(w, batch):
        w = w - rate * (w - batch.mean())
        return w, (w - batch.mean()) ** 2 / 2

    return lax.scan(step, w, batches)


def for_three_batches(w, batches, rate):
    losses = []
    for n in range(3):
        error = w - batches[n].mean()
        losses.append(error**2 / 2)
        w = w - rate * error
    return w, jnp.stack(losses)


def use_fixed_rate(w, batches, rate):
    return lax.scan(
        lambda w, batch: (w - 0.5 * (w - batch.mean()), (w - batch.mean()) ** 2 / 2), w, batches
    )


def use_fori_loop(w, batches, rate):
    def step(i, carry):
        w, losses = carry
        error = w - batches[i].mean()
        return w - rate * error, losses.at[i].set(error**2 / 2)

    return lax.fori_loop(0, len(batches), step, (w, jnp.zeros(len(batches))))


def rebind_refs(ring, count, loss):
    ring = ring[...].at[count[...] % 3].set(loss)
    count = count[...] + 1
    return jnp.where(jnp.arange(3) < count, ring, 0.0).sum() / jnp.minimum(count, 3)


def average_whole_ring(ring, count, loss):
    ring[count[...] % 3] = loss
    count[...] += 1
    return ring[...].mean()


def slice_by_count(ring, count, loss):
    ring[count[...] % 3] = loss
    count[...] += 1
    return ring[...][: int(count[...])].mean()


def increment_count_first(ring, count, loss):
    count[...] += 1
    ring[count[...] % 3] = loss
    return ring[...].mean()


def index_with_ref(ring, count, loss):
    ring[count % 3] = loss
    count[...] += 1
    return ring[...].mean()


def average_positive_values(ring, count, loss):
    ring[count[...] % ring.shape[0]] = loss
    count[...] += 1
    return ring[...].sum(where=ring[...] > 0) / (ring[...] > 0).sum()


def assume_ring_of_three(ring, count, loss):
    ring[count[...] % 3] = loss
    count[...] += 1
    used = jnp.minimum(count[...], 3)
    return jnp.sum(ring[...][:3] * (jnp.arange(len(ring[...])) < used)) / used


def mask_unused_entries(ring, count, loss):
    n = ring.shape[0]
    ring[count[...] % n] = loss
    count[...] += 1
    used = jnp.minimum(count[...], n)
    return jnp.sum(ring[...] * (jnp.arange(n) < used)) / used


WRONG = {
    "pure-functions/1": [
        (
            update_in_place,
            "your function modifies its state argument in place; return a new dict instead",
        ),
        (
            count_in_state,
            "your function modifies its state argument in place; return a new dict instead",
        ),
        (with_a_python_if, "under jit, with_a_python_if(state={"),
        (
            remember_rate,
            "under jit, with a rate of 0.1 after calls with a rate of 0, w must be [0.81, 2.1], "
            "got [1.0, 2.0]",
        ),
        (use_old_velocity, "after one step, w must be [0.81, 2.1], got [0.9, 2.0]"),
        (count_in_python, "after three jitted calls, steps must be 7"),
        (
            lambda state, gradient, rate: state["w"] - rate * gradient,
            "the result must be a dict of w, velocity, and steps, got [0.9, 2.1]",
        ),
    ],
    "pure-functions/2": [
        (
            use_iterator,
            "every step uses the first batch, because an iterator yields only one value per trace",
        ),
        (use_vmap, "must return (2.25, [2.0, 12.5, 3.125]), got"),
        (average_all_batches, "must return (2.25, [2.0, 12.5, 3.125]), got"),
        (use_python_loop, "scan over the rows with lax.scan"),
        (append_to_list, "raises UnexpectedTracerError"),
        (loss_after_the_step, "loss_after_the_step(w=0.0"),
        (for_three_batches, "for_three_batches(w=0.0, batches=[[4.0], [8.0], [0.0], [2.0]]"),
        (use_fixed_rate, "rate=0.25) must return"),
        (lambda w, batches, rate: w, "the result must be a pair (w, losses)"),
    ],
    "pure-functions/3": [
        (rebind_refs, "after 1 loss, count must be 1, got 0"),
        (average_whole_ring, "after the losses [4.0], the mean must be 4.0"),
        (slice_by_count, "under jit, slice_by_count(ring=a Ref of"),
        (increment_count_first, "after 1 loss, index 0 of the ring must hold 4.0, got 50.0"),
        (index_with_ref, "raises TypeError"),
        (hard_code_means, "after the losses [4.0, 2.0, 6.0, 10.0], the mean must be 6.0"),
        (average_positive_values, "after the losses [4.0], the mean must be 4.0"),
        (assume_ring_of_three, "in a ring of 2, "),
    ],
}
RIGHT = [
    ("pure-functions/1", momentum),
    ("pure-functions/2", use_lax_map),
    ("pure-functions/2", use_fori_loop),
    ("pure-functions/3", mask_unused_entries),
]
