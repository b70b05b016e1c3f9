"""Follow PRNG keys through a program, and record where it uses them.

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

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import is_acting_code
from jaxbits._analysis.computations import Computations
from jaxbits._analysis.key_calls import (
    Frame,
    LibraryCall,
    Path,
    count_user_vmaps,
    enter_library,
    frames_of,
)
from jaxbits._analysis.key_children import ChildNumbers, find_children
from jaxbits._analysis.key_control_flow import run_branches, run_loop
from jaxbits._analysis.key_values import (
    EVERY_ROW,
    KeyUse,
    Seed,
    Value,
    choose_uses,
    merge_uses,
)
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
# These only move the elements of an array.
_MOVES = {"broadcast_in_dim", "dynamic_slice", "expand_dims", "gather", "reshape", "rev", "slice"}
_MOVES |= {"squeeze", "tile", "transpose"}
# These combine several arrays into one, or choose one of several.
_COLLECTS = {"concatenate", "dynamic_update_slice", "pad", "scatter", "select_n", "sort", "stack"}


def has_key_uses(program: ClosedJaxpr) -> bool:
    """Return whether any equation of a program uses a PRNG key."""
    return any(e.primitive.name in _USES for e in jaxpr_utils.all_equations(program))


def _is_key(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)


def _candidates(equation: Any, values: list[Value]) -> frozenset[Hashable]:
    """Return the numbers of the keys that the results of an equation may be or contain."""
    name, aval = equation.primitive.name, equation.outvars[0].aval if equation.outvars else None
    if not _is_key(aval) and getattr(aval, "dtype", None) != np.uint32:  # A raw key is an array.
        return frozenset()
    if name in _COLLECTS:
        kept = values[1:] if name == "select_n" else values
        return frozenset[Hashable]().union(*(value.possible_numbers for value in kept))
    is_part = name in _MOVES or name in ("split", "unstack")
    return values[0].candidates if is_part and values else frozenset()


def _constant_value(value: Any) -> Value:
    if _is_key(value):
        data = np.asarray(jax.random.key_data(value))
        return Value(("key", data.tobytes()), False)
    data = np.asarray(value)
    number = ("literal", str(data.dtype), data.shape, hash(data.tobytes()))
    return Value(number, False, integers=known_value(data))


def _transformations_of(equation: Any, outer: str) -> str:
    """Return the transformations that produced an equation and those around it, as JAX names them.

    An example is "transpose(jvp())" for the backward pass.
    """
    return f"{outer}/{equation.source_info.name_stack}"


class KeyFlow:
    """An analysis that follows the PRNG keys through a program.

    Args:
        varying: The constants of the program that differ from call to call. They count as inputs.

    Attributes:
        uses: The uses of keys found so far.
        computations: How the program computes its values.
    """

    def __init__(self, varying: Iterable[Any] = ()) -> None:
        self.uses: list[KeyUse] = []
        self.computations = Computations()
        self._children = ChildNumbers()
        self._axis_sizes: dict[Any, int] = {}
        self._varying = {_constant_value(value).number for value in varying}
        self._numbers: dict[Hashable, int] = {}
        # For each array in which all keys are the same, the value of this key.
        self._copies: dict[Hashable, Value] = {}
        self._counter = itertools.count()
        # JAX stores the frames of an equation only up to the enclosing call or loop.
        self._frames: tuple[Frame, ...] = ()
        self._is_in_library = False
        self._transformations = ""

    @property
    def depth(self) -> int:
        """The number of frames of user code that lead to the current jaxpr."""
        return len(self._frames)

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
        self, program: ClosedJaxpr, inputs: Sequence[Value], call: LibraryCall | None
    ) -> list[Value]:
        """Analyze a jaxpr, record its uses of keys, and return the values of its results.

        Args:
            program: The jaxpr to analyze.
            inputs: The values of its inputs.
            call: The call from user code to the library function that runs the jaxpr, if any.
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
        self, equation: Any, values: list[Value], call: LibraryCall | None
    ) -> list[Value]:
        name = equation.primitive.name
        called = jaxpr_utils.called_jaxpr(equation)
        if called is not None or name in ("cond", "scan", "while"):
            outer = self._frames
            if call is None and name != "cond":
                jaxprs = jaxpr_utils.sub_jaxprs(equation) if called is None else [called]
                call = enter_library(equation, jaxprs, outer, self.next_number())
            transformations, was_in_library = self._transformations, self._is_in_library
            users, path = frames_of(equation)
            self._frames, self._is_in_library = (*users, *outer), self._is_library_code(users, path)
            self._transformations = _transformations_of(equation, transformations)
            try:
                if called is not None:
                    return self._run_call(equation, called, values, call)
                run = run_branches if name == "cond" else run_loop
                results = run(self, equation, values, call)
                self.computations.record(equation, values, results, outer, self._transformations)
                return results
            finally:
                self._frames, self._transformations = outer, transformations
                self._is_in_library = was_in_library
        uses = merge_uses(values)
        number = self._value_number(equation, values)
        if name in _USES and equation.outvars[0].aval.size:
            uses[self._record_use(equation, values[0], call, number)] = frozenset()
        elif name == "select_n":
            uses = choose_uses(values, self.next_number())
        if name in _ALIASES and len(values) == 1:
            dtypes = [str(getattr(v.aval, "dtype", "")) for v in equation.invars + equation.outvars]
            if name.startswith("random_") or dtypes[0] == dtypes[1]:
                return [replace(values[0], is_raw=name == "random_wrap" or values[0].is_raw)]
        if (same := self._same_key(equation, values, number)) is not None:
            return [same]
        if name == "optimization_barrier":
            return values  # It returns all its operands as they are.
        from_input = any(v.from_input for v in values)
        varies = frozenset[int]().union(*(v.varies for v in values))
        if name == "random_clone":
            return [self.new_value(from_input, varies, sources=values)]
        split_from = frozenset[Hashable]().union(*(v.split_from for v in values))
        if name == "random_split":
            split_from |= {values[0].number}
        seed = next((v.seed for v in values if v.seed), None)
        if name == "random_seed":
            frames = call.frames if call else (*frames_of(equation)[0], *self._frames)
            seed = Seed(self.next_number(), frames[0].location if frames else None, frames)
        candidates = _candidates(equation, values)
        results = []
        for index, _ in enumerate(equation.outvars):
            children = find_children(equation, values, index) if values else None
            result = self._children.value_number(children, (number, index))
            value = Value(result, from_input, varies, split_from, seed, uses=uses)
            results.append(replace(value, children=children, candidates=candidates))
        if len(results) == 1:
            operands = [v.integers for v in values]
            integers = compute_integers(equation, operands, self._axis_sizes)
            results = [replace(results[0], integers=integers)]
        transformations = _transformations_of(equation, self._transformations)
        self.computations.record(equation, values, results, self._frames, transformations)
        return results

    def _same_key(self, equation: Any, values: list[Value], number: Hashable) -> Value | None:
        """Return the value of a key that an equation copies into an array, or takes out of one.

        All keys in an array that `jnp.broadcast_to` makes from one key are this key.
        """
        if equation.primitive.name not in _MOVES or not values:
            return None
        source = self._copies.get(values[0].number)
        if source is None and equation.invars[0].aval.shape == ():
            source = values[0]
        if source is None or not _is_key(equation.outvars[0].aval):
            return None
        if equation.outvars[0].aval.shape == ():
            return source
        self._copies[number] = source
        candidates = source.possible_numbers
        return replace(source, number=number, children=None, candidates=candidates)

    def _record_use(
        self, equation: Any, key: Value, call: LibraryCall | None, result: Hashable
    ) -> int:
        """Record the use of a key, and return the number of the use."""
        is_split = equation.primitive.name == "random_split"
        number = self.next_number()
        if call:
            frames, path, vmaps = call.frames, call.path, call.vmaps
            is_in_library = call.is_other_library
        else:
            users, path = frames_of(equation)
            frames, vmaps = (*users, *self._frames), count_user_vmaps(equation)
            is_in_library = self._is_library_code(users, path)
        key = self._copies.get(key.number, key)
        use = KeyUse(
            key=key.number,
            how="a split" if is_split and not (call and call.is_draw) else "a draw",
            location=frames[0].location if frames else None,
            from_input=key.from_input,
            varies=key.varies,
            split_from=key.split_from,
            earlier=frozenset(key.uses),
            is_split=is_split,
            is_raw=key.is_raw,
            frames=frames,
            path=path,
            call=call.number if call else number,
            seed=key.seed,
            number=number,
            result=result,
            children=key.children,
            candidates=key.candidates,
            is_in_library=is_in_library,
        )
        self.uses.append(use)
        if vmaps > len(equation.invars[0].aval.shape):
            self.uses.append(replace(use, again=EVERY_ROW))
        return number

    def _is_library_code(self, users: tuple[Frame, ...], path: Path) -> bool:
        """Return whether an equation with these frames is in a jaxpr that a library traces."""
        files = (frame[1] for frame in path)
        return not users and (self._is_in_library or any(map(is_acting_code, files)))

    def _value_number(self, equation: Any, values: list[Value]) -> int:
        parameters = tuple(sorted((k, str(v)) for k, v in equation.params.items()))
        expression = (equation.primitive.name, tuple(v.number for v in values), parameters)
        return self._numbers.setdefault(expression, len(self._numbers))

    def _run_call(
        self, equation: Any, called: ClosedJaxpr, values: list[Value], call: LibraryCall | None
    ) -> list[Value]:
        before = len(self.uses)
        outer_sizes = self._axis_sizes
        if sizes := sizes_of_mesh(equation):
            self._axis_sizes = {**outer_sizes, **sizes}
            values = [v.on_each_device() for v in values]
        outputs = self.run(called, values, call)
        self._axis_sizes = outer_sizes
        # `jax.checkpoint` draws the same numbers again in the backward pass on purpose:
        # https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/ad_checkpoint.py
        if equation.params.get("differentiated"):
            del self.uses[before:]
        return outputs
