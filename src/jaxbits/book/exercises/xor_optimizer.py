"""The exercises on the optimizer state and checkpoints for chapter 15."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._formatting import first_line, format_value
from jaxbits.book.exercises.assertions import AnswerRejected, are_close, call, type_name
from jaxbits.book.exercises.base import Exercise


def momentum_steps(params: jax.Array, grads: jax.Array, tx: Any) -> jax.Array:
    """Return the parameters after applying one optimizer update per row of gradients, in order."""
    raise NotImplementedError


def solve_momentum_steps(params: jax.Array, grads: jax.Array, tx: Any) -> jax.Array:
    """Pass the optimizer's state from each update to the next."""
    state = tx.init(params)
    for grad in grads:
        updates, state = tx.update(grad, state, params)
        params = params + updates
    return params


def verify_momentum_steps(answer: Callable[..., Any]) -> None:
    """Test SGD, momentum, and Adam, and distinguish a lost state from a wrong update."""
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
            raise AnswerRejected(
                f"your function must return the parameters, an array, got {type_name(seen)}"
            )
        if are_close(seen, wanted):
            continue
        if are_close(seen, params - (wanted - params)):
            raise AnswerRejected(
                f"with {name}, the parameters move the wrong way; add the updates instead of "
                "subtracting them"
            )
        if not updated:
            raise AnswerRejected(
                f"with {name}, your function returns {format_value(seen)} without calling tx.update"
            )
        first, _ = tx.update(grads[0], tx.init(params), params)
        if are_close(seen, params + first):
            raise AnswerRejected(
                f"with {name}, your function takes one step instead of one for each row of grads"
            )
        forgetful = params
        for grad in grads:
            forgetful = forgetful + tx.update(grad, tx.init(params), params)[0]
        if are_close(seen, forgetful):
            raise AnswerRejected(
                f"with {name}, every update is computed as if it were the first, because "
                "the new state is discarded"
            )
        raise AnswerRejected(
            f"with {name}, the result must be {format_value(wanted)}, got "
            f"{format_value(seen)}; use every row of grads once, in order"
        )


def _counting(tx: Any, updated: list[bool]) -> Any:
    def update(*args: Any, **kwargs: Any) -> Any:
        updated.append(True)
        return tx.update(*args, **kwargs)

    return tx._replace(update=update)


def resume(path: str, tx: Any, loader: Any, epochs: int) -> Any:
    """Restore the training run at path with the optimizer tx, and train for `epochs` epochs in all.

    The model is Classifier(). The state's step and the number of batches in the loader determine
    how many epochs are already done. Return the final state.
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
    """Compare the final state, bit for bit, with that of an uninterrupted training run."""
    import tempfile

    import optax

    from jaxbits import xor

    tx, data = optax.adam(0.05), xor.XorData(64, seed=1)
    loader, model = xor.train_loader(data, batch_size=16), xor.Classifier()
    # Save weights from seed 3, because an answer may restore into a state created from seed 0.
    start, fresh = (xor.create_state(seed, model, tx) for seed in (3, 0))
    for done, epochs in ((1, 4), (3, 5)):
        whole, scratch = (_trained(state, loader, epochs) for state in (start, fresh))
        with tempfile.TemporaryDirectory() as folder:
            xor.save(f"{folder}/part", _trained(start, loader, done))
            end = _resumed(answer, f"{folder}/part", tx, loader, epochs)
        _must_end_alike(end, whole, scratch)


def _trained(state: Any, loader: Any, epochs: int) -> Any:
    """Train for `epochs` epochs without a progress bar, and return the final state."""
    import contextlib
    import io

    from jaxbits import xor

    with contextlib.redirect_stderr(io.StringIO()):
        return xor.train(state, loader, epochs)[0]


def _resumed(answer: Callable[..., Any], path: str, tx: Any, loader: Any, epochs: int) -> Any:
    import contextlib
    import io

    try:
        with contextlib.redirect_stderr(io.StringIO()):  # Hide the progress bar.
            return call(answer, path, tx, loader, epochs)
    except AnswerRejected as wrong:
        cause = wrong.__cause__
        if not (isinstance(cause, ValueError) and _is_from_orbax(cause)):
            raise
        first = first_line(cause, limit=None).split(". ")[0].rstrip(".:")
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
        raise AnswerRejected(
            f"your function must return the state after the last epoch, got {type_name(end)}"
        )
    if int(end.step) != int(whole.step):
        raise AnswerRejected(
            f"the last step must be {int(whole.step)}, as in an uninterrupted run, got "
            f"{int(end.step)}. In train, epochs counts all epochs, and first_epoch counts "
            "those already done"
        )
    if are_close(end.params, scratch.params):
        raise AnswerRejected("your function trains from the start and does not use the checkpoint")
    exact = jax.tree.map(np.array_equal, end.params, whole.params)
    if not all(jax.tree.leaves(exact)):
        raise AnswerRejected(
            "the last step is right, but the parameters differ from those of an "
            "uninterrupted run. Check that first_epoch is right and that the optimizer's state "
            "is restored, too"
        )


EXERCISES = (
    Exercise(
        id="xor/4",
        title="a loop that drops the optimizer's state",
        stub=momentum_steps,
        hints=(
            "tx.update returns two things. What happens to the second?",
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
            "train takes first_epoch, the number of epochs that are done, and epochs, the total "
            "number of epochs, including those.",
        ),
        verify=verify_resume,
        solution=solve_resume,
    ),
)
