"""The exercises of chapter 15, the XOR classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call, show_kind


def collate(samples: list[Any]) -> Any:
    """Return a batch: samples are pairs (inputs, label), the batch is a pair of NumPy arrays."""
    raise NotImplementedError


def solve_collate(samples: list[Any]) -> Any:
    """Turn a list of pairs into a pair of arrays; a tuple, so that jit sees one structure."""
    inputs, labels = zip(*samples, strict=True)
    return np.stack(inputs), np.stack(labels)


def verify_collate(answer: Callable[..., Any]) -> None:
    """Ask for the values, for NumPy arrays and not tensors, for a tuple, and for whole labels."""
    samples = [
        (np.array([0.0, 1.0], np.float32), np.int32(1)),
        (np.array([1.0, 1.0], np.float32), np.int32(0)),
    ]
    batch = call(answer, samples)
    if isinstance(batch, list):
        raise NotYet("it returns a list: for jit a list is another structure than a tuple")
    if not isinstance(batch, tuple) or len(batch) != 2:
        raise NotYet(f"it should return a pair (inputs, labels), it returns {_kind(batch)}")
    for name, part in zip(("inputs", "labels"), batch, strict=True):
        if not isinstance(part, np.ndarray):
            raise NotYet(f"its {name} are {_kind(part)}, and should be a NumPy array")
    if batch[0].shape != (2, 2) or batch[1].shape != (2,):
        raise NotYet(f"the shapes are {batch[0].shape} and {batch[1].shape}, not (2, 2) and (2,)")
    if batch[0].dtype != np.float32:
        raise NotYet(f"the inputs were float32 and are {batch[0].dtype} now")
    if batch[1].dtype != np.int32:
        raise NotYet(f"the labels were int32 and are {batch[1].dtype} now")
    if not np.array_equal(batch[0], [[0, 1], [1, 1]]) or not np.array_equal(batch[1], [1, 0]):
        raise NotYet(f"two samples become {show_kind(batch)}, should be ([[0, 1], [1, 1]], [1, 0])")


def _kind(value: Any) -> str:
    return f"{type(value).__module__.split('.')[0]}.{type(value).__name__}"


def sgd_step(
    params: Any, inputs: jax.Array, labels: jax.Array, loss_of: Callable[..., jax.Array]
) -> tuple[Any, jax.Array]:
    """Return the parameters after one step of SGD with a rate of 0.1, and the loss before it."""
    raise NotImplementedError


def solve_sgd_step(
    params: Any, inputs: jax.Array, labels: jax.Array, loss_of: Callable[..., jax.Array]
) -> tuple[Any, jax.Array]:
    """Value and gradient in one go, then one map over both trees."""
    loss, slopes = jax.value_and_grad(loss_of)(params, inputs, labels)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes), loss


def verify_sgd_step(answer: Callable[..., Any]) -> None:
    """Ask for new parameters and the old loss, jitted and not, and for untouched arguments."""
    params = {"w": jnp.array([1.0, -2.0]), "deep": [{"b": jnp.array(0.5)}]}
    inputs, labels = jnp.array([[1.0, 0.0], [0.0, 1.0]]), jnp.array([0.0, 1.0])

    def loss_of(params: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
        return jnp.mean((inputs @ params["w"] + params["deep"][0]["b"] - labels) ** 2)

    loss, slopes = jax.value_and_grad(loss_of)(params, inputs, labels)
    wanted = jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes)
    before = jax.tree.map(np.array, params)
    for how, step in (("", answer), ("under jit, ", _jitted(answer))):
        seen = call(step, params, inputs, labels, loss_of, how=how)
        if not isinstance(seen, tuple) or len(seen) != 2:
            raise NotYet(f"{how}it should return a tuple (parameters, loss)")
        if not _close(params, before):
            raise NotYet("it changes the parameters it was given: return new ones")
        new, told = seen
        if str(jax.tree.structure(told)) == str(jax.tree.structure(params)):
            raise NotYet(f"{how}the loss comes first: return (parameters, loss)")
        forms: list[Any] = [jax.tree.structure(tree) for tree in (new, params)]
        if forms[0] != forms[1]:
            raise NotYet(f"{how}the new parameters are a tree of another form")
        if _close(new, jax.tree.map(lambda p, g: p + 0.1 * g, params, slopes)):
            raise NotYet(f"{how}it climbs: the loss gets larger, subtract the gradient")
        if not _close(new, wanted):
            raise NotYet(f"{how}the new parameters are not params - 0.1 * gradient")
        if np.shape(told) != () or not np.isclose(float(told), float(loss)):
            raise NotYet(f"{how}the loss it returns is {told}, should be {loss} (before the step)")


def _jitted(answer: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jit(lambda p, x, y, loss_of: answer(p, x, y, loss_of), static_argnums=3)


def _close(one: Any, other: Any) -> bool:
    """Tell whether two trees of numbers agree; what an answer returns may be anything."""
    try:
        near = jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-5), one, other)
    except (TypeError, ValueError):
        return False
    return all(jax.tree.leaves(near))


def scan_epoch(
    step: Callable[..., tuple[Any, jax.Array]], params: Any, inputs: jax.Array, labels: jax.Array
) -> tuple[Any, jax.Array]:
    """Apply step(params, x, y) -> (params, loss) to each batch in turn, by one lax.scan.

    Inputs have the shape (batches, batch, 2), labels (batches, batch). Return the last parameters
    and the losses, of shape (batches,).
    """
    raise NotImplementedError


def solve_scan_epoch(
    step: Callable[..., tuple[Any, jax.Array]], params: Any, inputs: jax.Array, labels: jax.Array
) -> tuple[Any, jax.Array]:
    """The parameters are the carry, a batch is what is scanned over, the loss is what comes out."""
    return lax.scan(lambda params, batch: step(params, *batch), params, (inputs, labels))


def verify_scan_epoch(answer: Callable[..., Any]) -> None:
    """Ask for the result of a loop, and that the program does not grow with the batches."""

    def step(params: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        return {"w": params["w"] * 0.5 + x.sum()}, jnp.mean(y) + params["w"]

    params, inputs = {"w": jnp.array(1.0)}, jnp.arange(12.0).reshape(3, 2, 2)
    labels = jnp.arange(6.0).reshape(3, 2)
    expected, losses = params, []
    for x, y in zip(inputs, labels, strict=True):
        expected, loss = step(expected, x, y)
        losses.append(loss)
    seen = call(answer, step, params, inputs, labels)
    if not isinstance(seen, tuple) or len(seen) != 2:
        raise NotYet("it should return a tuple (parameters, losses)")
    if np.shape(seen[1]) != (3,):
        raise NotYet(f"the losses of 3 batches have the shape {np.shape(seen[1])}, not (3,)")
    if not np.allclose(seen[1], losses):
        raise NotYet(f"the losses are {np.asarray(seen[1])}, should be {np.array(losses)}")
    if not _close(seen[0], expected):
        raise NotYet(f"the parameters end as {seen[0]}, should end as {expected}")

    def size_of_program(batches: int) -> int:
        x, y = jnp.zeros((batches, 2, 2)), jnp.zeros((batches, 2))
        lowered = jax.jit(lambda p, x, y: answer(step, p, x, y)).lower(params, x, y)
        return lowered.as_text().count(" = ")

    if size_of_program(30) > size_of_program(3) + 3:
        raise NotYet("its program grows with the batches: that is a loop, unrolled")


def momentum_steps(params: jax.Array, grads: jax.Array, tx: Any) -> jax.Array:
    """Return the parameters after one update of the optimiser for each row of gradients."""
    raise NotImplementedError


def solve_momentum_steps(params: jax.Array, grads: jax.Array, tx: Any) -> jax.Array:
    """The optimiser's state goes from each update into the next."""
    state = tx.init(params)
    for grad in grads:
        updates, state = tx.update(grad, state, params)
        params = params + updates
    return params


