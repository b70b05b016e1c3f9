"""The exercises for chapter 14, debugging."""

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

from jaxbits.book.exercises.assertions import AnswerRejected, call, under_jit
from jaxbits.book.exercises.base import Exercise


def first_bad_step(step: Callable[..., Any], state: Any, batches: Iterable[Any]) -> int | None:
    """Return the number of the step that produced the first NaN or infinity, or None."""
    raise NotImplementedError


def solve_first_bad_step(
    step: Callable[..., Any], state: Any, batches: Iterable[Any]
) -> int | None:
    """Check the new state as well as the loss, because the loss shows a bad state one step late."""
    for number, batch in enumerate(batches):
        state, loss = step(state, batch)
        made = jax.tree.leaves((state, loss))
        if not all(bool(jnp.isfinite(leaf).all()) for leaf in made):
            return number
    return None


def _training(bad_number: float, bad_at: int, in_loss: bool = False) -> Callable[..., Any]:
    """Return a step function that sets a weight or the loss to `bad_number` at step `bad_at`."""

    def step(state: dict[str, Any], batch: jax.Array) -> tuple[dict[str, Any], jax.Array]:
        loss = jnp.mean((state["w"] - batch) ** 2)
        hit = state["count"] == bad_at
        last = jnp.where(hit & (not in_loss), bad_number, 0.9 * state["w"][-1])
        loss = jnp.where(hit & in_loss, bad_number, loss)
        new = {"count": state["count"] + 1, "rate": 0.5 * state["rate"]}
        return {**new, "w": (0.9 * state["w"]).at[-1].set(last)}, loss

    return step


def verify_first_bad_step(answer: Callable[..., Any]) -> None:
    """Test runs whose state or loss becomes NaN or infinite, and a run that stays finite."""
    arrays = {"count": jnp.int32(0), "rate": jnp.float32(1.0), "w": jnp.ones(2)}
    numbers = {"count": 0, "rate": 1.0, "w": jnp.ones(2)}
    batches = [jnp.full(2, float(n)) for n in range(6)]
    told: list[tuple[Any, int | None, str, bool]] = []
    for ruin, at, in_loss, expected, what in (
        (jnp.nan, 3, False, 3, "step 3 returns a state with a NaN"),
        (jnp.inf, 2, False, 2, "step 2 returns a state with an infinity"),
        (jnp.nan, 4, True, 4, "step 4 returns a NaN as its loss, and every state is finite"),
        (jnp.nan, 0, False, 0, "step 0 returns a state with a NaN"),
        (jnp.nan, 99, False, None, "no step returns a NaN or an infinity"),
    ):
        seen = call(answer, jax.jit(_training(ruin, at, in_loss)), arrays, list(batches))
        if isinstance(seen, (jax.Array, np.integer)) and np.ndim(seen) == 0:
            seen = int(seen)
        told.append((seen, expected, what, in_loss))
    if all(seen == (None if right is None else right + 1) for seen, right, *_ in told):
        raise AnswerRejected(
            "your function returns 4 if step 3 is the first bad one; count the steps from 0"
        )
    for seen, expected, what, in_loss in told:
        if seen == expected and type(seen) is type(expected):
            continue
        late = expected is not None and seen == expected + 1
        why = ": the loss shows a bad state one step late" if late and not in_loss else ""
        raise AnswerRejected(f"{what}, so the result must be {expected!r}, got {seen!r}{why}")
    what = "if the step is not compiled and the state contains Python numbers"
    try:
        seen = call(answer, _training(jnp.nan, 1), numbers, list(batches))
    except AnswerRejected as wrong:
        cause = wrong.__cause__
        raise AnswerRejected(
            f"{what}, your function raises {type(cause).__name__}: {cause}"
        ) from cause
    if seen != 1:
        raise AnswerRejected(f"{what}, the result must be 1, got {seen!r}")


def watched(name: str, x: jax.Array) -> jax.Array:
    """Return x, and make the program print ``name: smallest to largest`` in program order."""
    raise NotImplementedError


def solve_watched(name: str, x: jax.Array) -> jax.Array:
    """Pass the name as a value, too, because braces in a format string are placeholders."""
    jax.debug.print("{}: {} to {}", name, x.min(), x.max(), ordered=True)
    return x


