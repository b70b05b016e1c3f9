"""Survey how Optax optimizers change the dtypes of their state, by tracing one update of each."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from optax import contrib

from jaxbits import _jax_compat
from jaxbits._formatting import first_line

OptimizerFactory = Callable[[], Any]
DtypeCombination = tuple[str, str, str]

DTYPE_COMBINATIONS: tuple[DtypeCombination, ...] = (
    ("float32", "float32", "float32"),
    ("bfloat16", "bfloat16", "float32"),
    ("float16", "float16", "float32"),
    ("bfloat16", "float32", "float32"),
    ("float16", "float32", "float32"),
    ("float32", "bfloat16", "float32"),
    ("float32", "float32", "float64"),
    ("float32", "float64", "float64"),
)
"""Common combinations of the dtypes of the parameters, the gradient, and the value (the loss)."""


@dataclass(frozen=True)
class UpdateOutcome:
    """A record of how one update of an optimizer changes dtypes.

    Attributes:
        state: The leaves of the state whose types changed, each as ``path: old -> new``. A tilde
            marks a weak type.
        updates: The dtypes of the updates that differ from the dtype of the parameters.
        growth: The size of the state's floating-point leaves after the update, relative to their
            size before.
        traces: The number of times that `jax.jit` traces the update in a long training loop, or 0
            if tracing raises an error. Each different type of the state needs a trace of its own.
        error: The class and the first line of the error, if JAX cannot trace one of the updates.
    """

    state: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    growth: float = 1.0
    traces: int = 1
    error: str = ""

    @property
    def verdict(self) -> str:
        """The kind of change: ``raises``, ``state``, ``weak``, ``updates``, or ``stable``.

        ``weak`` means that only the weak types of the state changed.
        """
        if self.error:
            return "raises"
        if any(_dtypes_differ(change) for change in self.state):
            return "state"
        if self.state:
            return "weak"
        return "updates" if self.updates else "stable"


def optax_optimizers() -> dict[str, OptimizerFactory]:
    """Return a dict with a factory for each optimizer in the installed version of Optax.

    The dict contains each function that returns a gradient transformation and has a learning rate
    as its first parameter. The names from `optax.contrib` start with ``contrib.``.

    >>> sorted(optax_optimizers())[:3]
    ['adabelief', 'adadelta', 'adafactor']
    """
    found: dict[str, OptimizerFactory] = {}
    for module, prefix in ((optax, ""), (contrib, "contrib.")):
        for name in sorted(vars(module)):
            function = getattr(module, name)
            if not name.startswith(("_", "scale_by")) and _is_optimizer(function):
                found[prefix + name] = functools.partial(_make_optimizer, name, function)
    return found


def composite_optimizers() -> dict[str, OptimizerFactory]:
    """Return a dict with a factory for each of Optax's wrappers and combinators."""
    adam = functools.partial(optax.adam, 0.1)
    return {
        "momentum": lambda: optax.sgd(0.1, momentum=0.9),
        "a schedule": lambda: optax.adam(optax.cosine_decay_schedule(0.1, 10)),
        "inject_hyperparams": lambda: optax.inject_hyperparams(optax.adam)(learning_rate=0.1),
        "clip_by_global_norm": lambda: optax.chain(optax.clip_by_global_norm(1.0), adam()),
        "add_noise": lambda: optax.chain(optax.add_noise(0.01, 0.55, jax.random.key(0)), adam()),
        "masked": lambda: optax.masked(adam(), {"w": True, "b": False}),
        "multi_transform": lambda: optax.multi_transform(
            {"a": adam(), "s": optax.sgd(0.1)}, {"w": "a", "b": "s"}
        ),
        "MultiSteps": lambda: optax.MultiSteps(adam(), 2).gradient_transformation(),
        "apply_if_finite": lambda: optax.apply_if_finite(adam(), 3),
        "reduce_on_plateau": lambda: optax.chain(adam(), contrib.reduce_on_plateau()),
        "backtracking": lambda: optax.chain(
            optax.sgd(1.0), optax.scale_by_backtracking_linesearch(5)
        ),
        "mechanize": lambda: contrib.mechanize(adam()),
        "schedule_free": lambda: contrib.schedule_free(adam(), 0.1),
    }


def survey(
    factories: Mapping[str, OptimizerFactory] | None = None,
    types: Iterable[DtypeCombination] = DTYPE_COMBINATIONS,
    wrap: Callable[[Any], Any] = lambda tx: tx,
) -> dict[str, dict[DtypeCombination, UpdateOutcome]]:
    """Trace, but do not run, one update of each optimizer for each combination of dtypes.

    Args:
        factories: A dict of functions that return an optimizer. The default is
            `optax_optimizers()`.
        types: Combinations of the dtypes of the parameters, the gradient, and the value (the
            loss). The survey turns on x64 for a combination that contains float64.
        wrap: A function to apply to each optimizer first, such as `jaxbits.optim.dtype_stable`.

    Returns:
        The outcome for each optimizer and each combination.

    >>> wide = ("bfloat16", "float32", "float32")
    >>> seen = survey({"adam": lambda: optax.adam(0.1)}, [wide])["adam"][wide]
    >>> seen.verdict, seen.growth
    ('state', 1.5)
    """
    factories = optax_optimizers() if factories is None else factories
    columns = list(types)
    return {
        name: {column: _trace_update(name, make, column, wrap) for column in columns}
        for name, make in factories.items()
    }