def verify_momentum_steps(answer: Callable[..., Any]) -> None:
    """Ask for SGD, momentum and Adam; a lost state is told from a wrong update."""
    import optax

    params, grads = jnp.array([1.0, 2.0]), jnp.array([[1.0, -1.0], [1.0, 0.5], [-2.5, 1.0]])
    for name, tx in (
        ("optax.sgd(0.1)", optax.sgd(0.1)),
        ("optax.sgd(0.1, momentum=0.9)", optax.sgd(0.1, momentum=0.9)),
        ("optax.adam(0.1)", optax.adam(0.1)),
    ):
        seen = call(answer, params, grads, tx)
        if _close(seen, solve_momentum_steps(params, grads, tx)):
            continue
        if not isinstance(seen, jax.Array | np.ndarray):
            raise NotYet(f"it should return the parameters, an array, it returns {_kind(seen)}")
        steps = np.asarray(solve_momentum_steps(params, grads, tx)) - np.asarray(params)
        if _close(seen, params - steps):
            raise NotYet(f"with {name} it goes the wrong way: Optax's updates are to be added")
        first, _ = tx.update(grads[0], tx.init(params), params)
        if _close(seen, params + first):
            raise NotYet(f"with {name} it makes one update, there is one for each row of grads")
        forgetful = params
        for grad in grads:
            forgetful = forgetful + tx.update(grad, tx.init(params), params)[0]
        if _close(seen, forgetful):
            raise NotYet(f"with {name} every update is a first one: the new state is dropped")
        raise NotYet(f"with {name} it ends at {show_kind(seen)}")