def _printed(
    answer: Callable[..., Any], program: Callable[..., Any], *args: Any
) -> tuple[Any, list[str]]:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        value = call(answer, *args, how="under jit, ", through=program)
        jax.effects_barrier()
    return value, text.getvalue().splitlines()


def verify_watched(answer: Callable[..., Any]) -> None:
    """Test compiled calls, a name with braces, and two probes in a loop."""
    x = jnp.array([2.0, -1.0, 5.0])
    table = jnp.array([[0.5, 1.25], [-0.25, 0.0]])
    watching = under_jit(answer, static=(0,))
    for data, expected in (
        (x, "w: -1.0 to 5.0"),
        (2 * x, "w: -2.0 to 10.0"),
        (table, "w: -0.25 to 1.25"),
        (jnp.float32(3.0), "w: 3.0 to 3.0"),
    ):
        value, lines = _printed(answer, watching, "w", data)
        if value is None:
            raise AnswerRejected("your function must return the array, got None")
        if not isinstance(value, jax.Array) or not np.array_equal(value, data):
            raise AnswerRejected("your function must return the array unchanged")
        if lines == [expected]:
            continue
        what = f"under jit, for the array {data.tolist()}, the program prints {_lines(lines)}"
        if any("Tracer" in line or "Traced" in line for line in lines):
            raise AnswerRejected(
                f"{what}, a tracer, because Python calls print and formats f-strings only while "
                "JAX traces. Pass the values to jax.debug.print, which fills them in when the "
                "program runs"
            )
        raise AnswerRejected(f"{what} instead of {expected!r}")
    braces = "grad {w}"
    try:
        _, lines = _printed(answer, watching, braces, x)
    except AnswerRejected as wrong:
        kind = type(wrong.__cause__ or wrong).__name__
        raise AnswerRejected(
            f"for the name {braces!r}, your function raises {kind}. {_FORMAT}"
        ) from wrong
    if lines != ["grad {w}: -1.0 to 5.0"]:
        raise AnswerRejected(
            f"for the name {braces!r}, your function prints {_lines(lines)}. {_FORMAT}"
        )

    def body(x: jax.Array) -> jax.Array:
        result: jax.Array = answer("after", 10 * answer("before", x))
        return result

    looped = jax.jit(lambda name, xs: lax.map(body, xs), static_argnums=0)
    _, lines = _printed(answer, looped, "after", jnp.array([[1.0], [2.0]]))
    names = [line.split(":")[0] for line in lines]
    if sorted(names) != ["after", "after", "before", "before"]:
        raise AnswerRejected(
            "in a loop of two iterations with the probes 'before' and 'after', the program prints "
            f"{_lines(lines)} instead of two lines for each probe"
        )
    effects = jax.make_jaxpr(lambda x: answer("w", x))(x).effects
    ordered = any("Ordered" in type(effect).__name__ for effect in effects)
    if not ordered or names != ["before", "after"] * 2:
        raise AnswerRejected("two probes may print in either order; pass ordered=True")


_FORMAT = "Braces in a format string are placeholders, so pass the name as a value for a {}, too"


def _lines(lines: list[str]) -> str:
    return " and ".join(map(repr, lines)) if lines else "nothing"


def run_checked(function: Callable[..., Any], x: Any) -> tuple[str | None, Any]:
    """Return the message of the first failed check, or None, and the compiled function's value."""
    raise NotImplementedError


def solve_run_checked(function: Callable[..., Any], x: Any) -> tuple[str | None, Any]:
    """Join the sets of checks with |, and compile the function that checkify returns."""
    from jax.experimental import checkify

    errors = checkify.user_checks | checkify.float_checks
    error, value = jax.jit(checkify.checkify(function, errors=errors))(x)
    return error.get(), value


