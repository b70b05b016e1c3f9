"""Run labeled cases with the assertions of other packages around them, as their users would."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import jax_flags_baseline as flags
from labelled_cases import Case

from jaxbits._analysis.copying import copy_tree
from jaxbits._analysis.python_state.call_monitor import monitor_calls

_MESSAGE = "the result has values that are not finite"


def _float_leaves(tree: Any) -> list[Any]:
    leaves = [leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype")]
    return [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.inexact)]


def raises_with_error_if(case: Case) -> bool:
    """Return whether `eqx.error_if` on the results, inside the jitted function, raises."""
    import equinox as eqx

    def checked(*args: Any, **kwargs: Any) -> Any:
        result = case.fn(*args, **kwargs)
        for leaf in _float_leaves(result):
            result = eqx.error_if(result, ~jnp.isfinite(leaf).all(), _MESSAGE)
        return result

    error = flags.find_error(flags.jit_case(case._replace(fn=checked)), case)
    return error is not None and _MESSAGE in str(error)


def raises_with_chex(case: Case) -> bool:
    """Return whether an assertion of chex on the results raises.

    For a state, the assertion compares the new state with the old one.
    """
    import chex

    def checked(*args: Any, **kwargs: Any) -> Any:
        if case.check == "carry":
            name, given = flags.carry_argument(case, args, kwargs)
            old = copy_tree(given[name])
            new = flags.new_carry(case.fn(*args, **kwargs), given[name])
            chex.assert_trees_all_equal_shapes_and_dtypes(old, new)
            return new
        result = flags.jit_case(case)(*args, **kwargs)
        chex.assert_tree_all_finite(_float_leaves(result))
        return result

    error = flags.find_error(checked, case)
    return isinstance(error, AssertionError) and "[Chex]" in str(error)


@contextlib.contextmanager
def count_traces_with_chex() -> Iterator[None]:
    """Wrap every function in `chex.assert_max_traces` before `jax.jit` gets it."""
    import chex

    jit = jax.jit

    def counted_jit(function: Any = None, **options: Any) -> Any:
        if function is None:
            return lambda given: counted_jit(given, **options)
        with contextlib.suppress(ValueError, TypeError, OSError):  # It has no source, for example.
            function = chex.assert_max_traces(function, n=1)
        return jit(function, **options)

    chex.clear_trace_counter()
    with mock.patch.object(jax, "jit", counted_jit):
        yield


def traces_again_with_chex(case: Case) -> bool:
    """Return whether `chex.assert_max_traces` raises on a later call.

    The case's module must have been imported within `count_traces_with_chex`.
    """
    calls = flags.copied_calls(case)
    if len(calls) == 1:
        calls = [*calls, *flags.copied_calls(case), *flags.copied_calls(case)]
        function = case.fn
    else:
        function = flags.jit_case(case)
    with monitor_calls([]):
        try:
            for args, kwargs in calls:
                jax.block_until_ready(function(*args, **kwargs))
        except AssertionError as error:
            return "is traced >" in str(error)
        except Exception:
            return False
    return False


class _Counter(logging.Handler):
    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += record.getMessage().startswith("Compiling ")


@contextlib.contextmanager
def count_compilations() -> Iterator[_Counter]:
    """Count the compilations that `jax.log_compiles` reports, and do not print them."""
    counter, logger = _Counter(), logging.getLogger("jax")
    saved = logger.propagate, logger.handlers
    logger.propagate, logger.handlers = False, [counter]
    try:
        with monitor_calls([]), jax.log_compiles():
            yield counter
    finally:
        logger.propagate, logger.handlers = saved


def reruns_state(case: Case) -> bool:
    """Return whether JAX compiles the step again for the state that the step returned."""
    args, kwargs = flags.copied_calls(case)[0]
    name, given = flags.carry_argument(case, args, kwargs)
    step: Callable[..., Any] = case.fn if flags.is_compiled(case.fn) else jax.jit(case.fn)
    try:
        with count_compilations() as counter:
            state = flags.new_carry(step(**given), given[name])
            counter.count = 0
            jax.block_until_ready(step(**{**given, name: state}))
    except Exception:
        return False
    return counter.count > 0
