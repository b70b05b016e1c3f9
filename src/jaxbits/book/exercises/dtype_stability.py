"""The exercises for chapter 11, optimizers and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits._formatting import first_line
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    call,
    is_structure_mismatch,
    under_jit,
)
from jaxbits.book.exercises.base import Exercise


def keep_types(old: Any, new: Any) -> Any:
    """Return the tree `new` with each leaf cast to the dtype of its counterpart in `old`."""
    raise NotImplementedError


def solve_keep_types(old: Any, new: Any) -> Any:
    """Map over both trees at once. `jnp.asarray` also accepts Python numbers."""
    return jax.tree.map(lambda was, now: jnp.asarray(now, was.dtype), old, new)


def verify_keep_types(answer: Callable[..., Any]) -> None:
    """Test floats, a counter, None, Python numbers, and Adam's state in a scan."""
    import optax

    # An infinity in old reveals an answer that mixes values from old into those from new.
    old = {
        "m": jnp.full(2, jnp.inf, jnp.bfloat16),
        "count": jnp.int32(3),
        "none": None,
        "scale": jnp.ones(()),
    }
    new = {"m": jnp.full(2, 0.1, jnp.float32), "count": 4, "none": None, "scale": 0.5}
    try:
        seen = call(answer, old, new)
    except AnswerRejected as wrong:
        if isinstance(wrong.__cause__, AttributeError) and "astype" in str(wrong.__cause__):
            raise AnswerRejected(
                "your function calls astype on a Python number, which has no astype; use "
                "jnp.asarray, which accepts Python numbers"
            ) from wrong.__cause__
        raise
    wanted: Any = jax.tree.structure(new)
    if jax.tree.structure(seen) != wanted:
        raise AnswerRejected(
            "the result must have the same tree structure as new, with the same keys, tuples, "
            "and None values"
        )
    for name in ("m", "count", "scale"):
        dtype = getattr(seen[name], "dtype", type(seen[name]).__name__)
        if dtype != old[name].dtype:
            raise AnswerRejected(
                f"the leaf {name!r} must be {old[name].dtype}, its dtype in old, got {dtype}"
            )
    tenth = np.asarray(jnp.bfloat16(0.1), np.float32)
    if not np.array_equal(np.asarray(seen["m"], np.float32), [tenth, tenth]):
        raise AnswerRejected(
            "the values must come from the argument new, but those of the leaf 'm' do not"
        )
    if int(seen["count"]) != 4 or float(seen["scale"]) != 0.5:
        raise AnswerRejected(
            "the values must come from new, where count is 4 and scale is 0.5, got "
            f"{int(seen['count'])} and {float(seen['scale']):g}"
        )
    tx, params = optax.adam(0.1), jnp.ones(2, jnp.bfloat16)

    def body(state: Any, gradient: Any) -> Any:
        return answer(state, tx.update(gradient, state)[1]), None

    try:
        lax.scan(body, tx.init(params), jnp.ones((3, 2)))
    except Exception as error:
        first = first_line(error, limit=None)
        raise AnswerRejected(
            f"a lax.scan with Adam's state as its carry raises {type(error).__name__}: {first}"
        ) from error


def half_gradient(
    loss: Callable[..., jax.Array], params: Any, x: jax.Array
) -> tuple[jax.Array, Any]:
    """Return loss(params, x), computed in bfloat16, and its gradient in float32."""
    raise NotImplementedError


def solve_half_gradient(
    loss: Callable[..., jax.Array], params: Any, x: jax.Array
) -> tuple[jax.Array, Any]:
    """Cast inside the differentiated function, so that the gradient has the outer dtype."""

    def in_half(params: Any) -> jax.Array:
        half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
        return loss(half, x.astype(jnp.bfloat16))

    value, gradient = jax.value_and_grad(in_half)(params)
    return value, gradient


