"""Answers to the exercises of *A classifier from data to checkpoint*: foreseen mistakes."""

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxbits import xor


def step_up(params, x, y, loss_of):
    loss, slopes = jax.value_and_grad(loss_of)(params, x, y)
    return jax.tree.map(lambda p, g: p + 0.1 * g, params, slopes), loss


def step_then_loss(params, x, y, loss_of):
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_of)(params, x, y))
    return new, loss_of(new, x, y)


def python_epoch(step, params, inputs, labels):
    losses = []
    for x, y in zip(inputs, labels, strict=True):
        params, loss = step(params, x, y)
        losses.append(loss)
    return params, jnp.stack(losses)


def forgetful(params, grads, tx):
    for grad in grads:
        params = params + tx.update(grad, tx.init(params), params)[0]
    return params


def from_scratch(path, tx, loader, epochs):
    return xor.fit(xor.create_state(0, tx=tx), loader, epochs=epochs, progress=False)[0]


def all_epochs_again(path, tx, loader, epochs):
    state = xor.restore(path, xor.create_state(0, tx=tx))
    return xor.fit(state, loader, epochs=epochs, progress=False)[0]


def half_known(path, tx, loader, epochs):
    state = xor.restore(path, xor.create_state(0, tx=tx))
    return xor.fit(state, loader, epochs=epochs, first_epoch=epochs // 2, progress=False)[0]


WRONG = {
    "xor/1": [
        (lambda samples: [np.stack(part) for part in zip(*samples, strict=True)], "returns a list"),
        (
            lambda samples: torch.utils.data.default_collate(samples),
            "it returns a list",
        ),
        (
            lambda samples: tuple(torch.utils.data.default_collate(samples)),
            "its inputs are torch.Tensor",
        ),
        (
            lambda samples: tuple(np.array(p, np.float64) for p in zip(*samples, strict=True)),
            "the inputs were float32",
        ),
    ],
    "xor/2": [
        (step_up, "it climbs"),
        (step_then_loss, "(before the step)"),
        (lambda p, x, y, f: jax.grad(f)(p, x, y), "should return a tuple"),
        (lambda p, x, y, f: step_then_loss(p, x, y, f)[::-1], "the loss comes first"),
    ],
    "xor/3": [
        (python_epoch, "a loop, unrolled"),
        (
            lambda step, p, x, y: jax.lax.scan(lambda p, b: step(p, *b), p, (x, y), unroll=True),
            "a loop, unrolled",
        ),
        (
            lambda step, p, x, y: (p, jax.vmap(lambda x, y: step(p, x, y)[1])(x, y)),
            "the losses are",
        ),
    ],
    "xor/4": [
        (forgetful, "the new state is dropped"),
        (
            lambda params, grads, tx: params - 0.1 * grads.sum(axis=0),
            "with optax.sgd(0.1, momentum",
        ),
        (lambda p, g, tx: p + tx.update(g[0], tx.init(p), p)[0], "one for each row of grads"),
    ],
    "xor/5": [
        (all_epochs_again, "it ends at step 20, an unbroken training at 16"),
        (from_scratch, "it trains from the start"),
        (half_known, "it ends at step"),
        (lambda *args: from_scratch(*args).params, "should return the state"),
    ],
}