def verify_run_checked(answer: Callable[..., Any]) -> None:
    """Test a function with its own check, one that divides by zero, and a jitted one."""
    traced: list[bool] = []

    def price(x: jax.Array) -> jax.Array:
        traced.append(isinstance(x, jax.core.Tracer))
        checkify.check(x < 100, "a price of {x}", x=x)
        return jnp.log(x)

    def inverse(x: jax.Array) -> jax.Array:
        return 1 / x

    cases: tuple[tuple[Any, float, str | None, Any], ...] = (
        (price, 1.0, None, 0.0),
        (price, 200.0, "a price of 200", np.log(200.0)),
        (price, -1.0, "nan", np.nan),
        (jax.jit(price), 200.0, "a price of 200", np.log(200.0)),
        (inverse, 0.0, "division by zero", np.inf),
    )
    for function, at, text, value in cases:
        what = f"for {function.__name__} at {at:g}"
        told = _told(answer, function, at, what)
        if not isinstance(told, tuple) or len(told) != 2:
            raise AnswerRejected(
                f"your function must return a tuple of the message and the value, got {told!r:.80}"
            )
        said, seen = told
        if isinstance(said, checkify.Error):
            raise AnswerRejected(
                "your function returns the error itself; the message, or None, is error.get()"
            )
        if said is not None and not isinstance(said, str):
            raise AnswerRejected(
                f"the first result must be the message, error.get(), got {said!r:.60}"
            )
        if (text is None) != (said is None) or (text or "") not in (said or ""):
            wanted = f"contain {text!r}" if text else "be None"
            why = ""
            if (
                function is price
                and at > 100
                and said is None
                and _reports_automatic_checks(answer)
            ):
                why = (
                    ", because the set of checks that you passed replaced user_checks. Join the "
                    "two sets with |"
                )
            raise AnswerRejected(f"{what}, the message must {wanted}, got {said!r:.80}{why}")
        number = isinstance(seen, (jax.Array, np.ndarray, np.number, float))
        if not number or not np.allclose(seen, value, rtol=1e-5, equal_nan=True):
            raise AnswerRejected(
                f"{what}, the value must be {value:.4g}, got {seen}; return it even if a "
                "check fails"
            )
    if not all(traced):
        raise AnswerRejected("the function is not compiled; apply jax.jit to checkify's result")


def _reports_automatic_checks(answer: Callable[..., Any]) -> bool:
    """Return True if the answer reports a NaN, a division by zero, or an index out of bounds."""
    cases: tuple[tuple[Any, float], ...] = (
        (jnp.log, -1.0),
        (lambda x: 1 / x, 0.0),
        (lambda x: jnp.zeros(3)[x.astype(jnp.int32)], 5.0),
    )
    try:
        return any(isinstance(answer(f, jnp.float32(at))[0], str) for f, at in cases)
    except Exception:
        return False


def _told(answer: Callable[..., Any], function: Callable[..., Any], at: float, what: str) -> Any:
    try:
        return call(answer, function, jnp.float32(at))
    except AnswerRejected as wrong:
        if not isinstance(wrong.__cause__, checkify.JaxRuntimeError):
            raise
        raise AnswerRejected(
            f"{what}, your function raises the error instead of returning its message, error.get()"
        ) from wrong.__cause__


EXERCISES = (
    Exercise(
        id="debugging/1",
        title="the step that did it",
        stub=first_bad_step,
        hints=(
            "A step computes its loss from the parameters that it receives. Which step produced "
            "those?",
            "Check both the new state and the loss that a step returns, and check for infinities "
            "as well as NaNs.",
            "jax.tree.leaves((state, loss)) is a list of numbers and arrays. Call "
            "jnp.isfinite(leaf).all() for each leaf.",
        ),
        verify=verify_first_bad_step,
        solution=solve_first_bad_step,
    ),
    Exercise(
        id="debugging/2",
        title="a probe that stays in the program",
        stub=watched,
        hints=(
            "Python calls print and formats f-strings while JAX traces. jax.debug.print is part of "
            "the program.",
            "Pass every value as an argument for a placeholder, {}. Do the same with the name, "
            "because it may contain braces.",
            'Call jax.debug.print("{}: {} to {}", ..., ordered=True) to keep the lines in order.',
        ),
        verify=verify_watched,
        solution=solve_watched,
    ),
    Exercise(
        id="debugging/3",
        title="all checks in one run",
        stub=run_checked,
        hints=(
            "checkify.checkify(function, errors=...) returns a function that returns the pair "
            "(error, value).",
            "Join two sets of checks with |: checkify.user_checks | checkify.float_checks.",
            "Compile the function that checkify returns. error.get() is the message, or None.",
        ),
        verify=verify_run_checked,
        solution=solve_run_checked,
    ),
)
