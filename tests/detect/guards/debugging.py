"""Programs with problems that the guards in chapter 14-debugging catch."""

import jax
import jax.numpy as jnp


def mean_per_visit(w, spent, visits):
    return jnp.where(visits > 0, (w - spent) ** 2 / visits, 0.0).mean()


@jax.jit
def step(w, spent, visits):
    return w - 0.1 * jax.grad(mean_per_visit)(w, spent, visits)


EXAMPLES = [
    (
        "nan-seen-a-step-late",
        "nan",
        step,
        (jnp.float32(1.0), jnp.arange(3.0), jnp.array([2.0, 0.0, 1.0])),
        {},
    ),
]
