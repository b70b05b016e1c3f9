"""Turn a jaxpr into plain data in the student's process, so that a judge can evaluate it.

A jaxpr is data of the form ``{"in": …, "consts": …, "eqns": …, "out": …}``. A variable is a number,
and a literal is an encoded array. An equation is a list of the name of its primitive, its inputs,
the number of its outputs, and its parameters.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from jaxbits._jax_compat import scan_counts
from jaxbits_grader.judging.array_data import Data, NotPlain
from jaxbits_grader.judging.plain_data import Codec

# Equations that only print. They are left out, because a test cannot see what they do.
_PRINTS = ("debug_print",)
_ALIASES = {"pjit": "jit", "closed_call": "jit", "core_call": "jit", "checkpoint": "remat",
            "remat2": "remat"}  # fmt: skip

PLAIN_POLICIES = (
    "everything_saveable",
    "nothing_saveable",
    "dots_saveable",
    "checkpoint_dots",
    "dots_with_no_batch_dims_saveable",
    "checkpoint_dots_with_no_batch_dims",
)
"""The policies in `jax.checkpoint_policies` that take no arguments."""

# The judge repeats these with functions of `jax.random`.
_RANDOM = ("random_seed", "random_wrap", "random_unwrap", "random_split", "random_fold_in",
           "random_bits")  # fmt: skip


def abstract_data(aval: Any) -> Data:
    """Return the shape, dtype, and weak type of an abstract value as plain data."""
    if jnp.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return [list(aval.shape), f"key<{_key_implementation(aval.dtype)}>", False]
    return [list(aval.shape), aval.dtype.name, bool(getattr(aval, "weak_type", False))]


def _key_implementation(dtype: Any) -> str:
    for name in ("threefry2x32", "rbg", "unsafe_rbg"):
        if jax.eval_shape(functools.partial(jax.random.key, impl=name), 0).dtype == dtype:
            return name
    raise NotPlain(f"a key must have one of JAX's implementations, got {dtype}")


class JaxprEncoder:
    """Encodes jaxprs.

    Args:
        codec: The codec for constants and literals.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._in_rule = False

    def encode(self, closed: core.ClosedJaxpr) -> dict[str, Any]:
        """Return a closed jaxpr as plain data.

        Raises:
            NotPlain: If the jaxpr calls Python, uses a Ref, or has a parameter that cannot be
                encoded.
        """
        return self._jaxpr(closed.jaxpr, closed.consts)

    def _jaxpr(self, jaxpr: core.Jaxpr, consts: Sequence[Any] = ()) -> dict[str, Any]:
        numbers: dict[Any, int] = {}

        def number(variable: Any) -> int:
            return numbers.setdefault(variable, len(numbers))

        def read(atom: Any) -> Any:
            if isinstance(atom, core.Literal):
                aval: Any = atom.aval
                if aval.dtype == jax.dtypes.float0:
                    return ["float0", list(aval.shape)]
                value = np.asarray(atom.val, aval.dtype)
                weak = bool(getattr(aval, "weak_type", False))
                return ["jax", weak, *self._codec.encode(value)[1:]]
            return number(atom)

        inputs = [number(variable) for variable in (*jaxpr.constvars, *jaxpr.invars)]
        equations = []
        for equation in jaxpr.eqns:
            if equation.primitive.name in _PRINTS and not equation.outvars:
                if not _prints_plain_values(equation.params):
                    raise NotPlain("what is printed must be arrays and plain Python types")
                continue
            name, parameters = self._equation(equation)
            ins = [read(atom) for atom in equation.invars]
            equations.append([name, ins, [number(v) for v in equation.outvars], parameters])
        return {
            "in": inputs,
            "consts": [self._codec.encode(jnp.asarray(const)) for const in consts],
            "eqns": equations,
            "out": [read(atom) for atom in jaxpr.outvars],
        }

    def _equation(self, equation: Any) -> tuple[str, dict[str, Any]]:
        name, p = equation.primitive.name, equation.params
        name = _ALIASES.get(name, name)
        if name == "scan":
            consts, carry = scan_counts(equation)
            kept = {
                "reverse": p["reverse"],
                "length": p["length"],
                "unroll": p["unroll"],
                "consts": consts,
                "carry": carry,
            }
            return name, {"body": self.encode(p["jaxpr"]), **kept}
        if name == "while":
            counts = {key: p[key] for key in ("cond_nconsts", "body_nconsts")}
            return name, {
                "cond": self.encode(p["cond_jaxpr"]),
                "body": self.encode(p["body_jaxpr"]),
                **counts,
            }
        if name == "cond":
            return name, {"branches": [self.encode(branch) for branch in p["branches"]]}
        if name == "jit":
            found = p.get("jaxpr", p.get("call_jaxpr"))
            closed = hasattr(found, "consts")
            return name, {"body": self.encode(found) if closed else self._jaxpr(found)}
        if name == "remat":
            kept = {"prevent_cse": bool(p["prevent_cse"]), "policy": _policy_name(p["policy"])}
            return name, {"body": self._jaxpr(p["jaxpr"]), **kept}
        if name == "custom_jvp_call":
            body = self.encode(p["call_jaxpr"])
            # A rule may call the function that it belongs to, so leave out the rules inside a rule.
            return (
                ("jit", {"body": body})
                if self._in_rule
                else (name, {"body": body, "rule": self._jvp_rule(p)})
            )
        if name == "custom_vjp_call":
            body = self.encode(p["call_jaxpr"])
            return (
                ("jit", {"body": body})
                if self._in_rule
                else (name, {"body": body, **self._vjp_rule(p)})
            )
        if name == "reduce":
            dimensions = [int(n) for n in p["dimensions"]]
            return name, {"body": self.encode(p["jaxpr"]), "dimensions": dimensions}
        if name in _RANDOM or name == "device_put":
            return name, self._random(p)
        return name, {key: self._parameter(value) for key, value in p.items()}

    def _jvp_rule(self, p: dict[str, Any]) -> dict[str, Any]:
        """Return the rule of `jax.custom_jvp` as a jaxpr, assuming that no tangent is zero."""
        avals = [v.aval for v in p["call_jaxpr"].jaxpr.invars]
        rule = p["jvp_jaxpr_fun"]
        if p.get("num_consts") or p.get("symbolic_zeros"):
            raise NotPlain("a custom derivative must not capture a value or use symbolic zeros")
        jaxpr, consts, are_zero = rule.call_wrapped(*[False] * len(avals))
        self._in_rule = True
        try:
            return {**self._jaxpr(jaxpr, consts), "zero": [bool(zero) for zero in are_zero]}
        finally:
            self._in_rule = False

    def _vjp_rule(self, p: dict[str, Any]) -> dict[str, Any]:
        """Return the two functions of `jax.custom_vjp` as jaxprs.

        The first returns the residuals that are not inputs, and then the results:
        https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/interpreters/ad.py
        """
        if p["num_consts"] or p["symbolic_zeros"]:
            raise NotPlain("a custom derivative must not capture a value or use symbolic zeros")
        inputs = [variable.aval for variable in p["call_jaxpr"].jaxpr.invars]
        forward, consts = _call(p["fwd_jaxpr_thunk"], *[True] * len(inputs))
        _, tree, forwarded = p["out_trees"]()
        count = tree.num_leaves - sum(index is not None for index in forwarded)
        found = [variable.aval for variable in forward.outvars]
        own = iter(found[:count])
        residuals = [next(own) if index is None else inputs[index] for index in forwarded]
        shapes = [
            jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in residuals + found[count:]
        ]

        def backward(*values: Any) -> list[Any]:
            slopes = _call(p["bwd"], *values)
            return [
                jnp.asarray(slope, aval.dtype)
                if isinstance(slope, jax.Array | np.ndarray | np.generic | int | float)
                and jax.dtypes.result_type(slope) != jax.dtypes.float0
                else jnp.zeros(aval.shape, aval.dtype)
                for slope, aval in zip(slopes, inputs, strict=True)
            ]

        self._in_rule = True
        try:
            rule = {"forward": self._jaxpr(forward, consts)}
            rule["backward"] = self.encode(jax.make_jaxpr(backward)(*shapes))
        finally:
            self._in_rule = False
        return {**rule, "residuals": count, "forwarded": list(forwarded)}

    def _random(self, p: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, value in p.items():
            if key == "impl":
                kept["impl"] = str(getattr(value, "name", value))
            elif key in ("shape", "bit_width"):
                kept[key] = [int(n) for n in value] if key == "shape" else int(value)
        return kept

    def _parameter(self, value: Any) -> Data:
        """Return a parameter of an equation as plain data."""
        if isinstance(value, core.ClosedJaxpr):
            return [
                "closed",
                self.encode(value),
                [abstract_data(v.aval) for v in value.jaxpr.invars],
            ]
        if isinstance(value, core.Jaxpr):
            return ["jaxpr", self._jaxpr(value), [abstract_data(v.aval) for v in value.invars]]
        if isinstance(value, jax.sharding.Sharding):
            return self._codec.encode(None)  # The judge chooses where it computes.
        if isinstance(value, enum.Enum):
            return ["enum", *_name(type(value)), value.name]
        if isinstance(value, tuple) and type(value) is not tuple:
            fields = [self._parameter(part) for part in value]
            return ["named", *_name(type(value)), fields]
        if isinstance(value, tuple | list):
            return [type(value).__name__, [self._parameter(part) for part in value]]
        if (
            isinstance(value, np.dtype)
            or value is None
            or isinstance(value, bool | int | float | str)
        ):
            return self._codec.encode(value)
        if isinstance(value, np.generic | np.ndarray):
            return self._codec.encode(value)
        if isinstance(value, type) and issubclass(value, np.generic):
            return self._codec.encode(np.dtype(value))
        if type(value).__name__ in ("GatherDimensionNumbers", "ScatterDimensionNumbers"):
            parts = {key: self._parameter(part) for key, part in vars(value).items()}
            return ["fields", *_name(type(value)), parts]
        raise NotPlain(f"a parameter of a jaxpr must be plain data, got {type(value).__name__}")


def _prints_plain_values(p: dict[str, Any]) -> bool:
    """Return whether formatting the text of `jax.debug.print` runs nothing of the notebook."""
    values = [p.get("fmt", ""), *(value for _, value in p.get("static_args", ()))]
    return all(type(value) in (bool, int, float, complex, str, type(None)) for value in values)


def _policy_name(policy: Any) -> str | None:
    """Return the name of one of the policies in `jax.checkpoint_policies`.

    Raises:
        NotPlain: If the policy is a different function.
    """
    if policy is None:
        return None
    for name in PLAIN_POLICIES:
        if policy is getattr(jax.checkpoint_policies, name, None):
            return name
    raise NotPlain("a policy of jax.checkpoint must be one of those that take no arguments")


def _name(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def _call(function: Any, *args: Any) -> Any:
    """Call a function that JAX may have wrapped."""
    return getattr(function, "call_wrapped", function)(*args)