def verify_half_gradient(answer: Callable[..., Any]) -> None:
    """Check the inputs of the loss, its value, and its gradient, eagerly and under jit."""
    seen: list[Any] = []

    def loss(params: Any, x: jax.Array) -> jax.Array:
        seen.append((jax.tree.map(lambda p: str(p.dtype), params), str(x.dtype)))
        return jnp.mean((x @ params["w"] + params["b"]) ** 2)

    params = {"w": jnp.array([1.0, -0.5]), "b": jnp.array(0.25)}
    x = jnp.array([[1.0, 2.0], [0.5, -1.0]])
    in_half = 0.8125  # bfloat16 represents these numbers exactly.

    for how, function in (("", answer), ("under jit, ", under_jit(answer, static=(0,)))):
        given = {**params}
        result = call(answer, loss, given, x, how=how, through=function)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise AnswerRejected("your function must return a tuple of the value and the gradient")
        if not seen:
            raise AnswerRejected("your function never calls the loss")
        for dtypes, dtype_of_x in seen:
            if set(dtypes.values()) != {"bfloat16"}:
                said = " and ".join(sorted(set(dtypes.values())))
                raise AnswerRejected(f"the loss must receive bfloat16 parameters, got {said}")
            if dtype_of_x != "bfloat16":
                raise AnswerRejected(
                    f"the loss received bfloat16 parameters but a {dtype_of_x} batch, so it "
                    f"computed in {dtype_of_x}; cast the batch, too"
                )
        if any(leaf.dtype != jnp.float32 for leaf in jax.tree.leaves(given)):
            raise AnswerRejected("your function modifies its parameters in place")
        value = jax.tree.leaves(result[0])
        if len(value) != 1 or not np.array_equal(np.asarray(value[0], np.float32), in_half):
            raise AnswerRejected(f"{how}the first result must be the value of the loss, {in_half}")
        form: Any = jax.tree.structure(params)
        if jax.tree.structure(result[1]) != form:
            raise AnswerRejected(
                f"{how}the second result must be the gradient, a tree with the same structure "
                "as the parameters"
            )
        kinds = {str(getattr(g, "dtype", type(g).__name__)) for g in jax.tree.leaves(result[1])}
        if kinds != {"float32"}:
            raise AnswerRejected(
                f"{how}the gradient must be float32 like the parameters, got "
                f"{' and '.join(sorted(kinds))}. A gradient has the dtype of the "
                "argument that you differentiate with respect to"
            )
        expected = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(params)
        if not all(jnp.allclose(result[1][k], expected[k], rtol=0.05) for k in params):
            raise AnswerRejected(f"{how}the returned gradient differs from that of the loss")


def freeze(tx: Any, frozen: Collection[str]) -> Any:
    """Return an optimizer that applies `tx`, except to the parameters named in `frozen`."""
    raise NotImplementedError


def solve_freeze(tx: Any, frozen: Collection[str]) -> Any:
    """Label each parameter, and give the frozen ones an optimizer whose updates are zero."""
    import optax

    def labels(params: Any) -> dict[str, str]:
        return {name: "freeze" if name in frozen else "train" for name in params}

    return optax.multi_transform({"train": tx, "freeze": optax.set_to_zero()}, labels)


