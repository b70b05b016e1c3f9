"""Run JAX's own closest switches for each check on the same labeled cases as the detector.

A switch reports a case if it causes its own error or warning and the plain program does not. Any
other errors that the case raises do not count. Each case comes from a newly imported module.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import scores
from jax.experimental import checkify
from labelled_cases import Case, Sweep
from scores import Score

from jaxbits._analysis.copying import copy_tree
from jaxbits._analysis.python_state.call_monitor import monitor_calls

_DETECTOR_ARGUMENTS = {"carry", "calls"}
"""A case's keyword arguments that belong to the detector, not to the function."""


class Switch(NamedTuple):
    """A switch: its name on the page, a test for reported cases, and the settings that it needs."""

    name: str
    reports: Callable[[Case], bool]
    settings: tuple[tuple[str, Any], ...] = ()


def copied_calls(case: Case) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    named = {k: v for k, v in case.kwargs.items() if k not in _DETECTOR_ARGUMENTS}
    given = case.args if isinstance(case.args, Sweep) else case.kwargs.get("calls") or [case.args]
    return [(copy_tree(tuple(args)), copy_tree(named)) for args in given]


def bind_non_arrays(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, list[Any]]:
    """Return a function of only the array arguments, with all others bound, and those arrays."""
    leaves, tree = jax.tree.flatten((args, kwargs))
    arrays = [leaf for leaf in leaves if hasattr(leaf, "dtype")]

    def run(*values: Any) -> Any:
        given = iter(values)
        filled = [next(given) if hasattr(leaf, "dtype") else leaf for leaf in leaves]
        args, kwargs = jax.tree.unflatten(tree, filled)
        return function(*args, **kwargs)

    return run, arrays


def jit_case(case: Case) -> Callable[..., Any]:
    """Return a case's function under `jax.jit`, with its non-array arguments bound."""
    if is_compiled(case.fn):
        return case.fn

    compiled: dict[Any, Callable[..., Any]] = {}

    def call(*args: Any, **kwargs: Any) -> Any:
        run, arrays = bind_non_arrays(case.fn, args, kwargs)
        leaves, tree = jax.tree.flatten((args, kwargs))
        bound = [None if hasattr(leaf, "dtype") else repr(leaf) for leaf in leaves]
        # As in a user's program, calls with equal static arguments share one jitted function.
        return compiled.setdefault((tree, *bound), jax.jit(run))(*arrays)

    return call


@contextlib.contextmanager
def config_values(*settings: tuple[str, Any]) -> Iterator[None]:
    before = [(name, getattr(jax.config, name)) for name, _ in settings]
    try:
        for name, value in settings:
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before:
            jax.config.update(name, value)


def find_error(function: Callable[..., Any], case: Case) -> Exception | None:
    """Return the error that a case raises, if any, and suppress the case's warnings and output."""
    with monitor_calls([]):
        try:
            for args, kwargs in copied_calls(case):
                jax.block_until_ready(function(*args, **kwargs))
        except Exception as error:
            return error
    return None


def reports_error(*marks: str, jit: bool = True, **settings: Any) -> Callable[[Case], bool]:
    """Return a test for cases that raise an error with one of `marks` in its type or message."""

    def reports(case: Case) -> bool:
        with config_values(*settings.items()):
            error = find_error(jit_case(case) if jit else case.fn, case)
        return any(mark in f"{type(error).__name__}: {error}" for mark in marks)

    return reports


def reports_either(*reports: Callable[[Case], bool]) -> Callable[[Case], bool]:
    return lambda case: any(report(case) for report in reports)


def reports_checkify_error(errors: Any) -> Callable[[Case], bool]:
    def reports(case: Case) -> bool:
        found: list[str | None] = []

        def checked(*args: Any, **kwargs: Any) -> Any:
            run, arrays = bind_non_arrays(case.fn, args, kwargs)
            error, result = jax.jit(checkify.checkify(run, errors=errors))(*arrays)
            found.append(error.get())
            return result

        find_error(checked, case)
        return any(found)

    return reports


def reports_warning(*marks: str, **settings: Any) -> Callable[[Case], bool]:
    """Return a test for cases that cause a warning with one of `marks` under `jax.jit`."""

    def reports(case: Case) -> bool:
        messages = []
        with config_values(*settings.items()), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function = jit_case(case)
            with contextlib.suppress(Exception), contextlib.redirect_stdout(None):
                for args, kwargs in copied_calls(case):
                    jax.block_until_ready(function(*args, **kwargs))
            messages = [str(warning.message) for warning in caught]
        return any(mark in message for message in messages for mark in marks)

    return reports


class _CompilationCounter(logging.Handler):
    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += record.getMessage().startswith("Compiling ")


def compiles_again(case: Case) -> bool:
    """Return True if JAX compiles after a sweep's first call or on the third identical call."""
    calls, warmup = copied_calls(case), 1
    function = jit_case(case) if len(calls) > 1 else case.fn
    if len(calls) == 1:
        calls, warmup = [*calls, *copied_calls(case), *copied_calls(case)], 2
    counter, logger = _CompilationCounter(), logging.getLogger("jax")
    saved = logger.propagate, logger.handlers
    logger.propagate, logger.handlers = False, [counter]
    try:
        with monitor_calls([]), jax.log_compiles():
            for number, (args, kwargs) in enumerate(calls):
                if number == warmup:
                    counter.count = 0
                jax.block_until_ready(function(*args, **kwargs))
    except Exception:
        return False
    finally:
        logger.propagate, logger.handlers = saved
    return counter.count > 0


