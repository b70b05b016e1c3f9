"""Right and wrong answers to the exercises on the XOR classifier."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

from jaxbits import xor


def step_uphill(params, x, y, loss_of):
    loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
    return jax.tree.map(lambda p, g: p + 0.1 * g, params, gradient), loss


def step_then_loss(params, x, y, loss_of):
    new = jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_of)(params, x, y))
    return new, loss_of(new, x, y)


def step_in_place(params, x, y, loss_of):
    loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
    params["w"] = params["w"] - 0.1 * gradient["w"]
    params["deep"][0]["b"] -= 0.1 * gradient["deep"][0]["b"]
    return params, loss


def step_with_input_gradient(params, x, y, loss_of):
    loss, gradient = jax.value_and_grad(loss_of, argnums=1)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), loss


def step_returning_leaves(params, x, y, loss_of):
    loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
    pairs = zip(jax.tree.leaves(params), jax.tree.leaves(gradient), strict=True)
    return [p - 0.1 * g for p, g in pairs], loss


def step_by_optax(params, x, y, loss_of):
    tx = optax.sgd(0.1)
    loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
    return optax.apply_updates(params, tx.update(gradient, tx.init(params))[0]), loss


def step_with_two_calls(params, x, y, loss_of):
    gradient = jax.grad(loss_of)(params, x, y)
    return jax.tree.map(lambda p, g: p - g / 10, params, gradient), loss_of(params, x, y)


def scan_without_carry(step, params, inputs, labels):
    body = lambda _, batch: (params, step(params, *batch)[1])  # noqa: E731
    return jax.lax.scan(body, params, (inputs, labels))


def scan_of_a_dict(step, params, inputs, labels):
    def body(params, batch):
        new, loss = step(params, batch["x"], batch["y"])
        return new, loss

    return jax.lax.scan(body, params, {"x": inputs, "y": labels})


def fori_epoch(step, params, inputs, labels):
    def body(i, carry):
        params, loss = step(carry[0], inputs[i], labels[i])
        return params, carry[1].at[i].set(loss)

    return jax.lax.fori_loop(0, len(inputs), body, (params, jnp.zeros(len(inputs))))


def python_epoch(step, params, inputs, labels):
    losses = []
    for x, y in zip(inputs, labels, strict=True):
        params, loss = step(params, x, y)
        losses.append(loss)
    return params, jnp.stack(losses)


def reset_state_each_step(params, grads, tx):
    for grad in grads:
        params = params + tx.update(grad, tx.init(params), params)[0]
    return params


def never_update_state(params, grads, tx):
    state = tx.init(params)
    for grad in grads:
        params = params + tx.update(grad, state, params)[0]
    return params


def subtract_updates(params, grads, tx):
    state = tx.init(params)
    for grad in grads:
        updates, state = tx.update(grad, state, params)
        params = params - updates
    return params


def apply_last_update_only(params, grads, tx):
    state = tx.init(params)
    for grad in grads:
        updates, state = tx.update(grad, state, params)
    return params + updates


def scanned_steps(params, grads, tx):
    def body(carry, grad):
        params, state = carry
        updates, state = tx.update(grad, state, params)
        return (optax.apply_updates(params, updates), state), None

    return jax.lax.scan(body, (params, tx.init(params)), grads)[0][0]


def restore_state(path, tx, loader):
    state = xor.restore(path, xor.create_state(0, xor.Classifier(), tx))
    return state, int(state.step) // len(loader)


def pass_remaining_epochs(path, tx, loader, epochs):
    state, done = restore_state(path, tx, loader)
    return xor.train(state, loader, epochs - done)[0]


def pass_remaining_epochs_and_first_epoch(path, tx, loader, epochs):
    state, done = restore_state(path, tx, loader)
    return xor.train(state, loader, max(done, epochs - done), first_epoch=done)[0]


def use_other_optimizer(path, tx, loader, epochs):
    return restore_state(path, optax.sgd(0.1), loader)


def use_wrong_path(path, tx, loader, epochs):
    return restore_state(path + "/step", tx, loader)


def reset_optimizer_state(path, tx, loader, epochs):
    saved, done = restore_state(path, tx, loader)
    state = xor.create_state(0, xor.Classifier(), tx)
    state = state.replace(params=saved.params, step=saved.step)
    return xor.train(state, loader, epochs, first_epoch=done)[0]


def train_one_epoch_at_a_time(path, tx, loader, epochs):
    state, done = restore_state(path, tx, loader)
    while done < epochs:
        state, _ = xor.train(state, loader, done + 1, first_epoch=done)
        done += 1
    return state


def train_from_scratch(path, tx, loader, epochs):
    return xor.train(xor.create_state(0, xor.Classifier(), tx), loader, epochs)[0]


def repeat_all_epochs(path, tx, loader, epochs):
    state, _ = restore_state(path, tx, loader)
    return xor.train(state, loader, epochs)[0]


def assume_half_done(path, tx, loader, epochs):
    state, _ = restore_state(path, tx, loader)
    return xor.train(state, loader, epochs, first_epoch=epochs // 2)[0]


WRONG = {
    "xor/1": [
        (
            lambda samples: [np.stack(part) for part in zip(*samples, strict=True)],
            "your function must return a tuple instead of a list",
        ),
        (
            lambda samples: torch.utils.data.default_collate(samples),
            "your function must return a tuple instead of a list",
        ),
        (
            lambda samples: tuple(torch.utils.data.default_collate(samples)),
            "the inputs must be a NumPy array, got a torch.Tensor",
        ),
        (
            lambda samples: tuple(np.array(p, np.float64) for p in zip(*samples, strict=True)),
            "the inputs must be float32 as in the samples, got float64",
        ),
        (
            lambda samples: tuple(jnp.stack(part) for part in zip(*samples, strict=True)),
            "the inputs must be a NumPy array, got a JAX array",
        ),
        (
            lambda samples: (
                np.stack([x for x, _ in samples]),
                np.array([int(y) for _, y in samples]),
            ),
            "the labels must be int32 as in the samples, got int64",
        ),
        (
            lambda samples: tuple(np.stack(p) for p in zip(*samples, strict=True))[::-1],
            "the inputs come first",
        ),
        (
            lambda samples: (
                np.concatenate([x for x, _ in samples]),
                np.stack([y for _, y in samples]),
            ),
            "for two samples, the inputs and the labels must have the shapes (2, 2) and (2,), "
            "got (4,) and (2,)",
        ),
        (
            lambda samples: map(np.stack, zip(*samples, strict=True)),
            "your function must return a pair (inputs, labels), got a map",
        ),
    ],
    "xor/2": [
        (step_uphill, "the loss increases"),
        (step_then_loss, "the loss before the step"),
        (
            lambda p, x, y, f: jax.grad(f)(p, x, y),
            "your function must return a tuple (parameters, loss)",
        ),
        (
            lambda *args: jax.value_and_grad(args[3])(*args[:3])[::-1],
            "your function returns the gradient instead of params - 0.1 * gradient",
        ),
        (step_in_place, "your function modifies its parameters in place; return new ones"),
        (step_with_input_gradient, "with respect to the first argument"),
        (step_returning_leaves, "the new parameters must have the same tree structure as params"),
        (
            lambda p, x, y, f: step_then_loss(p, x, y, f)[::-1],
            "your function returns the loss first; return (parameters, loss)",
        ),
    ],
    "xor/3": [
        (
            python_epoch,
            "the program grows with the number of batches, as an unrolled loop does; use "
            "jax.lax.scan",
        ),
        (
            lambda step, p, x, y: jax.lax.scan(lambda p, b: step(p, *b), p, (x, y), unroll=True),
            "the program grows with the number of batches, as an unrolled loop does; use "
            "jax.lax.scan",
        ),
        (scan_without_carry, "every batch starts from the initial parameters"),
        (lambda step, p, x, y: jax.lax.scan(step, p, (x, y)), "missing 1 required positional"),
        (
            lambda *args: scan_of_a_dict(*args)[::-1],
            "your function returns the losses first; return (parameters, losses)",
        ),
        (
            lambda step, p, x, y: jax.lax.scan(lambda p, x: step(p, x, y), p, x),
            "the losses must be [1.5, 9.0, 29.75], got [3.5, 9.0, 27.75]",
        ),
        (
            lambda *args: (scan_of_a_dict(*args)[0], scan_of_a_dict(*args)[1].mean()),
            "for 3 batches, the losses must have shape (3,), got ()",
        ),
        (
            lambda step, p, x, y: (p, jax.vmap(lambda x, y: step(p, x, y)[1])(x, y)),
            "every batch starts from the initial parameters",
        ),
    ],
    "xor/4": [
        (reset_state_each_step, "the new state is discarded"),
        (never_update_state, "the new state is discarded"),
        (
            subtract_updates,
            "with optax.sgd(0.1), the parameters move the wrong way; add the updates instead of "
            "subtracting them",
        ),
        (apply_last_update_only, "use every row of grads once"),
        (
            lambda p, g, tx: (scanned_steps(p, g, tx), None),
            "your function must return the parameters, an array, got a tuple",
        ),
        (lambda p, g, tx: scanned_steps(p, g[::-1], tx), "in order"),
        (
            lambda params, grads, tx: params - 0.1 * grads.sum(axis=0),
            "with optax.sgd(0.1, momentum=0.9), your function returns [1.05, 1.95] without "
            "calling tx.update",
        ),
        (
            lambda p, g, tx: p + tx.update(g[0], tx.init(p), p)[0],
            "one step instead of one for each row of grads",
        ),
    ],
    "xor/5": [
        (repeat_all_epochs, "the last step must be 16, as in an uninterrupted run, got 20"),
        (train_from_scratch, "your function trains from the start and does not use the checkpoint"),
        (assume_half_done, "the last step must be 16, as in an uninterrupted run, got 12"),
        (pass_remaining_epochs_and_first_epoch, "epochs counts all epochs"),
        (pass_remaining_epochs, "Check that first_epoch is right"),
        (
            reset_optimizer_state,
            "the last step is right, but the parameters differ from those of an uninterrupted run",
        ),
        (use_other_optimizer, "Restore into a state with the same model and the same optimizer"),
        (use_wrong_path, "raises FileNotFoundError: Checkpoint at"),
        (lambda *args: xor.train(*args), "epochs must be a whole number"),
        (
            lambda *args: train_from_scratch(*args).params,
            "your function must return the state after the last epoch, got a dict",
        ),
    ],
}
RIGHT = [
    (
        "xor/1",
        lambda samples: (np.array([x for x, _ in samples]), np.array([y for _, y in samples])),
    ),
    ("xor/1", lambda samples: jax.tree.map(lambda *parts: np.stack(parts), *samples)),
    ("xor/2", step_by_optax),
    ("xor/2", step_with_two_calls),
    ("xor/3", scan_of_a_dict),
    ("xor/3", fori_epoch),
    ("xor/4", scanned_steps),
    ("xor/4", lambda *args: np.asarray(scanned_steps(*args))),
    ("xor/5", train_one_epoch_at_a_time),
]