def survey_unstable(
    found: Mapping[str, Mapping[DtypeCombination, UpdateOutcome]],
    wrap: Callable[[Any], Any],
) -> dict[str, dict[DtypeCombination, UpdateOutcome]]:
    """Repeat the part of a survey that was not stable, with each optimizer wrapped.

    Args:
        found: A survey of optimizers from `optax_optimizers()` and `composite_optimizers()`.
        wrap: A function to apply to each optimizer first, such as `jaxbits.optim.dtype_stable`.

    Returns:
        The new outcomes. Optimizers that were stable for every combination are left out.

    >>> wide = ("bfloat16", "float32", "float32")
    >>> seen = survey({"adam": lambda: optax.adam(0.1)}, [wide])
    >>> survey_unstable(seen, lambda tx: tx) == seen
    True
    """
    factories = optax_optimizers() | composite_optimizers()
    unstable = {
        name: [column for column, outcome in row.items() if outcome.verdict != "stable"]
        for name, row in found.items()
    }
    return {
        name: {column: _trace_update(name, factories[name], column, wrap) for column in columns}
        for name, columns in unstable.items()
        if columns
    }


def _is_optimizer(function: Any) -> bool:
    if not (inspect.isfunction(function) or isinstance(function, functools.partial)):
        return False
    signature = inspect.signature(function)
    first = next(iter(signature.parameters), "")
    returns = str(signature.return_annotation)
    return "GradientTransformation" in returns and first in {"learning_rate", "max_learning_rate"}


def _make_optimizer(name: str, function: Callable[..., Any]) -> Any:
    arguments: dict[str, dict[str, Any]] = {
        "noisy_sgd": {"key": 0},
        "dpsgd": {"l2_norm_clip": 1.0, "noise_multiplier": 0.1, "seed": 0},
    }
    parameter = inspect.signature(function).parameters.get("learning_rate")
    rate = {"learning_rate": 0.1} if parameter and parameter.default is parameter.empty else {}
    return function(**rate, **arguments.get(name, {}))


def _value(params: Any, dtype: str) -> jax.Array:
    total = sum((leaf.astype(dtype) ** 2).sum() for leaf in jax.tree.leaves(params))
    return jnp.asarray(total, dtype)


def _trace_update(
    name: str, make: OptimizerFactory, types: DtypeCombination, wrap: Callable[[Any], Any]
) -> UpdateOutcome:
    of_params, of_gradient, of_value = types
    context = _jax_compat.x64_on() if "float64" in types else contextlib.nullcontext()
    with context, warnings.catch_warnings():
        # JAX warns about L-BFGS, which stores wide numbers in narrow arrays.
        warnings.simplefilter("ignore")
        tx = optax.with_extra_args_support(wrap(make()))
        params = _arrays(of_params, (32, 32), (32,))
        lead = (2,) if name == "contrib.dpsgd" else ()  # DP-SGD takes one gradient per example.
        function_argument = "obj_fn" if name == "contrib.sophia" else "value_fn"
        gradient = _arrays(of_gradient, (*lead, 32, 32), (*lead, 32))
        value_fn = functools.partial(_value, dtype=of_value)

        def update(gradient: Any, state: Any, params: Any) -> Any:
            more = {"value": value_fn(params), "grad": gradient, function_argument: value_fn}
            return tx.update(gradient, state, params, **more)

        try:
            before = jax.eval_shape(tx.init, params)
            updates, after = jax.eval_shape(update, gradient, before, params)
            shape: Any = jax.tree.structure(before)
            if shape != jax.tree.structure(after):
                raise ValueError("the new state has a different tree structure")
            traces, last, new = 1, before, after
            while _changes(last, new):
                traces, last = traces + 1, new
                new = jax.eval_shape(update, gradient, last, params)[1]
        except (TypeError, ValueError) as error:
            return _failure(error)
    others = {str(u.dtype) for u in jax.tree.leaves(updates)} - {of_params}
    growth = _bytes(after) / _bytes(before)
    return UpdateOutcome(_changes(before, after), tuple(sorted(others)), growth, traces)


def _failure(error: Exception) -> UpdateOutcome:
    message = f"{type(error).__name__}: {first_line(error, limit=None)}"
    return UpdateOutcome(traces=0, error=message)


def _arrays(dtype: str, w: tuple[int, ...], b: tuple[int, ...]) -> dict[str, Any]:
    return {k: jax.ShapeDtypeStruct(shape, dtype) for k, shape in (("w", w), ("b", b))}


def _changes(before: Any, after: Any) -> tuple[str, ...]:
    olds, news = (jax.tree_util.tree_leaves_with_path(tree) for tree in (before, after))
    return tuple(
        f"{jax.tree_util.keystr(path)}: {_name(old)} -> {_name(new)}"
        for (path, old), (_, new) in zip(olds, news, strict=True)
        if _name(old) != _name(new)
    )


def _name(leaf: Any) -> str:
    return ("~" if getattr(leaf, "weak_type", False) else "") + str(leaf.dtype)


def _dtypes_differ(change: str) -> bool:
    old, new = change.rpartition(": ")[2].replace("~", "").split(" -> ")
    return old != new


def _bytes(tree: Any) -> float:
    sizes = [
        math.prod(leaf.shape) * leaf.dtype.itemsize
        for leaf in jax.tree.leaves(tree)
        if jnp.issubdtype(leaf.dtype, jnp.floating)
    ]
    return sum(sizes) or 1.0
