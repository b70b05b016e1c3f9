"""The exercises of chapter 15, the XOR classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book.exercises.assertions import AnswerRejected, call, format_value, under_jit
from jaxbits.book.exercises.registry import Exercise


def collate(samples: list[Any]) -> Any:
    """Return a batch: samples are pairs (inputs, label), and the batch is a pair of arrays."""
    raise NotImplementedError


def solve_collate(samples: list[Any]) -> Any:
    """Turn a list of pairs into a tuple of two arrays, so that jit always sees one structure."""
    inputs, labels = zip(*samples, strict=True)
    return np.stack(inputs), np.stack(labels)


def verify_collate(answer: Callable[..., Any]) -> None:
    """Check the structure, that both parts are NumPy arrays, their dtypes, and the values."""
    samples = [
        (np.array([0.0, 1.0], np.float32), np.int32(1)),
        (np.array([1.0, 1.0], np.float32), np.int32(0)),
    ]
    batch = call(answer, samples)
    if isinstance(batch, list):
        raise AnswerRejected(
            "it returns a list instead of a tuple: to jit, a list and a tuple are different "
            "structures, and each is compiled separately"
        )
    if not isinstance(batch, tuple) or len(batch) != 2:
        raise AnswerRejected(
            f"it should return a pair (inputs, labels), but it returns {_kind(batch)}"
        )
    for name, part in zip(("inputs", "labels"), batch, strict=True):
        if not isinstance(part, np.ndarray):
            raise AnswerRejected(f"its {name} are {_kind(part)} instead of a NumPy array")
    shapes = batch[0].shape, batch[1].shape
    if shapes == ((2,), (2, 2)):
        raise AnswerRejected("the inputs come first in the pair, and the labels second")
    if shapes != ((2, 2), (2,)):
        raise AnswerRejected(
            f"for two samples its inputs have the shape {shapes[0]} and its labels {shapes[1]}, "
            "instead of (2, 2) and (2,)"
        )
    for name, part, dtype in zip(("inputs", "labels"), batch, (np.float32, np.int32), strict=True):
        if part.dtype != dtype:
            raise AnswerRejected(
                f"its {name} are {part.dtype} instead of {np.dtype(dtype)}, the dtype that they had"
            )
    if not np.array_equal(batch[0], [[0, 1], [1, 1]]) or not np.array_equal(batch[1], [1, 0]):
        raise AnswerRejected(
            f"for two samples it returns {format_value(batch)} instead of "
            "([[0.0, 1.0], [1.0, 1.0]], [1, 0])"
        )


def _kind(value: Any) -> str:
    if isinstance(value, jax.Array):
        return "a JAX array"
    if isinstance(value, np.ndarray):
        return "a NumPy array"
    module = type(value).__module__.split(".")[0]
    return f"a {'' if module == 'builtins' else module + '.'}{type(value).__name__}"


def sgd_step(
    params: Any, inputs: jax.Array, labels: jax.Array, loss_of: Callable[..., jax.Array]
) -> tuple[Any, jax.Array]:
    """Return the parameters after an SGD step with a rate of 0.1, and the loss before it."""
    raise NotImplementedError


def solve_sgd_step(
    params: Any, inputs: jax.Array, labels: jax.Array, loss_of: Callable[..., jax.Array]
) -> tuple[Any, jax.Array]:
    """Compute value and gradient in one call, then map over both trees."""
    loss, gradients = jax.value_and_grad(loss_of)(params, inputs, labels)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


def verify_sgd_step(answer: Callable[..., Any]) -> None:
    """Check the new parameters and the old loss, also under jit, and that nothing is changed."""
    params = {"w": jnp.array([1.0, -2.0]), "deep": [{"b": jnp.array(0.5)}]}
    inputs, labels = jnp.array([[1.0, 0.0], [0.0, 1.0]]), jnp.array([0.0, 1.0])

    def loss_of(params: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
        return jnp.mean((inputs @ params["w"] + params["deep"][0]["b"] - labels) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(params, inputs, labels)
    wanted = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)
    before = jax.tree.map(np.array, params)
    for how, step in (("", answer), ("under jit, ", under_jit(answer, static=(3,)))):
        seen = _stepped(answer, step, (params, inputs, labels, loss_of), how)
        if not isinstance(seen, tuple) or len(seen) != 2:
            raise AnswerRejected(f"{how}it should return a tuple (parameters, loss)")
        if not _close(params, before):
            raise AnswerRejected("it changes the parameters that you passed in: return new ones")
        new, told = seen
        if str(jax.tree.structure(told)) == str(jax.tree.structure(params)):
            raise AnswerRejected(f"{how}it returns the loss first: return (parameters, loss)")
        forms: list[Any] = [jax.tree.structure(tree) for tree in (new, params)]
        if forms[0] != forms[1]:
            raise AnswerRejected(
                f"{how}the new parameters are a tree of another structure than params"
            )
        if _close(new, jax.tree.map(lambda p, g: p + 0.1 * g, params, gradients)):
            raise AnswerRejected(
                f"{how}the loss increases: subtract the gradient instead of adding it"
            )
        if _close(new, gradients):
            raise AnswerRejected(f"{how}it returns the gradient instead of params - 0.1 * gradient")
        if not _close(new, wanted):
            raise AnswerRejected(f"{how}the new parameters are not params - 0.1 * gradient")
        if np.shape(told) != () or not np.isclose(float(told), float(loss)):
            raise AnswerRejected(
                f"{how}the loss that it returns is {format_value(told)} instead of {float(loss):g}, "
                "the loss before the step"
            )


def _stepped(answer: Any, step: Any, args: tuple[Any, ...], how: str) -> Any:
    try:
        return call(answer, *args, how=how, through=step)
    except AnswerRejected as wrong:
        cause = wrong.__cause__
        if not (isinstance(cause, ValueError) and "pytree structure error" in str(cause)):
            raise
        raise AnswerRejected(
            f"{how}the trees that it maps over differ. Parameters and gradient have the same "
            "structure if you differentiate with respect to the first argument of the loss"
        ) from cause


def _close(one: Any, other: Any) -> bool:
    """Return whether two trees of numbers agree; what an answer returns may be anything."""
    try:
        near = jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-5), one, other)
    except (TypeError, ValueError):
        return False
    return all(jax.tree.leaves(near))


def scan_epoch(
    step: Callable[..., tuple[Any, jax.Array]], params: Any, inputs: jax.Array, labels: jax.Array
) -> tuple[Any, jax.Array]:
    """Apply step(params, x, y) -> (params, loss) to each batch in turn, with one lax.scan.

    Inputs have the shape (batches, batch, 2), and labels (batches, batch). Return the last
    parameters and the losses, of shape (batches,).
    """
    raise NotImplementedError


def solve_scan_epoch(
    step: Callable[..., tuple[Any, jax.Array]], params: Any, inputs: jax.Array, labels: jax.Array
) -> tuple[Any, jax.Array]:
    """Carry the parameters, scan over the batches, and stack the losses."""
    return jax.lax.scan(lambda params, batch: step(params, *batch), params, (inputs, labels))


def verify_scan_epoch(answer: Callable[..., Any]) -> None:
    """Compare with a loop, and check that the program does not grow with the batches."""

    def step(params: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        return {"w": params["w"] * 0.5 + x.sum()}, jnp.mean(y) + params["w"]

    step.__qualname__ = "step"  # the name in the error of a call with too few arguments
    params, inputs = {"w": jnp.array(1.0)}, jnp.arange(12.0).reshape(3, 2, 2)
    labels = jnp.arange(6.0).reshape(3, 2)
    expected, losses = params, []
    for x, y in zip(inputs, labels, strict=True):
        expected, loss = step(expected, x, y)
        losses.append(loss)
    seen = call(answer, step, params, inputs, labels)
    if not isinstance(seen, tuple) or len(seen) != 2:
        raise AnswerRejected("it should return a tuple (parameters, losses)")
    if _close(seen[::-1], (expected, np.array(losses))):
        raise AnswerRejected("it returns the losses first: return (parameters, losses)")
    if np.shape(seen[1]) != (3,):
        raise AnswerRejected(
            f"for 3 batches it returns losses of shape {np.shape(seen[1])} instead of (3,)"
        )
    alone = [float(step(params, x, y)[1]) for x, y in zip(inputs, labels, strict=True)]
    if np.allclose(seen[1], alone):
        raise AnswerRejected(
            "every batch starts from the first parameters: those that a step returns are the carry "
            "for the next one"
        )
    if not np.allclose(seen[1], losses):
        raise AnswerRejected(
            f"it returns the losses {format_value(seen[1])} instead of {format_value(np.array(losses))}"
        )
    if not _close(seen[0], expected):
        raise AnswerRejected(
            f"it returns the parameters {format_value(seen[0])} instead of {format_value(expected)}"
        )

    def size_of_program(batches: int) -> int:
        x, y = jnp.zeros((batches, 2, 2)), jnp.zeros((batches, 2))
        lowered = jax.jit(lambda p, x, y: answer(step, p, x, y)).lower(params, x, y)
        return lowered.as_text().count(" = ")

    if size_of_program(30) > size_of_program(3) + 3:
        raise AnswerRejected(
            "its program grows with the number of batches, as that of an unrolled loop does: use "
            "jax.lax.scan"
        )


def momentum_steps(params: jax.Array, grads: jax.Array, tx: Any) -> jax.Array:
    """Return the parameters after one update of the optimizer for each row of gradients."""
    raise NotImplementedError


def solve_momentum_steps(params: jax.Array, grads: jax.Array, tx: Any) -> jax.Array:
    """Pass the optimizer's state from each update to the next."""
    state = tx.init(params)
    for grad in grads:
        updates, state = tx.update(grad, state, params)
        params = params + updates
    return params


