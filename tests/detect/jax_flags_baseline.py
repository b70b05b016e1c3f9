"""JAX's own closest switch for each check, tried on the same labelled cases.

A switch reports a case when it raises or warns, as itself, where the plain program does not: other
errors of the case are no report. Each case comes from modules imported anew.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
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

_OF_DETECTORS = {"carry", "calls"}
"""Named arguments of a case that the detector takes for itself."""


class Switch(NamedTuple):
    """A switch: how it is written, whether it reports a case, and the settings it needs before."""

    name: str
    reports: Callable[[Case], bool]
    settings: tuple[tuple[str, Any], ...] = ()


def _calls(case: Case) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    named = {k: v for k, v in case.kwargs.items() if k not in _OF_DETECTORS}
    given = case.args if isinstance(case.args, Sweep) else case.kwargs.get("calls") or [case.args]
    return [(copy_tree(tuple(args)), copy_tree(named)) for args in given]


def _bound(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, list[Any]]:
    """Return a function of the arrays among some arguments, all else bound, and the arrays."""
    leaves, tree = jax.tree.flatten((args, kwargs))
    arrays = [leaf for leaf in leaves if hasattr(leaf, "dtype")]

    def run(*values: Any) -> Any:
        given = iter(values)
        filled = [next(given) if hasattr(leaf, "dtype") else leaf for leaf in leaves]
        args, kwargs = jax.tree.unflatten(tree, filled)
        return function(*args, **kwargs)

    return run, arrays


def _jitted(case: Case) -> Callable[..., Any]:
    """Return the function of a case under `jax.jit`, what is no array being bound beforehand."""
    if hasattr(case.fn, "lower"):
        return case.fn

    def call(*args: Any, **kwargs: Any) -> Any:
        run, arrays = _bound(case.fn, args, kwargs)
        return jax.jit(run)(*arrays)

    return call


@contextlib.contextmanager
def _set(*settings: tuple[str, Any]) -> Iterator[None]:
    before = [(name, getattr(jax.config, name)) for name, _ in settings]
    try:
        for name, value in settings:
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before:
            jax.config.update(name, value)


def _error(function: Callable[..., Any], case: Case) -> Exception | None:
    """Return what the calls of a case raise, with warnings and output kept away."""
    with monitor_calls([]):
        try:
            for args, kwargs in _calls(case):
                jax.block_until_ready(function(*args, **kwargs))
        except Exception as error:
            return error
    return None


def _raises(*marks: str, jit: bool = True, **settings: Any) -> Callable[[Case], bool]:
    """Return a report of errors whose type or text has one of the marks, under the settings."""

    def reports(case: Case) -> bool:
        with _set(*settings.items()):
            error = _error(_jitted(case) if jit else case.fn, case)
        return any(mark in f"{type(error).__name__}: {error}" for mark in marks)

    return reports


def _either(*reports: Callable[[Case], bool]) -> Callable[[Case], bool]:
    return lambda case: any(report(case) for report in reports)


def _checkified(errors: Any) -> Callable[[Case], bool]:
    def reports(case: Case) -> bool:
        found: list[str | None] = []

        def checked(*args: Any, **kwargs: Any) -> Any:
            run, arrays = _bound(case.fn, args, kwargs)
            error, result = jax.jit(checkify.checkify(run, errors=errors))(*arrays)
            found.append(error.get())
            return result

        _error(checked, case)
        return any(found)

    return reports


def _warns(*marks: str, **settings: Any) -> Callable[[Case], bool]:
    """Return a report of warnings, once jitted, whose text has one of the marks."""

    def reports(case: Case) -> bool:
        said = []
        with _set(*settings.items()), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function = _jitted(case)
            with contextlib.suppress(Exception), contextlib.redirect_stdout(None):
                for args, kwargs in _calls(case):
                    jax.block_until_ready(function(*args, **kwargs))
            said = [str(warning.message) for warning in caught]
        return any(mark in text for text in said for mark in marks)

    return reports


class _Compiled(logging.Handler):
    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += record.getMessage().startswith("Compiling ")


def _compiles_again(case: Case) -> bool:
    """Whether something compiles after the first call of a sweep, or in a third like call."""
    calls, free = _calls(case), 1
    function = _jitted(case) if len(calls) > 1 else case.fn
    if len(calls) == 1:
        calls, free = [*calls, *_calls(case), *_calls(case)], 2
    heard, logger = _Compiled(), logging.getLogger("jax")
    kept = logger.propagate, logger.handlers
    logger.propagate, logger.handlers = False, [heard]
    try:
        with monitor_calls([]), jax.log_compiles():
            for number, (args, kwargs) in enumerate(calls):
                if number == free:
                    heard.count = 0
                jax.block_until_ready(function(*args, **kwargs))
    except Exception:
        return False
    finally:
        logger.propagate, logger.handlers = kept
    return heard.count > 0


def _fails_only_jitted(case: Case) -> bool:
    jitted = case.fn if hasattr(case.fn, "lower") else jax.jit(case.fn)
    return _error(jitted, case) is not None and _error(case.fn, case) is None


def _fails_in_scan(case: Case) -> bool:
    """Whether `lax.scan` refuses the function as its body, the argument being what it carries.

    What the function returns, or the part of it that has the argument's tree, is taken for the new
    value; a function that returns none such is no body.
    """
    at = case.kwargs.get("carry", 0)

    def looped(*args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(case.fn).bind(*args, **kwargs).arguments
        name = at if isinstance(at, str) else list(given)[at]

        def body(carry: Any, _: None) -> tuple[Any, None]:
            result = case.fn(**{**given, name: carry})
            parts = [result, *(result if isinstance(result, tuple) else ())]
            tree = jax.tree.structure(carry)
            same = [part for part in parts if jax.tree.structure(part) == tree]
            alike = [part for part in same if _shapes(part) == _shapes(carry)]
            return [*alike, *same, carry][0], None

        return jax.lax.scan(body, given[name], None, length=2)

    error = _error(looped, case)
    return error is not None and "carry" in str(error)


def _shapes(tree: Any) -> list[Any]:
    return [jax.numpy.shape(leaf) for leaf in jax.tree.leaves(tree)]


_NANS = {"jax_debug_nans": True, "jax_debug_infs": True}
_REUSE = _raises("KeyReuse", jax_debug_key_reuse=True)
_JIT = Switch("`jax.jit`, which raises", _fails_only_jitted)

SWITCHES: dict[str, tuple[Switch, ...]] = {
    "out_of_bounds": (Switch("`checkify.index_checks`", _checkified(checkify.index_checks)),),
    "leak": (Switch("`jax.checking_leaks()`", _raises("Leaked", jax_check_tracer_leaks=True)),),
    "inplace": (Switch("JAX's own error", _raises("item assignment", jit=False)),),
    "key_reuse": (
        Switch("`jax.debug_key_reuse`", _REUSE),
        Switch(
            "`jax.debug_key_reuse`, raw keys made typed",
            _REUSE,
            (("jax_enable_custom_prng", True),),
        ),
    ),
    "control_flow": (_JIT,),
    "dynamic_shape": (_JIT,),
    "recompile": (Switch("`jax.log_compiles`, counted", _compiles_again),),
    "promotion": (
        Switch(
            "`jax.numpy_dtype_promotion('strict')`",
            _raises("TypePromotionError", jax_numpy_dtype_promotion="strict"),
        ),
    ),
    "nan": (
        Switch("`jax.debug_nans` and `jax.debug_infs`", _raises("FloatingPointError", **_NANS)),
        Switch("`checkify.float_checks`", _checkified(checkify.float_checks)),
    ),
    "x64": (Switch("the warning of a truncated dtype", _warns("will be truncated")),),
    "carry": (Switch("`lax.scan`, which raises", _fails_in_scan),),
    "big_const": (
        Switch(
            "`jax_captured_constants_warn_bytes`, at 100 kB",
            _warns("constants were captured", jax_captured_constants_warn_bytes=100_000),
        ),
    ),
    "transfer": (
        Switch(
            "`jax.transfer_guard('disallow')`",
            _raises("isallowed", jit=False, jax_transfer_guard="disallow"),
        ),
    ),
    "donation": (
        Switch(
            "the error and the warning at run time",
            _either(_raises("deleted", jit=False), _warns("donated buffers were not usable")),
        ),
    ),
}
"""The switches of each check that has one, the closest first; the others have none."""


def score(check: str, switch: Switch, folder: str) -> Score:
    """Return how a switch does on the cases of a check."""
    seen = []
    with _set(*switch.settings):
        for number in range(sum(1 for _ in scores.cases(folder, check))):
            case = list(scores.cases(folder, check))[number]
            seen.append((case.expected, switch.reports(case)))
    return Score(
        sum(reported for expected, reported in seen if expected),
        sum(expected for expected, _ in seen),
        sum(reported for expected, reported in seen if not expected),
        sum(not expected for expected, _ in seen),
    )
