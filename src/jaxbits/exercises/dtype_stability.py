"""The exercises of chapter 11, optimisers that change their types."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call


def keep_types(old: Any, new: Any) -> Any:
    """Return the tree `new` with every leaf in the dtype of its counterpart in `old`."""
    raise NotImplementedError


def solve_keep_types(old: Any, new: Any) -> Any:
    """Go through both trees at once; `jnp.asarray` also takes a number of Python's."""
    return jax.tree.map(lambda was, now: jnp.asarray(now, was.dtype), old, new)


def verify_keep_types(answer: Callable[..., Any]) -> None:
    """Ask for floats, a counter, None, a number of Python's, and for Adam's state in a scan."""
    import optax

    old = {
        "m": jnp.zeros(2, jnp.bfloat16),
        "count": jnp.int32(3),
        "none": None,
        "scale": jnp.ones(()),
    }
    new = {"m": jnp.full(2, 0.1), "count": jnp.int32(4), "none": None, "scale": 0.5}
    seen = call(answer, old, new)
    wanted: Any = jax.tree.structure(new)
    if jax.tree.structure(seen) != wanted:
        raise NotYet("it returns another tree: keep keys, tuples and None where they are")
    for name in ("m", "count", "scale"):
        dtype = getattr(seen[name], "dtype", type(seen[name]).__name__)
        if dtype != old[name].dtype:
            raise NotYet(f"the leaf {name!r} should be {old[name].dtype}, as in old; it is {dtype}")
    tenth = np.asarray(jnp.bfloat16(0.1), np.float32)
    if not np.array_equal(np.asarray(seen["m"], np.float32), [tenth, tenth]):
        raise NotYet("the numbers should be those of new; the leaf 'm' holds others")
    if int(seen["count"]) != 4 or float(seen["scale"]) != 0.5:
        raise NotYet("the numbers should be those of new: count is 4 there, and scale 0.5")
    tx, params = optax.adam(0.1), jnp.ones(2, jnp.bfloat16)

    def turn(state: Any, gradient: Any) -> Any:
        return answer(state, tx.update(gradient, state)[1]), None

    call(lambda: lax.scan(turn, tx.init(params), jnp.ones((3, 2))), how="in a scan over Adam, ")


def half_gradient(
    loss: Callable[..., jax.Array], params: Any, x: jax.Array
) -> tuple[jax.Array, Any]:
    """Return the value of loss(params, x) in bfloat16, and its gradient in float32."""
    raise NotImplementedError


def solve_half_gradient(
    loss: Callable[..., jax.Array], params: Any, x: jax.Array
) -> tuple[jax.Array, Any]:
    """Cast inside of what is differentiated, so that the gradient comes back through the cast."""

    def in_half(params: Any) -> jax.Array:
        half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
        return loss(half, x.astype(jnp.bfloat16))

    value, gradient = jax.value_and_grad(in_half)(params)
    return value, gradient


def verify_half_gradient(answer: Callable[..., Any]) -> None:
    """Ask what the loss saw, what the gradient is, and the same under jit."""
    seen: list[Any] = []

    def loss(params: Any, x: jax.Array) -> jax.Array:
        seen.append((jax.tree.map(lambda p: str(p.dtype), params), str(x.dtype)))
        return jnp.mean((x @ params["w"] + params["b"]) ** 2)

    params = {"w": jnp.array([1.0, -0.5]), "b": jnp.array(0.25)}
    x = jnp.array([[1.0, 2.0], [0.5, -1.0]])

    in_half = 0.8125  # bfloat16 is exact for these numbers

    def asked(params: Any, x: jax.Array) -> Any:
        return answer(loss, params, x)

    for how, function in (("", asked), ("under jit, ", jax.jit(asked))):
        result = call(function, params, x, how=how)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise NotYet("return two things: the value and the gradient")
        if not seen:
            raise NotYet("it never calls the loss")
        for dtypes, dtype_of_x in seen:
            if set(dtypes.values()) != {"bfloat16"}:
                raise NotYet(f"the loss should see bfloat16 parameters; it saw {dtypes}")
            if dtype_of_x != "bfloat16":
                raise NotYet(
                    f"the loss saw bfloat16 parameters and a {dtype_of_x} batch, and so computed "
                    f"in {dtype_of_x}: cast the batch as well"
                )
        value = jax.tree.leaves(result[0])
        if len(value) != 1 or not np.array_equal(np.asarray(value[0], np.float32), in_half):
            raise NotYet(f"{how}the first of the two should be the value of the loss, {in_half}")
        kinds = jax.tree.map(lambda g: str(getattr(g, "dtype", type(g).__name__)), result[1])
        if kinds != {"w": "float32", "b": "float32"}:
            raise NotYet(f"{how}the gradient should be float32, as the parameters; it is {kinds}")
        expected = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(params)
        if not all(jnp.allclose(result[1][k], expected[k], rtol=0.05) for k in params):
            raise NotYet(f"{how}the gradient has other values than that of the loss")


