"""State that does not come back as it went in."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import Place, is_users, place_of_error
from jaxbits._analysis.detector import detector
from jaxbits._analysis.function_under_test import Subject, copied, is_array
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._finding import Finding

_LOOP = re.compile(r"carry|body_fun|branch|true_fun|false_fun", re.IGNORECASE)
_UNLIKE = re.compile(r"(type|structure)[\s\S]*(equal|identical|same|differ|match)", re.IGNORECASE)
_FIX = {
    "tree": "return the same containers with the same keys, and start with arrays in place of None",
    "shape": "keep the shape: write into an array that is large enough from the start",
    "dtype": "`.astype(old.dtype)` on the new value, or start with the dtype it ends in",
    "weak": "start with an array, such as `jnp.int32(0)`, in place of a Python number",
}
"""What to do about each kind of difference, the gravest first."""

_WHAT = {
    "tree": "comes back as another tree",
    "shape": "changes its shape",
    "dtype": "changes its dtype",
    "weak": "changes between weak and strong type",
}


@detector
def carry(subject: Subject) -> Iterator[Finding]:
    """Find a step that returns its state with other dtypes, shapes, or another tree.

    Such a step is traced again when the state is fed back, and `lax.scan` refuses it. The state is
    the argument that ``carry=`` names, by position or name: the first one by default; inside of
    `jaxbits.audit` it has to be named. The new state is the output, or the part of the output that
    is most like it. What `lax.scan`, `lax.while_loop` and `lax.cond` refuse is always reported. It
    cannot see states that are kept in objects and not returned. JAX says it for the loops alone;
    for a step, ``jax.config.update("jax_explain_cache_misses", True)`` comes closest.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> found = detect.carry(lambda n, x: n + x.mean(), jnp.int32(0), jnp.ones(3))[0]
    >>> found.message, found.evidence
    ('the state changes its dtype, at the first step', 'state: int32[] -> float32[]')
    >>> detect.carry(lambda n, x: n + x.sum(), jnp.float32(0), jnp.ones(3))
    []
    """
    for error in subject.errors:
        if isinstance(error, TypeError) and _is_of_a_loop(str(error)):
            yield Finding(
                "carry",
                "error",
                "what a loop carries, or what branches return, changes its type",
                re.sub(r"\s+", " ", str(error))[:240],
                "give both sides the same dtype, shape and tree",
                place_of_error(error.__traceback__),
            )
            return
    if subject.carry is None or subject.trace.program is None:
        return
    steps = _steps(subject, subject.carry)
    old, new, again = steps.old, steps.new, steps.again
    differences = list(_differences(old, new, "state"))
    if not differences or _is_no_step(steps):
        return
    kinds = {difference.kind for difference in differences}
    main = next(kind for kind in _FIX if kind in kinds)
    texts = [difference.text for difference in differences]
    more = f"; {len(texts) - 4} more" if len(texts) > 4 else ""
    yield Finding(
        "carry",
        "warning" if main == "weak" else "error",
        f"the state {_WHAT[main]}, {_trend(new, again)}",
        "; ".join(texts[:4]) + more,
        _FIX[main],
        _place(subject.function),
    )


def _is_of_a_loop(said: str) -> bool:
    return bool(_LOOP.search(said) and _UNLIKE.search(said))


@dataclass(frozen=True)
class _Type:
    """What of an array makes JAX trace anew."""

    shape: tuple[int, ...]
    dtype: Any
    weak: bool

    def __str__(self) -> str:
        return f"{'weak ' if self.weak else ''}{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class _Difference:
    kind: str
    text: str


def _types(tree: Any) -> Any:
    def one(leaf: Any) -> Any:
        if not is_array(leaf):
            return leaf
        if isinstance(leaf, (bool, int, float, complex)) and not isinstance(leaf, np.generic):
            return _Type((), jnp.result_type(leaf), not isinstance(leaf, bool))
        weak = bool(getattr(leaf, "weak_type", getattr(jax.typeof(leaf), "weak_type", False)))
        return _Type(tuple(leaf.shape), jax.typeof(leaf).dtype, weak)

    return jax.tree.map(one, tree, is_leaf=is_iterator)


@dataclass
class _Steps:
    """The types of the state before a step, after it, and after one more: None if that raises.

    `others` are those of the other arguments; `aside` tells that the new state is a later part of
    the output.
    """

    old: Any = None
    new: Any = None
    again: Any = None
    others: tuple[Any, ...] = ()
    aside: bool = False


def _steps(subject: Subject, which: int | str) -> _Steps:
    given = copied((list(subject.args), subject.kwargs))
    key = _key(subject, which)
    if key is None:
        return _Steps()
    leaves, tree = jax.tree.flatten(given, is_leaf=is_iterator)
    numbers = () if subject.trace.strict_error is None else (bool, int, float, complex)
    traced = [i for i, v in enumerate(leaves) if is_array(v) and not isinstance(v, numbers)]
    found = _Steps()

    def run(*values: Any) -> None:
        here = list(leaves)
        for index, value in zip(traced, values, strict=True):
            here[index] = value

        def step(state: Any) -> Any:
            args, kwargs = jax.tree.unflatten(tree, here)
            if state is not None:
                (args if isinstance(key, int) else kwargs)[key] = state
            return subject.function(*args, **kwargs)

        args, kwargs = jax.tree.unflatten(tree, here)
        found.old = _types((args if isinstance(key, int) else kwargs)[key])
        found.others = tuple(_types([v for i, v in enumerate(args) if i != key]))
        new, found.aside = _new_state(found.old, step(None), key)
        found.new = _types(new)
        if new is not None and next(_differences(found.old, found.new, ""), None):
            with contextlib.suppress(Exception):
                found.again = _types(_new_state(found.new, step(new), key)[0])

    with subject.put_back(), _jax_compat.fresh_caches():
        jax.make_jaxpr(run)(*[leaves[index] for index in traced])
    return found


def _key(subject: Subject, which: int | str) -> int | str | None:
    """Return where the state is: a position, or the name of a named argument."""
    if which in subject.kwargs or (isinstance(which, int) and which < len(subject.args)):
        return which
    try:
        names = list(inspect.signature(subject.function).parameters)
    except (TypeError, ValueError):
        names = []
    if isinstance(which, str) and which in names[: len(subject.args)]:
        return names.index(which)
    if isinstance(which, int) and which < len(names) and names[which] in subject.kwargs:
        return names[which]
    if which == 0:
        return None
    known = ", ".join([*names[: len(subject.args)], *subject.kwargs])
    raise ValueError(f"carry was {which!r}, and should be a position or one of {known}")


def _children(node: Any) -> dict[str, Any] | None:
    """Return the parts of a container by name; None for a leaf."""
    if node is None:
        return {}
    parts = jax.tree_util.tree_flatten_with_path(node, is_leaf=lambda part: part is not node)[0]
    if len(parts) == 1 and not parts[0][0]:
        return None
    return {jax.tree_util.keystr(path): part for path, part in parts}


def _likeness(old: Any, new: Any) -> float:
    if isinstance(old, _Type) and isinstance(new, _Type):
        same = old.shape == new.shape
        near = 0.5 * (len(old.shape) == len(new.shape)) + 0.25 * (old.weak == new.weak)
        return 2.0 * same + bool(old.dtype == new.dtype) + near
    if old is None or new is None:
        return float(old is new)
    a, b = _children(old), _children(new)
    if a is None or b is None:
        return 0.0
    if type(old) is type(new):
        return 1.0 + sum(_likeness(a[name], b[name]) for name in a if name in b)
    if len(a) == len(b) and isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        return 0.5 + sum(map(_likeness, a.values(), b.values()))
    return 0.0


def _new_state(old: Any, output: Any, key: int | str) -> tuple[Any, bool]:
    """Return the output, or the part of it most like the old state; whether it stands aside."""
    parts: list[Any] = []
    if isinstance(output, (list, tuple)):
        parts = list(output)
    elif isinstance(output, dict):
        parts = list(output.values())
    first = key if isinstance(key, int) and key < len(parts) else 0
    best, most, aside = output, _likeness(old, _types(output)), False
    for index, part in enumerate(parts):
        like = _likeness(old, _types(part))
        if index == first and isinstance(old, _Type) and like >= 2:
            like += 1.5  # a step gives the state first, and may give the old one beside it
        if like > most:
            best, most, aside = part, like, index != first
    return best, aside


def _differences(old: Any, new: Any, name: str) -> Iterator[_Difference]:
    if isinstance(old, _Type) and isinstance(new, _Type):
        if old != new:
            other = "dtype" if old.dtype != new.dtype else "weak"
            kind = "shape" if old.shape != new.shape else other
            yield _Difference(kind, f"{name}: {old} -> {new}")
        return
    a, b = _children(old), _children(new)
    if a is None and b is None:
        return  # objects that are no arrays
    if old is None or new is None or a is None or b is None or type(old) is not type(new):
        if old is not new:
            yield _Difference("tree", f"{name}: {_named(old)} -> {_named(new)}")
        return
    for part in a:
        if part in b:
            yield from _differences(a[part], b[part], name + part)
        else:
            yield _Difference("tree", f"{name}{part} is gone")
    for part in b:
        if part not in a:
            yield _Difference("tree", f"{name}{part} is new")
    if list(a) == list(b) and _structure(old) != _structure(new):
        yield _Difference("tree", f"{name}: the static part of {type(old).__name__} differs")


def _structure(node: Any) -> Any:
    return jax.tree.structure(node, is_leaf=lambda part: part is not node)


def _named(node: Any) -> str:
    return str(node) if node is None or isinstance(node, _Type) else type(node).__name__


def _is_no_step(steps: _Steps) -> bool:
    """Whether the output is something else than a new state: a loss, a prediction, a mask."""
    old, new, again = steps.old, steps.new, steps.again
    if isinstance(old, _Type):
        if not isinstance(new, _Type):
            return True
        keys = [jnp.issubdtype(t.dtype, jax.dtypes.prng_key) for t in (old, new)]
        if keys[0] != keys[1] or (new.dtype == bool and old.dtype != bool):
            return True
        if len(new.shape) < len(old.shape):
            return True
        if steps.aside and old.shape == new.shape and old.dtype == new.dtype:
            return True  # it differs in the weak type alone
        if not old.shape and jnp.issubdtype(old.dtype, jnp.integer) and new.shape:
            return again is None or new in steps.others  # a counter before what the body changes
        return old.shape != new.shape and again is None
    a, b = _children(old), _children(new)
    if a is None or b is None or new is None:
        return True
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        if len(a) != len(b) and not (isinstance(old, list) and isinstance(new, list)):
            return True
    elif type(old) is not type(new) or (a and not set(a) & set(b)):
        return True
    pairs = list(zip(a.values(), b.values(), strict=False))
    if not all(isinstance(part, _Type) for pair in pairs for part in pair):
        return False
    kept = any(x.shape == y.shape for x, y in pairs)
    return (
        bool(pairs)
        and not kept
        and (again is None or any(len(x.shape) > len(y.shape) for x, y in pairs))
    )


def _trend(new: Any, again: Any) -> str:
    if again is None:
        return "and a second step from there raises"
    if next(_differences(new, again, ""), None) is None:
        return "at the first step"
    return "at every step"


def _place(function: Any) -> Place | None:
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not is_users(code.co_filename):
        return None
    return Place(code.co_filename, code.co_firstlineno, code.co_name)
