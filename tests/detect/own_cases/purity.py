"""Labeled cases for Python state: what changes, what never does, and what escapes a trace.

Several functions keep state on purpose, so import the module again for every run of a detector.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import dataclasses
import enum
import functools
import itertools
import os
import types
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()
X = jnp.arange(4.0)
M = jnp.arange(12.0).reshape(4, 3)


# ---------------------------------------------------------------- side_effect
def counted(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        wrapper.calls += 1
        return fn(*args)

    wrapper.calls = 0
    return wrapper


class Profiled:
    """A decorator implemented as a class."""

    def __init__(self, fn):
        functools.update_wrapper(self, fn)
        self.fn, self.hits = fn, collections.defaultdict(int)

    def __call__(self, *args):
        self.hits[self.fn.__name__] += 1
        return self.fn(*args)


@case("side_effect", True, X)
@counted
def wrapped_in_a_counter(x):
    return jnp.sin(x)


@case("side_effect", True, X)
@Profiled
def wrapped_in_an_object(x):
    return jnp.sin(x)


def _closure_counter():
    count, marks = 0, collections.defaultdict(list)

    def tick(name):
        nonlocal count
        count += 1
        marks[name].append(count)

    def f(x):
        tick("f")
        return x * 2

    return f


add("side_effect", True, _closure_counter(), X)


@case("side_effect", True, X)
def reads_the_environment(x):
    return x * float(os.environ.get("PURITY_GAIN", "2"))


@case("side_effect", True, X)
def reads_getenv(x):
    return x * 2 if os.getenv("PURITY_FAST") else x


history = []
_registry: dict[str, Any] = {}


@case("side_effect", True, X)
def appends_what_is_traced(x):
    history.append({"mean": x.mean()})
    return x + 1


class Pool:
    made = 0
    live: list = []  # noqa: RUF012

    def __init__(self):
        type(self).made += 1

    @classmethod
    def borrow(cls):
        cls.made += 1
        return 2.0

    @staticmethod
    def note(value):
        Pool.live.append(value)

    def __enter__(self):
        self.depth = getattr(self, "depth", 0) + 1
        return self

    def __exit__(self, *_):
        return None

    @property
    def next_id(self):
        self.counter = getattr(self, "counter", 0) + 1
        return self.counter


_pool = Pool()


@case("side_effect", True, X)
def classmethod_counts(x):
    return x * Pool.borrow()


@case("side_effect", True, X)
def staticmethod_appends(x):
    Pool.note(x.shape)
    return x


@case("side_effect", True, X)
def instances_are_counted(x):
    Pool()
    return x


@case("side_effect", True, X)
def context_manager_counts(x):
    with _pool:
        return x * 3


@case("side_effect", True, X)
def property_counts(x):
    return x * _pool.next_id


@dataclasses.dataclass(eq=False)
class Tracker:
    steps: int = 0
    seen: list = dataclasses.field(default_factory=list)


@case("side_effect", True, Tracker(), X)
def counts_on_its_argument(tracker, x):
    tracker.steps += 1
    return x * 2


@case("side_effect", True, X)
def registers_by_setattr(x):
    setattr(_pool, "last_shape", x.shape)  # noqa: B010
    return x


_handlers = {"a": lambda x: _registry.setdefault("a", []).append(x.shape) or x}


@case("side_effect", True, X)
def through_a_table_of_functions(x):
    return _handlers["a"](x)


_serial = itertools.count()


@case("side_effect", True, X)
def takes_a_serial_number(x):
    return x + next(_serial)


@case("side_effect", True, X)
def makes_a_global(x):
    global made_by_tracing
    made_by_tracing = x.shape
    return x


class Layers:
    def __init__(self, n):
        self.n = n

    @functools.cached_property
    def table(self):
        return np.tri(self.n)

    @functools.cache  # noqa: B019
    def mask(self, n):
        return np.tri(n)

    def __call__(self, x):
        return self.table @ x + self.mask(4) @ x


@functools.lru_cache
def _np_table(n):
    return np.arange(n)


def plain(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return fn(*args)

    wrapper.calls = 0
    return wrapper


add("side_effect", False, Layers(4), X)
add("side_effect", False, lambda x: x + _np_table(4), X)
add("side_effect", False, plain(lambda x: x * 2), X)
add("side_effect", False, lambda t, x: x * (t.steps + 1), Tracker(), X)
add("side_effect", False, lambda x: x * len(_handlers), X)
add("side_effect", False, lambda x: x * len({**_registry, "b": 1}), X)


@case("side_effect", False, X)
def own_tracker(x):
    tracker = Tracker()
    for _ in range(3):
        tracker.steps += 1
        tracker.seen.append(x)
    return sum(tracker.seen) * tracker.steps


@case("side_effect", False, X)
def own_generator_and_zip(x):
    parts = collections.defaultdict(list)
    for i, a in zip(itertools.count(), (1.0, 2.0), strict=False):
        parts[i % 2].append(x * a)
    return parts[0][0] + parts[1][0]


@case("side_effect", False, X)
def a_null_context(x):
    with contextlib.nullcontext(2.0) as a, jax.named_scope("here"):
        return x * a


@case("side_effect", False, X)
def sorted_copy(x):
    names = sorted(_handlers)
    names.append("z")
    return x * len(names)


# ---------------------------------------------------------------- stale_global
RATE = 0.1


def set_rate(value):
    global RATE
    RATE = value


OPTIONS = {"scale": 1.0, "nested": {"depth": 2}}
TABLE = np.ones(4, np.float32)
HOOKS = []
TRANSFORMS = {"id": lambda x: x}
BLEND = [0.5, 0.5]
activation = jnp.tanh
WEIGHTS = {"w": jnp.ones(4)}
DRIFTED = {"beta": 1.0}
ENABLED = {"relu"}


class Knobs:
    gain = 2.0
    offset = 1.0


class Scheduler:
    def __init__(self, base):
        self.base = base
        self.current = base
        self.window = []

    def advance(self):
        self.current = self.current * 0.5
        self.window.append(self.current)

    def scaled(self, x):
        return x * self.current

    def based(self, x):
        return x * self.base

    def smoothed(self, x):
        return x * (1 + sum(self.window))


class Swapped:
    def __init__(self, coefficients):
        self.coefficients = np.asarray(coefficients)

    def shift(self, x):
        return x + self.coefficients.sum()


swapped = Swapped([1.0, 2.0])
scheduler = Scheduler(1.0)
scheduler_of_base = Scheduler(3.0)


def change_everything(batch):
    global activation, WEIGHTS
    OPTIONS["nested"]["depth"] += 1
    np.copyto(TABLE, batch)
    HOOKS.append(jnp.sin)
    TRANSFORMS["double"] = lambda x: 2 * x
    BLEND[:] = [0.1, 0.9]
    activation = jnp.sin
    WEIGHTS = jax.tree.map(lambda w: w * 0.9, WEIGHTS)
    Knobs.gain *= 2
    setattr(swapped, "coefficients", batch)  # noqa: B010
    ENABLED.discard("relu")


def drift(settings):
    settings["beta"] += 1


drift(DRIFTED)

add("stale_global", True, lambda x: x * RATE, X)
add("stale_global", True, lambda x: x * OPTIONS["nested"]["depth"], X)
add("stale_global", True, lambda x: x + TABLE, X)
add("stale_global", True, lambda x: functools.reduce(lambda v, h: h(v), [jnp.cos, *HOOKS], x), X)
add("stale_global", True, lambda x: sum(f(x) for f in TRANSFORMS.values()), X)
add("stale_global", True, lambda x: BLEND[0] * x + BLEND[1], X)
add("stale_global", True, lambda x: activation(x), X)
add("stale_global", True, jax.jit(lambda x: x @ WEIGHTS["w"]), X)
add("stale_global", True, lambda x: x * Knobs.gain, X)
add("stale_global", True, lambda x: x * DRIFTED["beta"], X)
add("stale_global", True, lambda x: x if "relu" in ENABLED else -x, X)
add("stale_global", True, Scheduler(1.0).scaled, X)
add("stale_global", True, Scheduler(1.0).smoothed, X)
add("stale_global", True, lambda x: scheduler.scaled(x), X)
add("stale_global", True, lambda x: x * scheduler.current, X)
add("stale_global", True, lambda x: swapped.shift(x), X)


def _annealed():
    level = {"t": 1.0}
    scheduler = Scheduler(2.0)
    table = np.ones(4)

    def cool():
        level["t"] *= 0.5
        table[:] = 0
        scheduler.advance()

    return lambda x: x * level["t"], lambda x: x * scheduler.current, lambda x: x + table, cool


for _fn in _annealed()[:3]:
    add("stale_global", True, _fn, X)


def _late_binding():
    made = []
    for power in (1, 2, 3):
        made.append(lambda x: x**power)  # noqa: B023
    return made


add("stale_global", True, _late_binding()[0], X)


@case("stale_global", True, X)
def tuned_by_its_own_attribute(x):
    return x * tuned_by_its_own_attribute.gain


tuned_by_its_own_attribute.gain = 1.0


def retune():
    tuned_by_its_own_attribute.gain = 2.0


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


class Limits(NamedTuple):
    low: float = 0.0
    high: float = 1.0


FILTER = np.array([0.25, 0.5, 0.25], np.float32)
STEPS = {"a": 1.0, "b": 2.0}
LAYERS = [jnp.sin, jnp.cos]
limits = Limits()
MODE = Mode.FAST
width: Final = [3.0, 4.0]
READ_ONLY = types.MappingProxyType({"a": 2.0})
LOOKUP = np.zeros(4, np.float32)
for _i in range(4):
    LOOKUP[_i] = _i**2
try:
    import numpy.nothing as _fast  # noqa: F401

    factor = 2.0
except ImportError:
    factor = 1.0


class Oscillator:
    stiffness = 2.0

    def __init__(self, mass, lr):
        self.mass, self.lr = mass, lr
        self.rates = [1.0, 2.0]
        self.table = np.ones(4)
        self.spec = {"damping": 0.1}
        self.calls = 0

    def count(self):
        self.calls += 1

    def force(self, x):
        return -self.stiffness * x / self.mass - self.spec["damping"] * x + self.lr

    def smooth(self, x):
        return x * self.table + self.rates[0]


oscillator = Oscillator(1.0, 0.1)


class Sgd:
    def __init__(self, lr, momentum=0.9):
        self.lr = lr
        self.momentum = momentum

    def update(self, w, g):
        return w - self.lr * (g + self.momentum * w)


add("stale_global", False, lambda x: jnp.convolve(x, FILTER), X)
add("stale_global", False, lambda x: x * STEPS["a"], X)
add("stale_global", False, lambda x: functools.reduce(lambda v, f: f(v), LAYERS, x), X)
add("stale_global", False, lambda x: jnp.clip(x, limits.low, limits.high), X)
add("stale_global", False, lambda x: x if MODE is Mode.FAST else -x, X)
add("stale_global", False, lambda x: x * width[0], X)
add("stale_global", False, lambda x: x * READ_ONLY["a"], X)
add("stale_global", False, lambda x: x + LOOKUP, X)
add("stale_global", False, lambda x: x * factor, X)
add("stale_global", False, Oscillator(1.0, 0.1).force, X)
add("stale_global", False, Oscillator(1.0, 0.1).smooth, X)
add("stale_global", False, lambda x: oscillator.force(x), X)
add("stale_global", False, lambda x: x / oscillator.mass, X)
add("stale_global", False, Sgd(0.1).update, X, X)
add("stale_global", False, lambda x: scheduler_of_base.based(x), X)
add("stale_global", False, lambda x: x * Knobs.offset, X)


def _apply_kernel(kernel, options):
    def apply(x):
        return jnp.convolve(x, kernel) * options["gain"]

    return apply


add("stale_global", False, _apply_kernel(np.ones(3), {"gain": 2.0}), X)


@case("stale_global", False, X)
def locals_of_the_same_names(x):
    RATE, TABLE = 2.0, np.zeros(4)
    TABLE[0] = 1
    return x * RATE + TABLE


# ---------------------------------------------------------------- leak
@functools.lru_cache(maxsize=8)
def _angles(n):
    return jnp.arange(n) / n


@functools.cache
def _tables(n):
    return {"sin": jnp.sin(jnp.arange(float(n)))}


class Basis:
    def __init__(self, n):
        self.n = n
        self.inner = types.SimpleNamespace(log=types.SimpleNamespace(items=[]))

    @functools.cached_property
    def vectors(self):
        return jnp.eye(self.n)

    def project(self, x):
        return self.vectors @ x

    def deep(self, x):
        self.inner.log.items.append(x)
        return x

    def by_setattr(self, x):
        setattr(self, "kept", x.sum())  # noqa: B010
        return x

    def by_dict(self, x):
        self.__dict__["kept"] = x.sum()
        return x


def remembering(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        wrapper.last = fn(*args)
        return wrapper.last

    return wrapper


class Slotted:
    __slots__ = ("h",)

    def __init__(self):
        self.h = None

    def step(self, x):
        self.h = x * 2
        return x


add("leak", True, lambda x: x + _angles(4), X)
add("leak", True, lambda x: x + _tables(4)["sin"], X)
add("leak", True, Basis(4).project, X)
add("leak", True, Basis(4).deep, X)
add("leak", True, Basis(4).by_setattr, X)
add("leak", True, Basis(4).by_dict, X)
add("leak", True, remembering(lambda x: x * 2), X)
add("leak", True, Slotted().step, X)


@case("leak", True, X)
def vmap_fills_a_local_list(x):
    rows = []
    jax.vmap(lambda r: (rows.append(r * 2), r)[1])(x)
    return rows


@case("leak", True, X)
def grad_fills_a_local_list(x):
    kept = []

    def loss(w):
        kept.append(w * 2)
        return (w**2).sum()

    return jax.grad(loss)(x) + kept[0]


@case("leak", True, X)
def cond_fills_a_local_dict(x):
    kept = {}

    def branch(v):
        kept["v"] = v * 2
        return v

    y = lax.cond(x[0] > 1, branch, lambda v: v, x)
    return y + kept["v"]


@case("leak", True, X)
def inner_jit_fills_a_local_list(x):
    kept = []

    @jax.jit
    def inner(v):
        kept.append(jnp.exp(v))
        return v

    return inner(x), kept


@case("leak", True, X)
def while_sets_a_nonlocal(x):
    last = None

    def body(v):
        nonlocal last
        last = v + 1
        return v + 1

    y = lax.while_loop(lambda v: v[0] < 3, body, x)
    return y * last


@case("leak", True, Tracker(), X)
def keeps_on_its_argument(tracker, x):
    tracker.seen.append(jnp.tanh(x))
    return x


@case("leak", True, X)
def stores_by_a_classmethod(x):
    Pool.live.append(x + 1)
    return x


_current: contextvars.ContextVar = contextvars.ContextVar("current", default=None)


@case("leak", True, X)
def sets_a_context_variable(x):
    _current.set(x * 2)
    return x


@case("leak", True, X)
def names_a_new_global(x):
    global first_seen_while_tracing
    first_seen_while_tracing = x
    return x


add("leak", False, lambda x: x + _np_table(4), X)
add("leak", False, Layers(4), X)
add("leak", False, plain(lambda x: x * 2), X)
add("leak", False, lambda t, x: x * (t.steps + 1), Tracker(), X)


@case("leak", False, X)
def local_list_in_grad_with_aux(x):
    def loss(w):
        parts = [w * i for i in range(3)]
        return sum(p.sum() for p in parts), parts

    return jax.grad(loss, has_aux=True)(x)


@case("leak", False, X)
def list_inside_of_a_body(x):
    def body(c, v):
        parts = []
        for i in range(2):
            parts.append(v * i)
        return c + sum(parts), jnp.stack(parts)

    return lax.scan(body, 0.0, x)


@case("leak", False, X)
def outer_value_used_in_a_body(x):
    kept = [x * 2]
    return jax.vmap(lambda v: v + kept[0].sum())(x), kept


@case("leak", False, X)
def shapes_kept_in_a_body(x):
    shapes = []

    def body(c, v):
        shapes.append(v.shape)
        return c + v, None

    return lax.scan(body, 0.0, x)[0] * len(shapes)


@case("leak", False, X)
def local_object_keeps(x):
    tracker = Tracker()
    tracker.seen.append(x)
    return sum(tracker.seen)


@case("leak", False, X)
def custom_rule_of_ones_own(x):
    @jax.custom_vjp
    def f(v):
        return jnp.sin(v)

    f.defvjp(lambda v: (jnp.sin(v), v), lambda r, g: (g * jnp.cos(r),))
    return jax.grad(lambda v: f(v).sum())(x)


add("leak", False, lambda x: jax.jit(lambda v: jax.lax.map(jnp.sin, v))(x), X)

# ---------------------------------------------------------------- iterator
add("iterator", True, lambda x: lax.scan(lambda c, v: (c, v), x, zip([1], [2], strict=True)), X)
add("iterator", True, lambda x: jnp.stack(map(jnp.sin, [x, x])), X)
add("iterator", True, lambda x: jnp.array(r for r in (1.0, 2.0)) + x[:2], X)
add("iterator", True, lambda x: jnp.concatenate(reversed([x, x])), X)
add("iterator", True, lambda x: jax.vmap(lambda v: v * 2)(iter([1.0, 2.0])), X)
add("iterator", True, lambda x: jax.jit(lambda a, b: a)(x, enumerate([1, 2])), X)
add("iterator", True, lambda x: jnp.max(filter(lambda v: v > 1, [1.0, 2.0])) + x, X)
add("iterator", True, lambda x: lax.map(lambda v: v, (x, iter([1.0]))), X)
add("iterator", True, lambda x, rows: x, X, zip([1], [2], strict=True))


class Rows:
    """An iterator without `__iter__`."""

    def __init__(self):
        self.at = 0

    def __next__(self):
        self.at += 1
        return float(self.at)


_rows = Rows()
_zipped = zip([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], strict=True)
_mapped = map(float, [1, 2, 3])


@case("iterator", True, X)
def next_of_a_bare_class(x):
    return x + next(_rows)


@case("iterator", True, X)
def takes_from_a_global_zip(x):
    for a, b in _zipped:
        return x * a + b
    return x


@case("iterator", True, X)
def takes_from_a_global_map(x):
    return x * next(_mapped)


@case("iterator", True, X)
def for_in_a_scan_body(x):
    values = iter([1.0, 2.0, 3.0, 4.0])

    def body(c, v):
        for a in values:
            c = c + a * v
            break
        return c, None

    return lax.scan(body, 0.0, x)[0]


@case("iterator", True, X)
def next_under_vmap(x):
    values = iter([1.0, 2.0, 3.0, 4.0])
    return jax.vmap(lambda v: v * next(values))(x)


@dataclasses.dataclass(eq=False)
class Source:
    batches: Any


@case("iterator", True, Source(iter([1.0, 2.0])), X)
def takes_from_an_attribute_of_its_argument(source, x):
    return x * next(source.batches)


add("iterator", False, lambda x: jnp.stack(list(map(jnp.sin, [x, x]))), X)
add("iterator", False, lambda x: jnp.array([r + 1 for r in (1.0, 2.0)]) + x[:2], X)
add("iterator", False, lambda x: jnp.concatenate(tuple(reversed([x, x]))), X)
add("iterator", False, lambda x: x * max(filter(lambda v: v > 1, [1.0, 2.0])), X)
add("iterator", False, lambda x: dict(zip("ab", [x, x * 2], strict=True)), X)
add("iterator", False, lambda x: jnp.asarray(range(4)) + x, X)
add("iterator", False, lambda x: x + jnp.stack(list({"a": x}.values())).sum(), X)
add("iterator", False, lambda m: sum(row @ row for row in m), M)


@case("iterator", False, {"a": X, "b": X})
def rebuilt_from_a_generator(tree):
    leaves, shape = jax.tree.flatten(tree)
    return jax.tree.unflatten(shape, (leaf * 2 for leaf in leaves))


@case("iterator", False, X)
def keys_in_a_local_closure(x):
    keys = iter(jax.random.split(jax.random.key(0)))

    def noisy(v):
        return v + jax.random.normal(next(keys), v.shape)

    return noisy(noisy(x))


@case("iterator", False, X)
def iterators_of_a_body_alone(x):
    def body(c, v):
        total = sum(a * v for a in iter((1.0, 2.0)))
        for a, b in zip((1.0, 2.0), itertools.count(), strict=False):
            total = total + a * b
        return c + total, None

    return lax.scan(body, 0.0, x)[0]


# ---------------------------------------------------------------- inplace
@jax.tree_util.register_pytree_node_class
class Particles:
    def __init__(self, at, speed):
        self.at, self.speed = at, speed

    def tree_flatten(self):
        return (self.at, self.speed), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

    def moved(self):
        return Particles(self.at + self.speed, self.speed)


@case("inplace", True, Particles(X, X))
def moves_particles(p):
    p.at = p.at + p.speed
    return p


@case("inplace", True, {"p": Particles(X, X)})
def moves_nested_particles(tree):
    def drift(p):
        p.at += p.speed

    drift(tree["p"])
    return tree


@case("inplace", True, Tracker(), X)
def sets_an_attribute_of_an_object(tracker, x):
    tracker.steps = 3
    return x


@case("inplace", True, Tracker(), X)
def appends_to_a_list_of_an_object(tracker, x):
    tracker.seen.append(x.shape)
    return x


@case("inplace", True, X)
def result_of_at_is_dropped(x):
    x.at[0].set(1.0)
    return x


@case("inplace", True, X)
def reads_only_view(x):
    y = np.asarray(x)
    y[0] = 1.0
    return y


@case("inplace", True, collections.OrderedDict(a=X, b=X))
def updates_an_ordered_dict(d):
    d.update(a=d["a"] * 2)
    return d["a"]


@dataclasses.dataclass(frozen=True)
class State:
    x: Any


jax.tree_util.register_dataclass(State, data_fields=["x"], meta_fields=[])


@case("inplace", True, State(X))
def assigns_to_a_frozen_field(state):
    state.x = state.x + 1
    return state


@case("inplace", True, Limits())
def assigns_to_a_named_tuple(limits):
    limits.low = 3.0
    return limits


add("inplace", False, lambda p: p.moved(), Particles(X, X))
add("inplace", False, lambda t, x: x * (t.steps + 1), Tracker(), X)
add("inplace", False, lambda s: dataclasses.replace(s, x=s.x + 1), State(X))
add("inplace", False, lambda n: n._replace(low=2.0), Limits())
add("inplace", False, lambda x: x.at[0].set(1.0).at[1].add(2.0), X)
add("inplace", False, lambda layers, x: layers(x), Layers(4), X)


@case("inplace", False, Particles(X, X))
def changes_a_copy(p):
    q = Particles(p.at, p.speed)
    q.at = q.at + 1
    return q


@case("inplace", False, X)
def writes_to_a_copy(x):
    y = np.zeros(4)
    y[0] = 1.0
    return x + y


@case("inplace", False, {"a": X})
def makes_new_from_old(d):
    out = collections.OrderedDict(d)
    out.update(a=d["a"] * 2)
    return out["a"]


@case("inplace", False, X)
def objects_of_ones_own(x):
    tracker = Tracker()
    tracker.steps += 1
    return x * tracker.steps
