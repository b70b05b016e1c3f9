"""Evaluate a jaxpr that a student's process sent as plain data.

The judge builds nothing from the student's process except equations of JAX's own primitives. Each
of them is applied to the judge's values, so that JAX checks shapes and dtypes, and `jax.jit`,
`jax.grad`, `jax.vmap`, and `jax.make_jaxpr` transform the equations as if the judge had written
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import primitives

from jaxbits_grader.judging.array_data import Data, NotPlain
from jaxbits_grader.judging.jaxpr_data import PLAIN_POLICIES
from jaxbits_grader.judging.plain_data import Codec

_UNSAFE = ("callback", "infeed", "outfeed", "ffi", "custom_call", "debug", "donat", "pallas")
_PRIMITIVES = {
    primitive.name: primitive
    for name, primitive in vars(primitives).items()
    if name.endswith("_p") and not any(word in primitive.name for word in _UNSAFE)
}
_DIMENSION_NUMBERS = {
    "GatherDimensionNumbers": lax.GatherDimensionNumbers,
    "ScatterDimensionNumbers": lax.ScatterDimensionNumbers,
    "ConvDimensionNumbers": lax.ConvDimensionNumbers,
}
_ENUMS = {"GatherScatterMode": lax.GatherScatterMode, "Precision": lax.Precision,
          "RandomAlgorithm": lax.RandomAlgorithm, "FftType": lax.FftType,
          "RoundingMethod": lax.RoundingMethod,
          "AccuracyMode": getattr(lax, "AccuracyMode", lax.Precision)}  # fmt: skip


def abstract_value(data: Data) -> jax.ShapeDtypeStruct:
    """Return the abstract value that `abstract_data` described."""
    shape, dtype, is_weak = data
    if dtype.startswith("key<"):
        key = jax.eval_shape(lambda: jax.random.key(0, impl=dtype[4:-1]))
        return jax.ShapeDtypeStruct(tuple(shape), key.dtype)
    return jax.ShapeDtypeStruct(tuple(shape), jnp.dtype(dtype), weak_type=is_weak)


class JaxprEvaluator:
    """Evaluates jaxprs.

    Args:
        codec: The codec for constants and literals.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def function(self, data: dict[str, Any]) -> Callable[..., list[Any]]:
        """Return a function that evaluates a jaxpr on its inputs and returns a list of outputs.

        The function raises NotPlain if the data does not describe a jaxpr, or any error that JAX
        raises for an equation that is not valid.
        """
        consts = [self._codec.decode(const) for const in data["consts"]]

        def evaluate(*inputs: Any) -> list[Any]:
            values = dict(zip(data["in"], (*consts, *inputs), strict=True))

            def read(atom: Any) -> Any:
                if isinstance(atom, list) and atom[0] == "float0":
                    return np.zeros(atom[1], jax.dtypes.float0)
                return self._codec.decode(atom) if isinstance(atom, list) else values[atom]

            for name, ins, outs, parameters in data["eqns"]:
                results = self._apply(name, parameters, [read(atom) for atom in ins])
                values.update(zip(outs, results, strict=True))
            return [read(atom) for atom in data["out"]]

        return evaluate

    def _apply(self, name: str, p: dict[str, Any], inputs: list[Any]) -> Sequence[Any]:
        special = getattr(self, f"_apply_{name}", None)
        if special is not None:
            return list(special(p, inputs))
        primitive = _PRIMITIVES.get(name)
        if primitive is None:
            raise NotPlain(f"the judge does not know the primitive {name!r:.40}")
        parameters = {key: self._parameter(value) for key, value in p.items()}
        outputs = primitive.bind(*inputs, **parameters)
        return list(outputs) if primitive.multiple_results else [outputs]

    def _apply_jit(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        return list(jax.jit(self.function(p["body"]))(*inputs))

    def _apply_remat(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        body = self.function(p["body"])
        name = p["policy"]
        if name is not None and name not in PLAIN_POLICIES:
            raise NotPlain(f"the judge does not know the policy {name!r:.40}")
        policy = name and getattr(jax.checkpoint_policies, name)
        return list(jax.checkpoint(body, prevent_cse=p["prevent_cse"], policy=policy)(*inputs))

    def _apply_scan(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        body, n, m = self.function(p["body"]), p["consts"], p["consts"] + p["carry"]

        def step(carry: list[Any], xs: list[Any]) -> tuple[list[Any], list[Any]]:
            outputs = body(*inputs[:n], *carry, *xs)
            return outputs[: p["carry"]], outputs[p["carry"] :]

        carry, ys = lax.scan(
            step,
            inputs[n:m],
            inputs[m:],
            length=p["length"],
            reverse=p["reverse"],
            unroll=p["unroll"],
        )
        return [*carry, *ys]

    def _apply_while(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        cond, body = self.function(p["cond"]), self.function(p["body"])
        n, m = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
        is_running = lambda state: cond(*inputs[:n], *state)[0]  # noqa: E731

        def step(state: list[Any]) -> list[Any]:
            # Under vmap, each loop has its own predicate, and those that have ended keep their
            # state: https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/control_flow/loops.py
            running, new = is_running(state), body(*inputs[n:m], *state)
            return [_choose(running, *pair) for pair in zip(new, state, strict=True)]

        return lax.while_loop(lambda state: jnp.any(is_running(state)), step, inputs[m:])

    def _apply_cond(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        branches = [self.function(branch) for branch in p["branches"]]
        return list(lax.switch(inputs[0], branches, *inputs[1:]))

    def _apply_custom_jvp_call(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        body, rule = self.function(p["body"]), self.function(p["rule"])
        count = len(p["body"]["out"])
        function = jax.custom_jvp(lambda *args: tuple(body(*args)))

        @function.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            found = rule(*primals, *tangents)
            results, rest = found[:count], iter(found[count:])
            zeros = p["rule"]["zero"]
            moved = [
                jnp.zeros_like(r) if z else next(rest) for r, z in zip(results, zeros, strict=True)
            ]
            return tuple(results), tuple(moved)

        return list(function(*inputs))

    def _apply_custom_vjp_call(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        body, forward = self.function(p["body"]), self.function(p["forward"])
        backward, count = self.function(p["backward"]), p["residuals"]

        def with_residuals(*args: Any) -> tuple[tuple[Any, ...], list[Any]]:
            found = forward(*args)
            own = iter(found[:count])
            residuals = [next(own) if n is None else args[n] for n in p["forwarded"]]
            return tuple(found[count:]), residuals

        def slopes(residuals: list[Any], cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
            found = backward(*residuals, *cotangents)
            floats = [jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in inputs]
            return tuple(s if is_float else None for s, is_float in zip(found, floats, strict=True))

        function = jax.custom_vjp(lambda *args: tuple(body(*args)))
        function.defvjp(with_residuals, slopes)
        return list(function(*inputs))

    def _apply_split(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        sizes, axis = map(self._parameter, (p["sizes"], p["axis"]))
        return list(lax.split(inputs[0], sizes, axis))

    def _apply_stack(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        return [jnp.stack(inputs, self._parameter(p["axis"]))]

    def _apply_unstack(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        return list(jnp.unstack(inputs[0], axis=self._parameter(p["axis"])))

    def _apply_tile(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        return [jnp.tile(inputs[0], self._parameter(p["reps"]))]

    def _apply_reduce(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        body, count = self.function(p["body"]), len(inputs) // 2
        combine = lambda one, other: body(*one, *other)  # noqa: E731
        return list(lax.reduce(inputs[:count], inputs[count:], combine, p["dimensions"]))

    def _apply_optimization_barrier(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        return list(lax.optimization_barrier(tuple(inputs)))

    def _apply_random_clone(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        return inputs

    def _apply_device_put(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        return inputs

    def _apply_random_seed(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        seed = lambda value: jax.random.key(value, impl=p["impl"])  # noqa: E731
        return [_mapped(seed, jnp.ndim(inputs[0]))(inputs[0])]

    def _apply_random_wrap(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        return [jax.random.wrap_key_data(inputs[0], impl=p["impl"])]

    def _apply_random_unwrap(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        return [jax.random.key_data(inputs[0])]

    def _apply_random_split(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        split = lambda key: jax.random.split(key, tuple(p["shape"]))  # noqa: E731
        return [_mapped(split, inputs[0].ndim)(inputs[0])]

    def _apply_random_fold_in(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        shape = jnp.broadcast_shapes(*(value.shape for value in inputs))
        keys, numbers = (jnp.broadcast_to(value, shape) for value in inputs)
        return [_mapped(jax.random.fold_in, len(shape))(keys, numbers)]

    def _apply_random_bits(self, p: dict[str, Any], inputs: list[Any]) -> list[Any]:
        dtype = jnp.dtype(f"uint{p['bit_width']}")
        draw = lambda key: jax.random.bits(key, tuple(p["shape"]), dtype)  # noqa: E731
        return [_mapped(draw, inputs[0].ndim)(inputs[0])]

    def _parameter(self, data: Data) -> Any:
        try:
            return self._decode_parameter(*data)
        except KeyError as error:
            raise NotPlain(f"the judge does not know the parameter {error.args[0]!r:.40}") from None

    def _decode_parameter(self, kind: str, *rest: Any) -> Any:
        if kind in ("closed", "jaxpr"):
            body, avals = rest
            closed = jax.make_jaxpr(self.function(body))(*map(abstract_value, avals))
            return closed if kind == "closed" else closed.jaxpr
        if kind == "enum":
            _, name, member = rest
            return _ENUMS[name][member]
        if kind == "named":
            _, name, parts = rest
            return _DIMENSION_NUMBERS[name](*map(self._parameter, parts))
        if kind == "fields":
            _, name, fields = rest
            values = {key: self._parameter(value) for key, value in fields.items()}
            return _DIMENSION_NUMBERS[name](**values)
        if kind in ("tuple", "list"):
            parts = [self._parameter(part) for part in rest[0]]
            return tuple(parts) if kind == "tuple" else parts
        return self._codec.decode([kind, *rest])


def _choose(condition: Any, new: Any, old: Any) -> Any:
    if not jnp.ndim(condition):
        return new
    axes = range(condition.ndim, jnp.ndim(new))
    return jnp.where(jnp.expand_dims(condition, tuple(axes)), new, old)


def _mapped(function: Callable[..., Any], dimensions: int) -> Callable[..., Any]:
    for _ in range(dimensions):
        function = jax.vmap(function)
    return function