def verify_momentum_steps(answer: Callable[..., Any]) -> None:
    """Check SGD, momentum, and Adam, and tell a lost state from a wrong update."""
    import optax

    params, grads = jnp.array([1.0, 2.0]), jnp.array([[1.0, -1.0], [1.0, 0.5], [-2.5, 1.0]])
    for name, tx in (
        ("optax.sgd(0.1)", optax.sgd(0.1)),
        ("optax.sgd(0.1, momentum=0.9)", optax.sgd(0.1, momentum=0.9)),
        ("optax.adam(0.1)", optax.adam(0.1)),
    ):
        updated: list[bool] = []
        seen = call(answer, params, grads, _counting(tx, updated))
        wanted = solve_momentum_steps(params, grads, tx)
        if not isinstance(seen, jax.Array | np.ndarray):
            raise AnswerRejected(f"it returns {_kind(seen)} instead of the parameters, an array")
        if _close(seen, wanted):
            continue
        if _close(seen, params - (wanted - params)):
            raise AnswerRejected(
                f"with {name} it goes the wrong way: Optax's updates must be added"
            )
        if not updated:
            raise AnswerRejected(
                f"with {name} it returns {format_value(seen)}, and it never calls tx.update"
            )
        first, _ = tx.update(grads[0], tx.init(params), params)
        if _close(seen, params + first):
            raise AnswerRejected(
                f"with {name} it takes one step instead of one for each row of grads"
            )
        forgetful = params
        for grad in grads:
            forgetful = forgetful + tx.update(grad, tx.init(params), params)[0]
        if _close(seen, forgetful):
            raise AnswerRejected(
                f"with {name} every update is computed as if it were the first: the new state is "
                "dropped"
            )
        raise AnswerRejected(
            f"with {name} it returns {format_value(seen)} instead of {format_value(wanted)}: use every "
            "row of grads once, in order"
        )