OTHER_REASONS = {
    "control_flow": ("boolean indices", "BooleanIndex", "Shapes must", "item assignment"),
    "dynamic_shape": ("boolean conversion", "item assignment", "abstract array"),
}
"""Parts of messages about problems that other checks are about, although tracing fails, too."""


def is_other_reason(check: str, message: str) -> bool:
    """Return whether an error that tracing raises is about another check's problem."""
    return any(part in message for part in OTHER_REASONS.get(check, ()))


def is_compiled(function: Callable[..., Any]) -> bool:
    """Return whether a function is the result of `jax.jit` or of a wrapper that uses it."""
    if isinstance(function, types.FunctionType):  # `functools.wraps` also sets `__wrapped__`.
        return False
    return hasattr(function, "lower") or hasattr(function, "__wrapped__")


def fails_only_jitted(case: Case) -> bool:
    """Return True if the function raises an error about the check's problem only under `jit`."""
    error = find_error(case.fn if is_compiled(case.fn) else jax.jit(case.fn), case)
    if error is None or is_other_reason(case.check, f"{type(error).__name__}: {error}"):
        return False
    with jax.disable_jit():
        return find_error(case.fn, case) is None


def fails_in_scan(case: Case) -> bool:
    """Return True if `lax.scan` rejects the function as a body with the argument as its carry."""

    def looped(*args: Any, **kwargs: Any) -> Any:
        name, given = carry_argument(case, args, kwargs)

        def body(carry: Any, _: None) -> tuple[Any, None]:
            return new_carry(case.fn(**{**given, name: carry}), carry), None

        return jax.lax.scan(body, given[name], None, length=2)

    error = find_error(looped, case)
    return error is not None and "carry" in str(error)


def carry_argument(case: Case, args: Any, kwargs: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of the argument that is the carry, and all arguments by name."""
    at = case.kwargs.get("carry", 0)
    given = inspect.signature(case.fn).bind(*args, **kwargs).arguments
    return (at if isinstance(at, str) else list(given)[at]), given


def new_carry(result: Any, carry: Any) -> Any:
    """Return the part of a result that is the new carry.

    It is the result, or the part of a result tuple that has the same tree structure as the old
    carry. If neither has that structure, the function is not a loop body, and the old carry itself
    is returned as the new one.
    """
    parts = [result, *(result if isinstance(result, tuple) else ())]
    tree = jax.tree.structure(carry)
    same = [part for part in parts if jax.tree.structure(part) == tree]
    alike = [part for part in same if _shapes(part) == _shapes(carry)]
    return [*alike, *same, carry][0]


def _shapes(tree: Any) -> list[Any]:
    return [jax.numpy.shape(leaf) for leaf in jax.tree.leaves(tree)]


NANS = {"jax_debug_nans": True, "jax_debug_infs": True}
_REUSE = reports_error("KeyReuse", jax_debug_key_reuse=True)
_JIT = Switch("`jax.jit`, which raises", fails_only_jitted)

SWITCHES: dict[str, tuple[Switch, ...]] = {
    "out_of_bounds": (
        Switch("`checkify.index_checks`", reports_checkify_error(checkify.index_checks)),
    ),
    "leak": (
        Switch("`jax.checking_leaks()`", reports_error("Leaked", jax_check_tracer_leaks=True)),
    ),
    "inplace": (Switch("JAX's own error", reports_error("item assignment", jit=False)),),
    "key_reuse": (
        Switch("`jax.debug_key_reuse`", _REUSE),
        Switch(
            "`jax.debug_key_reuse`, with raw keys replaced by typed keys",
            _REUSE,
            (("jax_enable_custom_prng", True),),
        ),
    ),
    "control_flow": (_JIT,),
    "dynamic_shape": (_JIT,),
    "recompile": (Switch("`jax.log_compiles`, counted", compiles_again),),
    "promotion": (
        Switch(
            "`jax.numpy_dtype_promotion('strict')`",
            reports_error("TypePromotionError", jax_numpy_dtype_promotion="strict"),
        ),
    ),
    "nan": (
        Switch(
            "`jax.debug_nans` and `jax.debug_infs`", reports_error("FloatingPointError", **NANS)
        ),
        Switch("`checkify.float_checks`", reports_checkify_error(checkify.float_checks)),
    ),
    "x64": (Switch("the warning about a truncated dtype", reports_warning("will be truncated")),),
    "carry": (Switch("`lax.scan`, which raises", fails_in_scan),),
    "big_const": (
        Switch(
            "`jax_captured_constants_warn_bytes`, at 100 kB",
            reports_warning("constants were captured", jax_captured_constants_warn_bytes=100_000),
        ),
    ),
    "transfer": (
        Switch(
            "`jax.transfer_guard('disallow')`",
            reports_error("isallowed", jit=False, jax_transfer_guard="disallow"),
        ),
    ),
    "donation": (
        Switch(
            "the error and the warning at run time",
            reports_either(
                reports_error("deleted", jit=False),
                reports_warning("donated buffers were not usable"),
            ),
        ),
    ),
}
"""The switches for each check, closest first. A check that is missing here has no switch."""


def score(check: str, switch: Switch, folder: str) -> Score:
    """Return a switch's score on the cases for a check in one folder."""
    seen = []
    with config_values(*switch.settings):
        for number in range(sum(1 for _ in scores.cases(folder, check))):
            case = list(scores.cases(folder, check))[number]
            seen.append((case.expected, switch.reports(case)))
    return Score(
        sum(reported for expected, reported in seen if expected),
        sum(expected for expected, _ in seen),
        sum(reported for expected, reported in seen if not expected),
        sum(not expected for expected, _ in seen),
    )
