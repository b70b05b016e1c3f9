"""Gradients that are not finite: on the given arguments, or on others that were not passed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place
from jaxbits._analysis.function_under_test import Subject
from jaxbits._analysis.instrumented_run import any_nan, not_finite, observe
from jaxbits._analysis.nonfinite_probes import PROBES
from jaxbits._analysis.probes import Around, parts_of, plain
from jaxbits._finding import Finding

SECONDS, INPUTS = 1.0, 8
_RISKY_WORDS = (
    "sqrt rsqrt cbrt log log1p div pow atan2 acos asin acosh atanh tan erf_inv exp exp2 expm1 "
    "lgamma digamma eigh svd eig qr cholesky triangular_solve lu sinh cosh "
    "custom_linear_solve reduce_prod cumprod householder_product schur"
)
_RISKY = frozenset(_RISKY_WORDS.split())
_CHOOSING = {"", "where", "select", "select_n", "piecewise", "choose", "cond", "switch"}
_USERS: tuple[tuple[str, ...], ...] = ((), ("_where",), ("where",), ("select",))
_FIX = "guard what goes in: `safe = jnp.where(ok, x, 1.0)`, then `jnp.where(ok, f(safe), 0.0)`"
_OTHERS = (0.0, -1.0, 1.0, 1000.0, -1000.0)


def gradient(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the gradient of a function whose value is finite."""
    loss = _Loss(subject)
    if not loss.at or not loss.risky:
        return
    try:
        value, slopes = loss.value_and_gradient(loss.given)
    except Exception as error:
        # A program that cannot be differentiated backwards has no gradient to go wrong.
        if "everse-mode" not in str(error) and not isinstance(error, NotImplementedError):
            first = (str(error).splitlines() or [""])[0]
            subject.left_out.append(
                f"the gradient was not looked at: {type(error).__name__}: {first[:100]}"
            )
        return
    if not_finite(loss.given):
        return
    if not_finite(slopes):
        yield _on_given(loss, slopes)
        return
    if not np.isfinite(value):
        return
    yield from _on_others(loss)


class _Loss:
    """The sum of a program's scalar results, or of its only one, as a function of its floats."""

    def __init__(self, subject: Subject) -> None:
        program = subject.trace.program
        assert program is not None
        self.program = program
        self.inputs = [
            v if isinstance(v, jax.Array) else jnp.asarray(v, dtype=a.dtype)
            for v, a in zip(subject.trace.inputs, program.in_avals, strict=True)
        ]
        outs = [n for n, a in enumerate(program.out_avals) if _floating(a)]
        scalars = [n for n in outs if program.out_avals[n].shape == ()]
        # A loss comes first; a scalar behind other results is a count or a state's own.
        self.is_scalar = scalars[:1] == [0]
        only = outs if len(program.out_avals) == 1 else []
        self.outs = scalars if self.is_scalar else only
        floating = [n for n, a in enumerate(program.in_avals) if _floating(a) and a.size]
        flow, used = _dangers(program, self.outs, floating)
        self.guarded, self.risky, self.compares_large = (
            flow.guarded,
            flow.risky,
            flow.compares_large,
        )
        names = {equation.primitive.name for equation in jaxpr_utils.equations(program)}
        self.has_eigenvectors = bool(names & {"eig", "eigh", "svd"})
        self.at = [n for n in floating if n in used] if self.outs else []
        self.given = [self.inputs[n] for n in self.at]
        self.function = jax.jit(jax.value_and_grad(self.total))

    def total(self, given: Sequence[Any]) -> Any:
        inputs = list(self.inputs)
        for n, value in zip(self.at, given, strict=True):
            inputs[n] = value
        outputs = jax.core.eval_jaxpr(self.program.jaxpr, self.program.consts, *inputs)
        return sum(jnp.sum(outputs[n].astype(jnp.float32)) for n in self.outs)

    def value_and_gradient(self, given: Sequence[Any]) -> tuple[float, list[Any]]:
        value, slopes = self.function(list(given))
        return float(value), list(slopes)


def _floating(aval: Any) -> bool:
    return bool(jnp.issubdtype(aval.dtype, jnp.floating))


def _on_given(loss: _Loss, slopes: list[Any]) -> Finding:
    what = "NaN" if any_nan(slopes) else "infinite"
    many = not_finite(slopes)
    severity = "error" if loss.is_scalar else "warning" if what == "NaN" else "note"
    evidence = f"{many} value{'s' * (many != 1)} of the gradient"
    name, place = _birth(loss)
    evidence += f", first in {name} of the backward pass" if name else ""
    message = f"the value is finite, but its gradient is {what}"
    bit = "where-gradient-nan" if loss.guarded else "norm-gradient-at-zero"
    bit = "degenerate-eigenvectors" if loss.has_eigenvectors else bit
    return Finding("nan", severity, message, evidence, _FIX, place, bit)  # type: ignore[arg-type]


def _birth(loss: _Loss) -> tuple[str, Place | None]:
    """Return the operation of the backward pass that is first not finite, and its line."""
    try:
        program = jax.make_jaxpr(jax.grad(loss.total))(loss.given)
        sites = observe(program, jax.tree.leaves(loss.given), *PROBES).sites
    except Exception:  # the place is a help, the finding stands without it
        return "", None
    first = next(iter(sites), None)
    return (first.equation.primitive.name, first.place) if first else ("", None)