def freeze(tx: Any, frozen: Collection[str]) -> Any:
    """Return `tx` for all parameters but those named in `frozen`, which must not move."""
    raise NotImplementedError


def solve_freeze(tx: Any, frozen: Collection[str]) -> Any:
    """Give each name a label, and the frozen ones an optimiser whose updates are zero."""
    import optax

    def labels(params: Any) -> dict[str, str]:
        return {name: "freeze" if name in frozen else "train" for name in params}

    return optax.multi_transform({"train": tx, "freeze": optax.set_to_zero()}, labels)


def verify_freeze(answer: Callable[..., Any]) -> None:
    """Ask for two names out of three, with a gradient and with weight decay, and for none."""
    import optax

    params = {"a": jnp.ones(2), "b": jnp.ones(2), "c": jnp.ones(2)}
    gradient = {"a": jnp.full(2, 3.0), "b": jnp.full(2, 3.0), "c": jnp.zeros(2)}
    tx = optax.adamw(0.1, weight_decay=0.1)
    plain = optax.apply_updates(params, tx.update(gradient, tx.init(params), params)[0])
    for frozen in (("b", "c"), ("a",), ()):
        made = call(answer, tx, frozen)
        if not (hasattr(made, "init") and hasattr(made, "update")):
            raise NotYet(f"return a transformation; this is a {type(made).__name__}")
        state = call(made.init, params, how="init, ")
        updates, _ = call(made.update, gradient, state, params, how="update, ")
        after = optax.apply_updates(params, updates)
        for name in params:
            seen = float(after[name][0])
            if name in frozen and seen == 4.0:
                raise NotYet(
                    f"with frozen={frozen}, {name!r} went from 1 to 4: its raw gradient, 3, was "
                    "added. masked hands on what it does not transform"
                )
            if name in frozen and seen != 1.0:
                raise NotYet(
                    f"with frozen={frozen}, {name!r} went from 1 to {seen:.3g}: "
                    "weight decay needs no gradient"
                )
            if name not in frozen and not np.isclose(seen, float(plain[name][0])):
                wanted = float(plain[name][0])
                raise NotYet(
                    f"with frozen={frozen}, {name!r} went from 1 to {seen:.3g}; tx alone takes it "
                    f"to {wanted:.3g}"
                )


EXERCISES = (
    Exercise(
        id="dtype-stability/1",
        title="a state that keeps its types",
        stub=keep_types,
        hints=(
            "jax.tree.map takes several trees: jax.tree.map(f, old, new) calls f(was, now).",
            "A number of Python's has no astype. Which function makes an array of anything?",
            "jnp.asarray(now, was.dtype) for each pair of leaves.",
        ),
        verify=verify_keep_types,
        solution=solve_keep_types,
    ),
    Exercise(
        id="dtype-stability/2",
        title="a gradient for master weights",
        stub=half_gradient,
        hints=(
            "A gradient has the dtype of what you differentiate by. What should that be?",
            "Write a function of the float32 parameters that casts them and x and calls the loss.",
            "jax.value_and_grad of that inner function, at the float32 parameters.",
        ),
        verify=verify_half_gradient,
        solution=solve_half_gradient,
    ),
    Exercise(
        id="dtype-stability/3",
        title="frozen means frozen",
        stub=freeze,
        hints=(
            "What must the updates of a frozen parameter be, whatever its gradient?",
            "optax.multi_transform takes a function from params to a tree of labels.",
            "Two labels: one for tx, one for optax.set_to_zero().",
        ),
        verify=verify_freeze,
        solution=solve_freeze,
    ),
)