def _counting(tx: Any, updated: list[bool]) -> Any:
    def update(*args: Any, **kwargs: Any) -> Any:
        updated.append(True)
        return tx.update(*args, **kwargs)

    return tx._replace(update=update)


def resume(path: str, tx: Any, loader: Any, epochs: int) -> Any:
    """Restore a training run with the optimizer tx from path, and train until `epochs` are done.

    The model is Classifier(). The state's step and the number of batches in the loader say how
    many epochs are done already. Return the last state.
    """
    raise NotImplementedError


def solve_resume(path: str, tx: Any, loader: Any, epochs: int) -> Any:
    """Compute the number of epochs that are done, because it decides the order of the batches."""
    from jaxbits.xor import Classifier, create_state, restore, train

    state = restore(path, create_state(0, Classifier(), tx))
    done = int(state.step) // len(loader)
    state, _ = train(state, loader, epochs, first_epoch=done)
    return state


def verify_resume(answer: Callable[..., Any]) -> None:
    """Compare with the last state of a training run without a break, bit for bit."""
    import tempfile

    import optax

    from jaxbits import xor

    tx, data = optax.adam(0.05), xor.XorData(64, seed=1)
    loader, model = xor.train_loader(data, batch_size=16), xor.Classifier()
    # The weights that are saved are not those of seed 0, which an answer may start from.
    start, fresh = (xor.create_state(seed, model, tx) for seed in (3, 0))
    for done, epochs in ((1, 4), (3, 5)):
        whole, scratch = (_trained(state, loader, epochs) for state in (start, fresh))
        with tempfile.TemporaryDirectory() as folder:
            xor.save(f"{folder}/part", _trained(start, loader, done))
            end = _resumed(answer, f"{folder}/part", tx, loader, epochs)
        _must_end_alike(end, whole, scratch)


