"""The exercises of chapter 14, debugging."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call


def first_bad_step(step: Callable[..., Any], state: Any, batches: Iterable[Any]) -> int | None:
    """Return the number of the step that made the first NaN or infinity, or None."""
    raise NotImplementedError


def solve_first_bad_step(
    step: Callable[..., Any], state: Any, batches: Iterable[Any]
) -> int | None:
    """What a step hands on counts as much as the loss it reports."""
    for number, batch in enumerate(batches):
        state, loss = step(state, batch)
        made = jax.tree.leaves((state, loss))
        if not all(bool(jnp.isfinite(leaf).all()) for leaf in made):
            return number
    return None


def _training(bad_number: float, bad_at: int, in_loss: bool = False) -> Callable[..., Any]:
    """A step that ruins one weight, or its loss alone, when its state has come that far."""

    @jax.jit
    def step(state: dict[str, Any], batch: jax.Array) -> tuple[dict[str, Any], jax.Array]:
        loss = jnp.mean((state["w"] - batch) ** 2)
        hit = state["count"] == bad_at
        last = jnp.where(hit & (not in_loss), bad_number, 0.9 * state["w"][-1])
        loss = jnp.where(hit & in_loss, bad_number, loss)
        return {"count": state["count"] + 1, "w": (0.9 * state["w"]).at[-1].set(last)}, loss

    return step


def verify_first_bad_step(answer: Callable[..., Any]) -> None:
    """Ruin a state, a loss, or nothing, by a NaN and by an infinity."""
    state = {"count": jnp.int32(0), "w": jnp.ones(2)}
    batches = [jnp.full(2, float(n)) for n in range(6)]
    for ruin, at, in_loss, expected, what in (
        (jnp.nan, 3, False, 3, "the state that comes out of step 3 is NaN"),
        (jnp.inf, 2, False, 2, "the state that comes out of step 2 is infinite"),
        (jnp.nan, 4, True, 4, "the loss of step 4 is NaN, and the state never is"),
        (jnp.nan, 0, False, 0, "the state that comes out of step 0 is NaN"),
        (jnp.nan, 99, False, None, "no step makes anything but numbers"),
    ):
        seen = call(answer, _training(ruin, at, in_loss), state, list(batches))
        if isinstance(seen, (jax.Array, np.integer)):
            seen = int(seen)
        if seen == expected and type(seen) is type(expected):
            continue
        late = expected is not None and seen == expected + 1
        why = ": the loss shows it a step later" if late and not in_loss else ""
        raise NotYet(f"{what}, and it says {seen!r}, should be {expected!r}{why}")


def watched(name: str, x: jax.Array) -> jax.Array:
    """Return x, and have the program print ``name: least to largest``, in the order written."""
    raise NotImplementedError


def solve_watched(name: str, x: jax.Array) -> jax.Array:
    """The name is a value for a placeholder, too: it may have braces in it."""
    jax.debug.print("{}: {} to {}", name, x.min(), x.max(), ordered=True)
    return x


def _printed(function: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        value = call(function, *args)
        jax.effects_barrier()
    return value, text.getvalue().splitlines()


def verify_watched(answer: Callable[..., Any]) -> None:
    """Call a compiled program twice, name something in braces, and watch twice in a loop."""
    x = jnp.array([2.0, -1.0, 5.0])
    table = jnp.array([[0.5, 1.25], [-0.25, 0.0]])
    watching = jax.jit(lambda x: answer("w", x))
    for data, expected in (
        (x, "w: -1.0 to 5.0"),
        (2 * x, "w: -2.0 to 10.0"),
        (table, "w: -0.25 to 1.25"),
    ):
        value, lines = _printed(watching, data)
        if value is None:
            raise NotYet("it returns None, should return x")
        if not isinstance(value, jax.Array) or not np.array_equal(value, data):
            raise NotYet("it should return x as it is")
        if lines != [expected]:
            raise NotYet(
                f"under jit, for x={data.tolist()} the program prints {lines}, "
                f"should be {[expected]}"
            )
    _, lines = _printed(jax.jit(lambda x: answer("grad {w}", x)), x)
    if lines != ["grad {w}: -1.0 to 5.0"]:
        raise NotYet(f'for the name "grad {{w}}" it prints {lines}')

    def body(x: jax.Array) -> jax.Array:
        result: jax.Array = answer("after", 10 * answer("before", x))
        return result

    _, lines = _printed(jax.jit(lambda x: lax.map(body, x)), jnp.array([[1.0], [2.0]]))
    names = [line.split(":")[0] for line in lines]
    effects = jax.make_jaxpr(lambda x: answer("w", x))(x).effects
    if names != ["before", "after"] * 2 or "Ordered" not in str([type(e) for e in effects]):
        raise NotYet(f"watched before and after, in a loop, the lines came as {names}: not ordered")


def run_checked(function: Callable[..., Any], x: Any) -> tuple[str | None, Any]:
    """Return what the first failed check says, or None, and the value of the compiled call."""
    raise NotImplementedError


def solve_run_checked(function: Callable[..., Any], x: Any) -> tuple[str | None, Any]:
    """Sets of checks are joined by |; the function is rewritten first, and compiled then."""
    from jax.experimental import checkify

    errors = checkify.user_checks | checkify.float_checks
    error, value = jax.jit(checkify.checkify(function, errors=errors))(x)
    return error.get(), value


def verify_run_checked(answer: Callable[..., Any]) -> None:
    """Call it with a function that checks, one that makes a NaN, and one that is jitted inside."""
    traced: list[bool] = []

    def price(x: jax.Array) -> jax.Array:
        traced.append(isinstance(x, jax.core.Tracer))
        checkify.check(x < 100, "a price of {x}", x=x)
        return jnp.log(x)

    for function, at, text, value in (
        (price, 1.0, None, 0.0),
        (price, 200.0, "a price of 200", np.log(200.0)),
        (price, -1.0, "nan", np.nan),
        (jax.jit(price), 200.0, "a price of 200", np.log(200.0)),
        (lambda x: 1 / x, 0.0, "division by zero", np.inf),
    ):
        told = call(answer, function, jnp.float32(at))
        if not isinstance(told, tuple) or len(told) != 2:
            raise NotYet(f"it should return a pair, the text and the value, was {told!r:.80}")
        said, seen = told
        what = getattr(function, "__name__", "a function")
        if said is not None and not isinstance(said, str):
            raise NotYet(f"the first of the pair should be the text: error.get(), was {said!r:.60}")
        if (text is None) != (said is None) or (text or "") not in (said or ""):
            wanted = f"should have {text!r} in it" if text else "should be None"
            raise NotYet(f"for {what} of {at:g} it says {said!r:.80}, {wanted}")
        number = isinstance(seen, (jax.Array, np.ndarray, np.number, float))
        if not number or not np.allclose(seen, value, rtol=1e-5, equal_nan=True):
            raise NotYet(f"for {what} of {at:g} the value is {seen}, should be {value:.4g}")
    if not all(traced):
        raise NotYet("the function ran on numbers: compile it, by jax.jit around checkify")


EXERCISES = (
    Exercise(
        id="debugging/1",
        title="the step that did it",
        stub=first_bad_step,
        hints=(
            "A loss is computed from the parameters that came in. Which step made those?",
            "Look at everything that a step returns: the new state, and the loss.",
            "jax.tree.leaves((state, loss)) is a list of arrays; jnp.isfinite(leaf).all() of each.",
        ),
        verify=verify_first_bad_step,
        solution=solve_first_bad_step,
    ),
    Exercise(
        id="debugging/2",
        title="a probe that stays in the program",
        stub=watched,
        hints=(
            "print speaks while tracing; jax.debug.print is part of the program.",
            "Values go in by placeholders, {}, and so does the name: it may have braces in it.",
            'jax.debug.print("{}: {} to {}", ..., ordered=True) keeps the order.',
        ),
        verify=verify_watched,
        solution=solve_watched,
    ),
    Exercise(
        id="debugging/3",
        title="all checks in one run",
        stub=run_checked,
        hints=(
            "checkify.checkify(function, errors=...) returns a function of (error, value).",
            "Two sets of checks are joined: checkify.user_checks | checkify.float_checks.",
            "jax.jit goes around the result of checkify; error.get() is the text, or None.",
        ),
        verify=verify_run_checked,
        solution=solve_run_checked,
    ),
)
