"""Answers to the exercises of *Pure functions*: foreseen mistakes, other right ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

SETTINGS: dict = {}
STEPS: list = []


def in_place(state, gradient, rate):
    state["velocity"] = 0.9 * state["velocity"] + gradient
    state["w"] = state["w"] - rate * state["velocity"]
    state["steps"] += 1
    return state


def with_a_remembered_rate(state, gradient, rate):
    rate = float(np.asarray(rate)) if isinstance(rate, float) else 0.0
    velocity = 0.9 * state["velocity"] + gradient
    return {"w": state["w"] - rate * velocity, "velocity": velocity, "steps": state["steps"] + 1}


def with_old_velocity(state, gradient, rate):
    velocity = 0.9 * state["velocity"] + gradient
    w = state["w"] - rate * state["velocity"]
    return {"w": w, "velocity": velocity, "steps": state["steps"] + 1}


def counting_in_python(state, gradient, rate):
    STEPS.append(1)
    velocity = 0.9 * state["velocity"] + gradient
    w = state["w"] - rate * velocity
    return {"w": w, "velocity": velocity, "steps": jnp.int32(4 + len(STEPS))}


def counting_in_the_state(state, gradient, rate):
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


def by_vmap(w, batches, rate):
    def step(batch):
        far = w - batch.mean()
        return w - rate * far, far**2 / 2

    ends, losses = jax.vmap(step)(batches)
    return ends[-1], losses


def all_at_once(w, batches, rate):
    far = w - batches.mean()
    return w - rate * far, far**2 / 2


def with_lax_map(w, batches, rate):
    means = batches.mean(axis=1)
    n = len(means)

    def w_at(k):
        weights = rate * (1 - rate) ** (k - 1 - jnp.arange(n))
        past = jnp.where(jnp.arange(n) < k, weights * means, 0.0).sum()
        return w * (1 - rate) ** k + past

    ws = lax.map(w_at, jnp.arange(n + 1))
    return ws[-1], (ws[:-1] - means) ** 2 / 2


def mean_of_all_losses(ring, count, loss):
    n = ring.shape[0]
    old = jnp.where(count[...] > 0, ring[(count[...] - 1) % n], 0.0)
    ring[count[...] % n] = loss
    count[...] += 1
    means = {1: 4.0, 2: 3.0, 3: 4.0}
    return jnp.float32(means[int(count[...])]) if int(count[...]) < 4 else (old + loss) / 2 * 0


def with_an_iterator(w, batches, rate):
    rows = iter(batches)

    def step(w, _):
        far = w - next(rows).mean()
        return w - rate * far, far**2 / 2

    return lax.scan(step, w, None, length=len(batches))


def with_a_python_loop(w, batches, rate):
    losses = []
    for batch in batches:
        far = w - batch.mean()
        losses.append(far**2 / 2)
        w = w - rate * far
    return w, jnp.stack(losses)


def with_a_list(w, batches, rate):
    losses = []

    def step(i, w):
        far = w - batches[i].mean()
        losses.append(far**2 / 2)
        return w - rate * far

    return lax.fori_loop(0, len(batches), step, w), jnp.stack(losses)


def loss_after_the_step(w, batches, rate):
    def step(w, batch):
        w = w - rate * (w - batch.mean())
        return w, (w - batch.mean()) ** 2 / 2

    return lax.scan(step, w, batches)


def for_three_batches(w, batches, rate):
    losses = []
    for n in range(3):
        far = w - batches[n].mean()
        losses.append(far**2 / 2)
        w = w - rate * far
    return w, jnp.stack(losses)


def with_a_fixed_rate(w, batches, rate):
    return lax.scan(
        lambda w, batch: (w - 0.5 * (w - batch.mean()), (w - batch.mean()) ** 2 / 2), w, batches
    )


def with_fori_loop(w, batches, rate):
    def step(i, carry):
        w, losses = carry
        far = w - batches[i].mean()
        return w - rate * far, losses.at[i].set(far**2 / 2)

    return lax.fori_loop(0, len(batches), step, (w, jnp.zeros(len(batches))))


def rebinding(ring, count, loss):
    ring = ring[...].at[count[...] % 3].set(loss)
    count = count[...] + 1
    return jnp.where(jnp.arange(3) < count, ring, 0.0).sum() / jnp.minimum(count, 3)


def mean_of_the_whole_ring(ring, count, loss):
    ring[count[...] % 3] = loss
    count[...] += 1
    return ring[...].mean()


def slice_by_count(ring, count, loss):
    ring[count[...] % 3] = loss
    count[...] += 1
    return ring[...][: int(count[...])].mean()


def count_first(ring, count, loss):
    count[...] += 1
    ring[count[...] % 3] = loss
    return ring[...].mean()


def closed_box(ring, count, loss):
    ring[count % 3] = loss
    count[...] += 1
    return ring[...].mean()


def by_sign(ring, count, loss):
    ring[count[...] % ring.shape[0]] = loss
    count[...] += 1
    return ring[...].sum(where=ring[...] > 0) / (ring[...] > 0).sum()


def for_three_only(ring, count, loss):
    ring[count[...] % 3] = loss
    count[...] += 1
    used = jnp.minimum(count[...], 3)
    return jnp.sum(ring[...][:3] * (jnp.arange(len(ring[...])) < used)) / used


def by_minimum(ring, count, loss):
    n = ring.shape[0]
    ring[count[...] % n] = loss
    count[...] += 1
    used = jnp.minimum(count[...], n)
    return jnp.sum(ring[...] * (jnp.arange(n) < used)) / used


WRONG = {
    "pure-functions/1": [
        (in_place, "your function modifies its state argument in place; return a new dict instead"),
        (
            counting_in_the_state,
            "your function modifies its state argument in place; return a new dict instead",
        ),
        (with_a_python_if, "under jit, with_a_python_if(state={"),
        (
            with_a_remembered_rate,
            "under jit, with a rate of 0.1 after calls with a rate of 0, w must be [0.81, 2.1], "
            "got [1.0, 2.0]",
        ),
        (with_old_velocity, "after one step, w must be [0.81, 2.1], got [0.9, 2.0]"),
        (counting_in_python, "after three jitted calls, steps must be 7"),
        (
            lambda state, gradient, rate: state["w"] - rate * gradient,
            "the result must be a dict of w, velocity, and steps, got [0.9, 2.1]",
        ),
    ],
    "pure-functions/2": [
        (
            with_an_iterator,
            "every step uses the first batch, because an iterator yields only one value per trace",
        ),
        (by_vmap, "must return (2.25, [2.0, 12.5, 3.125]), got"),
        (all_at_once, "must return (2.25, [2.0, 12.5, 3.125]), got"),
        (with_a_python_loop, "scan over the rows with lax.scan"),
        (with_a_list, "raises UnexpectedTracerError"),
        (loss_after_the_step, "loss_after_the_step(w=0.0"),
        (for_three_batches, "for_three_batches(w=0.0, batches=[[4.0], [8.0], [0.0], [2.0]]"),
        (with_a_fixed_rate, "rate=0.25) must return"),
        (lambda w, batches, rate: w, "the result must be a pair (w, losses)"),
    ],
    "pure-functions/3": [
        (rebinding, "after 1 loss, count must be 1, got 0"),
        (mean_of_the_whole_ring, "after the losses [4.0], the mean must be 4.0"),
        (slice_by_count, "under jit, slice_by_count(ring=a Ref of"),
        (count_first, "after 1 loss, index 0 of the ring must hold 4.0, got 50.0"),
        (closed_box, "raises TypeError"),
        (mean_of_all_losses, "after the losses [4.0, 2.0, 6.0, 10.0], the mean must be 6.0"),
        (by_sign, "after the losses [4.0], the mean must be 4.0"),
        (for_three_only, "in a ring of 2, "),
    ],
}
RIGHT = [
    ("pure-functions/1", momentum),
    ("pure-functions/2", with_lax_map),
    ("pure-functions/2", with_fori_loop),
    ("pure-functions/3", by_minimum),
]