def _on_others(loss: _Loss) -> Iterator[Finding]:
    start = time.perf_counter()
    for number, array in zip(loss.at[:INPUTS], loss.given, strict=False):
        for extreme, words, other in _changed(array):
            if time.perf_counter() - start > SECONDS:
                return
            given = [other if a is array else a for a in loss.given]
            value, slopes = loss.value_and_gradient(given)
            if not np.isfinite(value) or not any_nan(slopes):
                continue
            message = "the gradient is NaN on other inputs"
            evidence = f"argument {number + 1} with {words}"
            if loss.guarded and (extreme <= 1 or loss.compares_large):
                message += ", behind a where"
                yield Finding("nan", "warning", message, evidence, _FIX, loss.guarded[0])
            else:
                yield Finding("nan", "note", message, evidence, _FIX, bit="norm-gradient-at-zero")
            return


def _changed(array: Any) -> Iterator[tuple[float, str, Any]]:
    given = np.asarray(array)
    for number in _OTHERS:
        if given.ndim:
            one = given.copy()
            one.flat[0] = number
            yield abs(number), f"an entry of {number:g}", jnp.asarray(one)
        words = f"every entry {number:g}" if given.ndim else f"a value of {number:g}"
        yield abs(number), words, jnp.asarray(np.full_like(given, number))


def _dangers(
    program: ClosedJaxpr, outs: Sequence[int], floating: Sequence[int]
) -> tuple[_Flow, set[int]]:
    """Follow risky operations from the inputs to some results; return that, and the inputs used."""
    wanted = [n in outs for n in range(len(program.out_avals))]
    kept: set[int] = set()
    used = _needed(program.jaxpr, wanted, kept)
    flow = _Flow(kept)
    depends = [int(n in floating) for n in range(len(program.in_avals))]
    flow.program(program.jaxpr, depends, Around())
    return flow, {n for n, is_used in enumerate(used) if is_used}


def _needed(jaxpr: Jaxpr, wanted: Sequence[bool], kept: set[int]) -> list[bool]:
    """Add the equations that some results need, inside of calls too; return the inputs they use."""
    live = {v for v, w in zip(jaxpr.outvars, wanted, strict=True) if w and _is_variable(v)}
    for equation in reversed(jaxpr.eqns):
        asked = [v in live for v in equation.outvars]
        if not any(asked):
            continue
        kept.add(id(equation))
        inner = jaxpr_utils.called(equation)
        if inner is None:
            used = [True] * len(equation.invars)
            for part in jaxpr_utils.inner(equation):
                kept |= {id(e) for e in jaxpr_utils.equations(part)}
        else:
            used = _needed(inner.jaxpr, asked, kept)
        found = zip(equation.invars, used, strict=True)
        live |= {v for v, is_used in found if is_used and _is_variable(v)}
    return [v in live for v in jaxpr.invars]


def _is_variable(variable: Any) -> bool:
    return not isinstance(variable, Literal)


class _Flow:
    """Marks: 1 what depends on an input, 2 what a risky operation on such a value made.

    Attributes:
        risky: whether there is a risky operation on what depends on an input.
        guarded: the lines of a `where` that picks between what such an operation made and others.
        compares_large: whether something is compared with a number of 10 or more.
    """

    def __init__(self, kept: set[int]) -> None:
        self.kept, self.risky, self.compares_large = kept, False, False
        self.guarded: list[Place | None] = []

    def program(self, jaxpr: Jaxpr, given: Sequence[int], around: Around) -> list[int]:
        marks: dict[Any, int] = dict(zip(jaxpr.invars, given, strict=True))

        def mark(variable: Any) -> int:
            return marks.get(variable, 0) if _is_variable(variable) else 0

        for equation in jaxpr.eqns:
            if id(equation) in self.kept:
                found = self.equation(equation, [mark(v) for v in equation.invars], around)
                marks.update(zip(equation.outvars, found, strict=True))
        return [mark(v) for v in jaxpr.outvars]

    def equation(self, equation: Any, given: list[int], around: Around) -> list[int]:
        count, most = len(equation.outvars), max(given, default=0)
        parts = parts_of(equation)
        if parts is None:
            return [self.plain(equation, given, most, around)] * count
        found = [0] * count
        loops = equation.primitive.name in ("scan", "while")
        for part in parts:
            size = len(part.jaxpr.invars)
            # What a loop carries may come to depend on any of its inputs.
            into = [most] * size if loops else given[-size:] if size else []
            out = self.program(part.jaxpr, into, around.inside(equation, part))
            found = [max(a, b) for a, b in zip(found, out, strict=False)]
        return [max([most, *found])] * count if loops else found

    def plain(self, equation: Any, given: list[int], most: int, around: Around) -> int:
        name = equation.primitive.name
        if name in ("lt", "le", "gt", "ge"):
            numbers = [v.val for v in equation.invars if isinstance(v, Literal)]
            self.compares_large |= any(abs(float(n)) >= 10 for n in numbers if not np.ndim(n))
        if not any(_floating(v.aval) for v in equation.outvars if hasattr(v.aval, "dtype")):
            return 0
        chosen = name == "select_n" and max(given[1:]) == 2 and around.library[:1] in _USERS
        if chosen and plain(around.called(equation)) in _CHOOSING:
            self.guarded.append(around.place(equation))
        if most and _can_fail(equation, given):
            self.risky = True
            return 2
        return most


def _can_fail(equation: Any, given: list[int]) -> bool:
    name = equation.primitive.name
    if name == "integer_pow":
        return bool(equation.params["y"] < 0)
    return bool(given[1]) if name == "div" else name in _RISKY