def _trained(state: Any, loader: Any, epochs: int) -> Any:
    """Return the state after some epochs, and show no progress bar on stderr."""
    import contextlib
    import io

    from jaxbits import xor

    with contextlib.redirect_stderr(io.StringIO()):
        return xor.train(state, loader, epochs)[0]


def _resumed(answer: Callable[..., Any], path: str, tx: Any, loader: Any, epochs: int) -> Any:
    import contextlib
    import io

    try:
        with contextlib.redirect_stderr(io.StringIO()):  # shows no progress bar
            return call(answer, path, tx, loader, epochs)
    except AnswerRejected as wrong:
        cause = wrong.__cause__
        if not (isinstance(cause, ValueError) and _is_from_orbax(cause)):
            raise
        first = str(cause).split("\n")[0].split(". ")[0].rstrip(".:")
        raise AnswerRejected(
            f"Orbax raises ValueError: {first}.\n  Restore into a state with the same "
            "model and the same optimizer, create_state(0, Classifier(), tx)"
        ) from cause


def _is_from_orbax(error: BaseException) -> bool:
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_globals.get("__name__", "").startswith("orbax."):
            return True
        frame = frame.tb_next
    return False


def _must_end_alike(end: Any, whole: Any, scratch: Any) -> None:
    from flax.training.train_state import TrainState

    if not isinstance(end, TrainState):
        raise AnswerRejected(f"it returns {_kind(end)} instead of the state after the last epoch")
    if int(end.step) != int(whole.step):
        raise AnswerRejected(
            f"it ends at step {int(end.step)}, but a run without a break ends at step "
            f"{int(whole.step)}. In train, epochs counts all epochs, and first_epoch those that "
            "are done"
        )
    if _close(end.params, scratch.params):
        raise AnswerRejected("it trains from the start: what was saved is not used")
    exact = jax.tree.map(np.array_equal, end.params, whole.params)
    if not all(jax.tree.leaves(exact)):
        raise AnswerRejected(
            "it ends at the right step, but with other parameters than a run without a break. "
            "Check that first_epoch is right and that the optimizer's state is restored, too"
        )


EXERCISES = (
    Exercise(
        id="xor/1",
        title="a collate function",
        stub=collate,
        hints=(
            "zip(*samples) turns a list of pairs into two tuples.",
            "np.stack makes an array of each. Return them as a tuple, because to jit a list is "
            "another structure.",
        ),
        verify=verify_collate,
        solution=solve_collate,
    ),
    Exercise(
        id="xor/2",
        title="a training step",
        stub=sgd_step,
        hints=(
            "jax.value_and_grad(loss_of) takes the same arguments as loss_of.",
            "Parameters and gradients are trees of the same structure, and jax.tree.map takes both "
            "at once.",
        ),
        verify=verify_sgd_step,
        solution=solve_sgd_step,
    ),
    Exercise(
        id="xor/3",
        title="an epoch as a scan",
        stub=scan_epoch,
        hints=(
            "The carry of a scan is what one iteration passes to the next.",
            "jax.lax.scan can scan over a tree, such as the pair (inputs, labels).",
            "The function for the scan takes (params, batch) and returns (params, loss).",
        ),
        verify=verify_scan_epoch,
        solution=solve_scan_epoch,
    ),
    Exercise(
        id="xor/4",
        title="a loop that drops the optimizer's state",
        stub=momentum_steps,
        hints=(
            "tx.update returns two things. What becomes of the second?",
            "Call tx.init once, before the loop, and replace the state in every iteration.",
        ),
        verify=verify_momentum_steps,
        solution=solve_momentum_steps,
    ),
    Exercise(
        id="xor/5",
        title="resume from a checkpoint",
        stub=resume,
        hints=(
            "restore needs a state with the same model and the same optimizer to restore into.",
            "state.step counts batches, and len(loader) is the number of batches in an epoch.",
            "train takes first_epoch, the number of epochs that are done, and epochs, the number "
            "of all epochs, which includes those.",
        ),
        verify=verify_resume,
        solution=solve_resume,
    ),
)