def resume(path: str, tx: Any, loader: Any, epochs: int) -> Any:
    """Restore a training with the optimiser tx from path, and train on until `epochs`.

    How many epochs are behind it follows from the state's step and the batches of the loader.
    """
    raise NotImplementedError


def solve_resume(path: str, tx: Any, loader: Any, epochs: int) -> Any:
    """The step of the state says where the training was; the loader needs to know."""
    from jaxbits import xor

    state = xor.restore(path, xor.create_state(0, tx=tx))
    done = int(state.step) // len(loader)
    state, _ = xor.fit(state, loader, epochs=epochs, first_epoch=done, progress=False)
    return state


def verify_resume(answer: Callable[..., Any]) -> None:
    """Ask for the end state of an unbroken training, bit for bit."""
    import tempfile

    import optax

    from jaxbits import xor

    tx, data = optax.adam(0.05), xor.XorData(64, seed=1)
    loader = xor.train_loader(data, batch_size=16, seed=5)
    # The weights that were saved are not those of create_state(0): nobody can begin anew.
    start = xor.create_state(3, tx=tx)
    anew = xor.create_state(0, tx=tx)
    for done, epochs in ((1, 4), (3, 5)):
        whole, _ = xor.fit(start, loader, epochs=epochs, progress=False)
        scratch, _ = xor.fit(anew, loader, epochs=epochs, progress=False)
        with tempfile.TemporaryDirectory() as folder:
            part, _ = xor.fit(start, loader, epochs=done, progress=False)
            xor.save(f"{folder}/part", part)
            end = call(answer, f"{folder}/part", tx, loader, epochs)
        _must_end_alike(end, whole, scratch)


def _must_end_alike(end: Any, whole: Any, scratch: Any) -> None:
    from jaxbits import xor

    if not isinstance(end, xor.TrainState):
        raise NotYet(f"it should return the state after the last epoch, it returns {_kind(end)}")
    if int(end.step) != int(whole.step):
        raise NotYet(f"it ends at step {int(end.step)}, an unbroken training at {int(whole.step)}")
    if _close(end.params, scratch.params):
        raise NotYet("it trains from the start: what was saved is not used")
    exact = jax.tree.map(np.array_equal, end.params, whole.params)
    if not all(jax.tree.leaves(exact)):
        raise NotYet(
            "it ends at the right step with other parameters: were the epochs in the right order, "
            "and was the optimiser's state restored?"
        )


EXERCISES = (
    Exercise(
        id="xor/1",
        title="a collate function",
        stub=collate,
        hints=(
            "zip(*samples) turns a list of pairs into two tuples.",
            "np.stack makes an array of each; what is the difference between [a, b] and (a, b)?",
        ),
        verify=verify_collate,
        solution=solve_collate,
    ),
    Exercise(
        id="xor/2",
        title="a training step",
        stub=sgd_step,
        hints=(
            "jax.value_and_grad(loss_of) is a function of the same arguments.",
            "Parameters and gradients are trees of one form: jax.tree.map takes both.",
        ),
        verify=verify_sgd_step,
        solution=solve_sgd_step,
    ),
    Exercise(
        id="xor/3",
        title="an epoch as a scan",
        stub=scan_epoch,
        hints=(
            "The carry of the scan is what one batch hands to the next.",
            "lax.scan takes a tree to scan over: the pair (inputs, labels) is one.",
            "The function for the scan takes (params, batch) and returns (params, loss).",
        ),
        verify=verify_scan_epoch,
        solution=solve_scan_epoch,
    ),
    Exercise(
        id="xor/4",
        title="the step that never learns its momentum",
        stub=momentum_steps,
        hints=(
            "tx.update returns two things. Who needs the second?",
            "tx.init belongs before the loop, and its result is replaced in each round.",
        ),
        verify=verify_momentum_steps,
        solution=solve_momentum_steps,
    ),
    Exercise(
        id="xor/5",
        title="resume from a checkpoint",
        stub=resume,
        hints=(
            "xor.restore needs a state of the same optimiser to restore into.",
            "state.step counts batches, len(loader) is the batches of an epoch.",
            "xor.fit takes first_epoch, and epochs is how many there are in all.",
        ),
        verify=verify_resume,
        solution=solve_resume,
    ),
)