def verify_freeze(answer: Callable[..., Any]) -> None:
    """Freeze two, one, and none of three parameters, and take two steps with weight decay."""
    import optax

    params = {"a": jnp.ones(2), "b": jnp.ones(2), "c": jnp.ones(2)}
    gradient = {"a": jnp.full(2, 3.0), "b": jnp.full(2, 3.0), "c": jnp.zeros(2)}
    tx = optax.adamw(0.1, weight_decay=0.1)
    for frozen in (("b", "c"), ("a",), ()):
        made = call(answer, tx, frozen)
        if not (hasattr(made, "init") and hasattr(made, "update")):
            raise AnswerRejected(
                "your function must return a transformation with init and update, got a "
                f"{type(made).__name__}"
            )
        seen = _two_steps(made, params, gradient)
        plain = _two_steps(tx, params, gradient)
        for name, first, wanted in zip(params, seen[0].values(), plain[0].values(), strict=True):
            moved = f"with frozen={frozen}, {name!r} went from 1 to {float(first[0]):.3g}"
            if name in frozen and float(first[0]) == 4.0:
                raise AnswerRejected(
                    f"{moved}, because its update is its raw gradient, 3; optax.identity "
                    "passes gradients through unchanged, as does optax.masked where the mask is "
                    "False"
                )
            if name in frozen and float(first[0]) != 1.0:
                raise AnswerRejected(
                    f"{moved}, although it is frozen. Weight decay moves a parameter even "
                    "if its gradient is zero, so make its update zero instead"
                )
            if name not in frozen and float(first[0]) == 1.0:
                raise AnswerRejected(
                    f"with frozen={frozen}, {name!r} did not move, although it is not frozen"
                )
            if name not in frozen and not np.allclose(first, wanted):
                raise AnswerRejected(f"{moved}, but tx alone moves it to {float(wanted[0]):.3g}")
        for name in params:
            wanted = params[name] if name in frozen else plain[1][name]
            if not np.allclose(seen[1][name], wanted):
                raise AnswerRejected(
                    f"with frozen={frozen}, {name!r} must be {float(wanted[0]):.3g} after "
                    f"two steps, got {float(seen[1][name][0]):.3g}"
                )


def _two_steps(tx: Any, params: Any, gradient: Any) -> list[Any]:
    """Return the parameters after one step and after two steps."""
    import optax

    after = []
    try:
        state = tx.init(params)
        for _ in range(2):
            updates, state = tx.update(gradient, state, params)
            params = optax.apply_updates(params, updates)
            after.append({name: jnp.asarray(params[name]) for name in gradient})
    except Exception as error:
        first = first_line(error, limit=None)
        why = ""
        if "no corresponding transformation" in first:
            why = "\n  A label has no corresponding transformation in multi_transform."
        elif is_structure_mismatch(error):
            why = (
                "\n  The labels or the mask must have the same tree structure as params, with "
                "one for each parameter."
            )
        raise AnswerRejected(
            f"the returned transformation raises {type(error).__name__}: {first.rstrip('.')}.{why}"
        ) from error
    return after


EXERCISES = (
    Exercise(
        id="dtype-stability/1",
        title="a state that keeps its types",
        stub=keep_types,
        hints=(
            "jax.tree.map accepts several trees. For example, jax.tree.map(f, old, new) calls "
            "f(was, now) for each pair of corresponding leaves.",
            "Python numbers have no method astype. Which function turns both arrays and Python "
            "numbers into arrays?",
            "Call jnp.asarray(now, was.dtype) for each pair of leaves.",
        ),
        verify=verify_keep_types,
        solution=solve_keep_types,
    ),
    Exercise(
        id="dtype-stability/2",
        title="a gradient for master weights",
        stub=half_gradient,
        hints=(
            "A gradient has the dtype of the argument that you differentiate with respect to, so "
            "differentiate with respect to the float32 parameters. (You can also differentiate "
            "with respect to bfloat16 parameters and cast the gradient afterward.)",
            "Write an inner function that takes the float32 parameters, casts both the parameters "
            "and x to bfloat16, and calls the loss.",
            "Apply jax.value_and_grad to the inner function, and call the resulting function with "
            "the float32 parameters.",
        ),
        verify=verify_half_gradient,
        solution=solve_half_gradient,
    ),
    Exercise(
        id="dtype-stability/3",
        title="frozen means frozen",
        stub=freeze,
        hints=(
            "Weight decay moves a parameter even if its gradient is zero. What must the updates "
            "for a frozen parameter be, so that it does not move?",
            "optax.multi_transform accepts a function that returns a tree of labels, with one "
            "label for each parameter.",
            "You need two labels, one for tx and one for optax.set_to_zero().",
        ),
        verify=verify_freeze,
        solution=solve_freeze,
    ),
)
