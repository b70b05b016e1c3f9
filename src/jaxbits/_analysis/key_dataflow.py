"""Find where a program uses PRNG keys, and which of these keys have the same value.

The analysis uses value numbering, which treats two results as the same value if they come from the
same primitive with the same inputs and parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import (
    CodeLocation,
    is_user_code,
    location_of,
    outermost_location_of,
)
from jaxbits._analysis.key_children import ChildNumbers, find_children
from jaxbits._analysis.key_control_flow import run_branches, run_loop
from jaxbits._analysis.key_values import KeyUse, Value, choose_uses, merge_uses
from jaxbits._analysis.known_integers import (
    compute_integers,
    known_value,
    sizes_of_mesh,
)

# JAX defines the primitives for typed keys in the first file, and `random_gamma` in the second:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/random/prng.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/random/core.py
_USES = {"random_bits", "random_split", "random_gamma"}
_ALIASES = {"random_wrap", "random_unwrap", "copy", "copy_p", "device_put", "convert_element_type"}
_ALIASES |= {"pvary", "pcast"}  # These only change the type of an array inside `jax.shard_map`.


def find_key_uses(
    program: ClosedJaxpr, varying: Iterable[Any] = (), inputs: Sequence[Any] = ()
) -> list[KeyUse]:
    """Return the uses of PRNG keys in a program, in the order of its equations.

    A use whose numbers or keys never reach a result does not count. For example, an initializer may
    split a key and then return zeros without drawing from the children.

    Args:
        program: The program to analyze.
        varying: The constants of the program that differ from call to call.
        inputs: The values of the program's inputs in this call, if they are known.

    >>> traced = jax.make_jaxpr(lambda k: jax.random.normal(k) + jax.random.uniform(k))
    >>> first, second = find_key_uses(traced(jax.random.key(0)))
    >>> first.key == second.key
    True
    """
    if not has_key_uses(program):
        return []
    program = _jax_compat.remove_dead_code(program)
    flow = KeyFlow(varying)
    used = merge_uses(flow.run(program, flow.input_values(program, inputs), None))
    return [
        replace(use, choices=used.get(use.number, frozenset())) for use in flow.explained_uses()
    ]


def has_key_uses(program: ClosedJaxpr) -> bool:
    """Return whether any equation of a program uses a PRNG key."""
    return any(e.primitive.name in _USES for e in jaxpr_utils.all_equations(program))


def _constant_value(value: Any) -> Value:
    dtype = getattr(value, "dtype", None)
    if dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key):
        data = np.asarray(jax.random.key_data(value))
        return Value(("key", data.tobytes()), False)
    data = np.asarray(value)
    number = ("literal", str(data.dtype), data.shape, hash(data.tobytes()))
    return Value(number, False, integers=known_value(data))


def count_user_vmaps(equation: Any) -> int:
    """Return how many of the `jax.vmap` calls that enclose an equation are in user code."""
    frames = [f for f in _jax_compat.frames(equation) if "reraise_with_filtered" not in f[0]]
    is_user = [is_user_code(file) for _, file, _ in frames]
    start = is_user.index(True) if True in is_user else len(frames)
    # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/api.py
    return sum(
        frames[i][0].endswith("vmap_f") and is_user[i + 1] for i in range(start, len(frames) - 1)
    )


class KeyFlow:
    """An analysis that follows the PRNG keys through a program.

    Args:
        varying: The constants of the program that differ from call to call. They count as inputs.

    Attributes:
        uses: The uses of keys found so far.
    """

    def __init__(self, varying: Iterable[Any] = ()) -> None:
        self.uses: list[KeyUse] = []
        self._children = ChildNumbers()
        self._axis_sizes: dict[Any, int] = {}
        self._varying = {_constant_value(value).number for value in varying}
        self._numbers: dict[Hashable, int] = {}
        self._counter = itertools.count()
        self._vmaps_of_call = 0
        self._is_draw = False
        # JAX stores the frames of an equation only up to the enclosing call or loop.
        self._line: CodeLocation | None = None

    def next_number(self) -> int:
        """Return a number that the analysis has not used yet."""
        return next(self._counter)

    def new_value(
        self, from_input: bool, *varies: frozenset[int], sources: Iterable[Value] = ()
    ) -> Value:
        """Return a value that differs from all others.

        Args:
            from_input: Whether the value depends on an argument of the program.
            *varies: The enclosing loops in which the value changes.
            sources: The values that it depends on.
        """
        number = ("new", self.next_number())
        return Value(number, from_input, frozenset().union(*varies), uses=merge_uses(sources))

    def input_values(self, program: ClosedJaxpr, inputs: Sequence[Any] = ()) -> list[Value]:
        """Return a value for each input of a program.

        Args:
            program: The program.
            inputs: What the inputs are in this call, if that is known.
        """
        values = [self.new_value(True) for _ in program.jaxpr.invars]
        known = zip(inputs, program.in_avals, strict=True) if inputs else ()
        for index, (given, aval) in enumerate(known):
            integers = known_value(given, getattr(aval, "dtype", None))
            values[index] = replace(values[index], integers=integers)
        return values

    def run(
        self, program: ClosedJaxpr, inputs: Sequence[Value], call: CodeLocation | None
    ) -> list[Value]:
        """Analyze a jaxpr, record its uses of keys, and return the values of its results.

        Args:
            program: The jaxpr to analyze.
            inputs: The values of its inputs.
            call: The line that calls the library function to which the jaxpr belongs, if any.
        """
        known: dict[Any, Value] = {}
        values = map(_constant_value, program.consts)
        constants = [replace(v, from_input=v.number in self._varying) for v in values]
        known.update(zip(program.jaxpr.constvars, constants, strict=True))
        known.update(zip(program.jaxpr.invars, inputs, strict=True))

        def read(atom: Any) -> Value:
            return _constant_value(atom.val) if isinstance(atom, Literal) else known[atom]

        for equation in program.jaxpr.eqns:
            outputs = self._run_equation(equation, list(map(read, equation.invars)), call)
            known.update(zip(equation.outvars, outputs, strict=True))
        return list(map(read, program.jaxpr.outvars))

    def explained_uses(self) -> list[KeyUse]:
        """Return the uses of keys, and say why a key equals another one if that is not obvious."""
        return list(map(self._children.explain, self.uses))

    def _run_equation(
        self, equation: Any, values: list[Value], call: CodeLocation | None
    ) -> list[Value]:
        name = equation.primitive.name
        called = jaxpr_utils.called_jaxpr(equation)
        if called is not None or name in ("cond", "scan", "while"):
            outer, self._line = self._line, self._line or outermost_location_of(equation)
            try:
                if called is not None:
                    return self._run_call(equation, called, values, call)
                run = run_branches if name == "cond" else run_loop
                return run(self, equation, values, call)
            finally:
                self._line = outer
        uses = merge_uses(values)
        if name in _USES and equation.outvars[0].aval.size:
            uses[self._record_use(equation, values[0], call)] = frozenset()
        elif name == "select_n":
            uses = choose_uses(values, self.next_number())
        if name in _ALIASES and len(values) == 1:
            dtypes = [str(getattr(v.aval, "dtype", "")) for v in equation.invars + equation.outvars]
            if name.startswith("random_") or dtypes[0] == dtypes[1]:
                return [values[0]]
        from_input = any(v.from_input for v in values)
        varies = frozenset[int]().union(*(v.varies for v in values))
        if name == "random_clone":
            return [self.new_value(from_input, varies, sources=values)]
        number = self._value_number(equation, values)
        split_from = frozenset[Hashable]().union(*(v.split_from for v in values))
        if name == "random_split":
            split_from |= {values[0].number}
        seeded_at = next((v.seeded_at for v in values if v.seeded_at), None)
        if name == "random_seed":
            seeded_at = call or location_of(equation)
        results = []
        for index, _ in enumerate(equation.outvars):
            children = find_children(equation, values, index) if values else None
            result = self._children.value_number(children, (number, index))
            value = Value(result, from_input, varies, split_from, seeded_at, uses)
            results.append(replace(value, children=children))
        if len(results) == 1:
            operands = [v.integers for v in values]
            integers = compute_integers(equation, operands, self._axis_sizes)
            results = [replace(results[0], integers=integers)]
        return results

    def _record_use(self, equation: Any, key: Value, call: CodeLocation | None) -> int:
        """Record the use of a key, and return the number of the use."""
        is_split = equation.primitive.name == "random_split"
        use = KeyUse(
            key=key.number,
            how="a split" if is_split and not self._is_draw else "a draw",
            location=call or location_of(equation),
            from_input=key.from_input,
            varies=key.varies,
            split_from=key.split_from,
            is_split=is_split,
            call=self._line or outermost_location_of(equation),
            seeded_at=key.seeded_at,
            number=self.next_number(),
            children=key.children,
        )
        self.uses.append(use)
        vmaps = self._vmaps_of_call if call else count_user_vmaps(equation)
        if vmaps > len(equation.invars[0].aval.shape):
            self.uses.append(replace(use, how=f"{use.how}, again for every row of `vmap`"))
        return use.number

    def _value_number(self, equation: Any, values: list[Value]) -> int:
        parameters = tuple(sorted((k, str(v)) for k, v in equation.params.items()))
        expression = (equation.primitive.name, tuple(v.number for v in values), parameters)
        return self._numbers.setdefault(expression, len(self._numbers))

    def _run_call(
        self, equation: Any, called: ClosedJaxpr, values: list[Value], call: CodeLocation | None
    ) -> list[Value]:
        before = len(self.uses)
        is_library = jaxpr_utils.is_library_jaxpr(called)
        inner_call = call or (location_of(equation) if is_library else None)
        if inner_call and not call:
            self._vmaps_of_call = count_user_vmaps(equation)
            # `jax.random.randint` and other functions split the key that they draw from.
            self._is_draw = "split" not in str(equation.params.get("name", "split"))
        outer_sizes = self._axis_sizes
        if sizes := sizes_of_mesh(equation):
            self._axis_sizes = {**outer_sizes, **sizes}
            values = [v.on_each_device() for v in values]
        outputs = self.run(called, values, inner_call)
        self._axis_sizes = outer_sizes
        self._is_draw = self._is_draw and call is not None
        # `jax.checkpoint` draws the same numbers again in the backward pass on purpose:
        # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/ad_checkpoint.py
        if equation.params.get("differentiated"):
            del self.uses[before:]
        return outputs
