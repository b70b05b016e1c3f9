"""More labeled cases for the Python-state detectors, written after those were fixed."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import itertools
import queue
import threading
import types
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()
X = jnp.arange(4.0)
W = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}


# ---------------------------------------------------------------- side_effect
class Metrics(dict):
    def log(self, **values):
        for name, value in values.items():
            self.setdefault(name, []).append(value)


metrics = Metrics()
events: queue.Queue = queue.Queue()
totals = {"train": {"batches": 0}}
local = threading.local()


def on_end(callbacks):
    def around(fn):
        @functools.wraps(fn)
        def run(*args):
            out = fn(*args)
            for callback in callbacks:
                callback(out)
            return out

        return run

    return around


shapes = []


@case("side_effect", True, W, X)
def logs_to_a_dict_subclass(params, x):
    loss = (x @ params["w"]).sum()
    metrics.log(loss=loss)
    return loss


@case("side_effect", True, X)
def puts_in_a_queue(x):
    events.put(("step", x.shape))
    return x


@case("side_effect", True, X)
def counts_batches(x):
    def inner(v):
        totals["train"]["batches"] += 1
        return v * v

    return jax.vmap(inner)(x)


@case("side_effect", True, X)
def thread_local(x):
    local.depth = getattr(local, "depth", 0) + 1
    return x


@case("side_effect", True, X)
@on_end([lambda out: shapes.append(out.shape)])
def with_callbacks(x):
    return x * 2


@case("side_effect", True, X)
def names_a_run(x):
    return x, str(uuid.uuid4())


@case("side_effect", True, X)
def looks_at_files(x):
    return x * len(list(Path(".").glob("*.nothing")))


class Env:
    """A game environment."""

    def __init__(self):
        self.t, self.trace = 0, []

    def reset(self):
        self.t = 0
        self.trace.clear()
        return jnp.zeros(2)

    def step(self, action):
        self.t += 1
        return action * self.t


env = Env()


@case("side_effect", True, X)
def rolls_out_a_game(actions):
    state = env.reset()
    for a in actions:
        state = state + env.step(a)
    return state


add("side_effect", True, functools.partial(lambda e, a: e.step(a), Env()), X)


@case("side_effect", True, [1, 2], X)
def pops_a_global_stack(_, x):
    return x * stack.pop()


stack = [1.0, 2.0]


@case("side_effect", False, X)
def plays_a_game_of_its_own(actions):
    game = Env()
    state = game.reset()
    for a in actions:
        state = state + game.step(a)
    return state


@case("side_effect", False, W, X)
def functional_metrics(params, x):
    out = Metrics()
    out.log(loss=(x @ params["w"]).sum())
    return dict(out)


@case("side_effect", False, X)
def reads_state_only(x):
    return x * (1 + len(shapes)) * totals["train"]["batches"] + len(stack)


@case("side_effect", False, X)
def counts_inside(x):
    counter = itertools.count()
    return sum(x * next(counter) for _ in range(3))


@case("side_effect", False, jax.random.key(0), X)
def random_in_a_loop(key, x):
    for k in jax.random.split(key, 3):
        x = x + jax.random.normal(k, x.shape)
    return x


@case("side_effect", False, X)
def memo_of_its_own(x):
    @functools.cache
    def power(n):
        return x if n == 1 else power(n - 1) * x

    return power(4)


class Net:
    def __init__(self, sizes):
        keys = jax.random.split(jax.random.key(0), len(sizes))
        self.params = [jax.random.normal(k, (m, m)) for k, m in zip(keys, sizes, strict=True)]
        self.name = "net"

    def loss(self, params, x):
        for w in params:
            x = jnp.tanh(w @ x)
        return (x**2).sum()

    def step(self, params, x):
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(self.loss)(params, x))

    def fit(self, x):
        self.params = self.step(self.params, x)


net = Net([4, 4])
add("side_effect", False, net.step, net.params, X)
add("side_effect", False, lambda p, x: net.loss(p, x), net.params, X)

# ---------------------------------------------------------------- stale_global
args = argparse.Namespace(lr=0.1, epochs=3)
temperature = 1.0
penalties = {"l2": 1e-3}
mean, std = np.zeros(4, np.float32), np.ones(4, np.float32)
opt_state = {"count": 0}
curriculum_level = 0
FEATURES = ["a"]
ACTIVE = set()
REPLAY = collections.deque([1.0], maxlen=3)
VOCAB = {"a": 0.0}


def main():
    global temperature, curriculum_level
    for epoch in range(2):
        temperature = temperature * 0.9
        curriculum_level += epoch
        penalties["l2"] *= 10
        args.lr = 0.01
        FEATURES.append("b")
        ACTIVE.add("x")
        REPLAY.append(2.0)
        VOCAB.update(b=2.0)
        DRAG.coefficient = 0.2
        MODEL.load({"w": jnp.zeros(4)})


class Drag:
    coefficient = 0.5


DRAG = Drag()


class Loaded:
    def __init__(self):
        self.weights = {"w": np.ones(4)}
        self.eps = 1e-3
        self.scale_by = 1.0

    def load(self, weights):
        self.weights.update(weights)

    def calibrate(self, batch):
        self.scale_by = float(np.max(batch))

    def __call__(self, x):
        return x * self.weights["w"] + self.eps

    def normalized(self, x):
        return x / self.scale_by


MODEL = Loaded()

add("stale_global", True, lambda x: x * args.lr, X)
add("stale_global", True, lambda x: jax.nn.softmax(x / temperature), X)
add("stale_global", True, lambda p: penalties["l2"] * (p["w"] ** 2).sum(), W)
add("stale_global", False, lambda x: (x - mean) / std, X)
add("stale_global", True, lambda x: x[: 1 + curriculum_level], X)
add("stale_global", True, lambda x: x * len(FEATURES), X)
add("stale_global", True, lambda x: x * 2 if "x" in ACTIVE else x, X)
add("stale_global", True, lambda x: x + sum(REPLAY), X)
add("stale_global", True, lambda x: x + VOCAB["a"], X)
add("stale_global", True, lambda x: x - DRAG.coefficient * x, X)
add("stale_global", True, MODEL, X)
add("stale_global", True, lambda x: MODEL(x), X)
add("stale_global", True, Loaded().normalized, X)
add("stale_global", True, jax.jit(lambda x: net.loss(net.params, x)), X)


def _trainer():
    lr = 0.1

    @jax.jit
    def step(w, g):
        return w - lr * g

    for _ in range(2):
        step(X, X)
        lr *= 0.5
    return step


add("stale_global", True, _trainer(), X, X)


def _counter():
    t = 0

    def tick():
        nonlocal t
        t += 1

    return tick, jax.jit(lambda x: x * jnp.exp(-0.1 * t))


add("stale_global", True, _counter()[1], X)

C1, C2 = 0.5, 2.0
CONFIG = {"heads": 2, "dim": 4}
_EPS = 1e-6
kernel_size = 3
DTYPE = jnp.float32
ACTIVATIONS = {"tanh": jnp.tanh, "relu": jax.nn.relu}
BASIS = np.stack([np.cos(np.arange(4) * k) for k in range(4)]).astype(np.float32)
POINTS = jnp.linspace(0, 1, 4)
names = ("a", "b")


class Norm(NamedTuple):
    mean: Any = 0.5
    std: Any = 2.0


norm = Norm()


@dataclasses.dataclass(frozen=True)
class Physics:
    g: float = 9.81
    dt: float = 0.1

    def step(self, v):
        return v - self.g * self.dt


class Grid:
    """A grid that never changes after its creation."""

    def __init__(self, n):
        self.n = n
        self.h = 1.0 / n
        self._nodes = np.linspace(0, 1, n, dtype=np.float32)
        self._setup()

    def _setup(self):
        self.weights = np.full(self.n, self.h)

    def quadrature(self, f):
        return (f * self.h).sum()

    def shifted(self, f):
        return f + self._nodes


class Linear:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, p, x):
        return self.scale * (x @ p["w"] + p["b"])


linear = Linear(2.0)
grid = Grid(4)

add("stale_global", False, lambda x: C1 * x + C2, X)
add("stale_global", False, lambda x: x.reshape(CONFIG["heads"], -1) / _EPS, X)
add("stale_global", False, lambda x: jnp.convolve(x, jnp.ones(kernel_size)), X)
add("stale_global", False, lambda x: ACTIVATIONS["tanh"](x).astype(DTYPE), X)
add("stale_global", False, lambda x: BASIS @ x + POINTS, X)
add("stale_global", False, lambda x: (x - norm.mean) / norm.std * len(names), X)
add("stale_global", False, Physics().step, X)
add("stale_global", False, grid.quadrature, X)
add("stale_global", False, lambda x: grid.shifted(x), X)
add("stale_global", False, lambda p, x: linear(p, x), W, X)
add("stale_global", False, net.step, net.params, X)
add("stale_global", False, jax.vmap(lambda x: MODEL.eps * x), X)


def _solver(matrix, steps, options=None):
    options = options or {"damping": 0.5}
    inverse = np.linalg.inv(matrix)

    def solve(b):
        x = jnp.zeros_like(b)
        for _ in range(steps):
            x = x + inverse @ (b - matrix @ x)
        return x

    return solve


add("stale_global", False, _solver(np.eye(4), 2), X)


@case("stale_global", False, {"temperature": 1.0}, X)
def settings_passed(settings, x):
    temperature = settings["temperature"]
    return x / temperature


# ---------------------------------------------------------------- leak
class Probe:
    def __init__(self):
        self.taps = collections.defaultdict(list)

    def tap(self, name, value):
        self.taps[name].append(value)
        return value


probe = Probe()
best = {"loss": np.inf}
sink: queue.Queue = queue.Queue()
latest = types.SimpleNamespace(grads=None)


@case("leak", True, W, X)
def taps_inside_of_grad(params, x):
    def loss(p):
        return probe.tap("h", jnp.tanh(x @ p["w"])).sum()

    return jax.grad(loss)(params)


@case("leak", True, X)
def remembers_the_best(x):
    loss = (x**2).sum()
    best["loss"] = jnp.minimum(best["loss"], loss)
    return loss


@case("leak", True, X)
def sends_to_a_queue(x):
    sink.put(x * 2)
    return x


@case("leak", True, W, X)
def keeps_gradients(params, x):
    latest.grads = jax.grad(lambda p: (x @ p["w"]).sum())(params)
    return params


@functools.lru_cache(None)
def rotary(n, d):
    angle = jnp.arange(n)[:, None] * jnp.arange(d)
    return jnp.cos(angle), jnp.sin(angle)


@case("leak", True, X)
def rotary_table(x):
    cos, sin = rotary(4, 2)
    return x[:, None] * cos - sin


_memo = {}


def memoize(fn):
    @functools.wraps(fn)
    def run(*args):
        key = fn.__name__
        if key not in _memo:
            _memo[key] = fn(*args)
        return _memo[key]

    return run


@case("leak", True, X)
@memoize
def memoized_by_hand(x):
    return jnp.fft.fft(x).real


@case("leak", True, X)
def partial_sums_of_a_loop(x):
    sums = {}

    def body(i, s):
        s = s + x[i]
        sums["last"] = s
        return s

    total = lax.fori_loop(0, 4, body, 0.0)
    return total, sums


@case("leak", True, X)
def row_norms_by_nonlocal(x):
    biggest = None

    def row(v):
        nonlocal biggest
        biggest = v if biggest is None else jnp.maximum(biggest, v)
        return v

    jax.vmap(row)(x)
    return biggest


class Cell:
    def __init__(self):
        self.state = {"h": jnp.zeros(4)}

    def __call__(self, x):
        self.state["h"] = jnp.tanh(self.state["h"] + x)
        return self.state["h"]


cell = Cell()


@case("leak", True, X)
def scans_with_a_cell(x):
    return lax.scan(lambda c, v: (c, cell(v)), 0.0, x)[1]


add("leak", True, functools.partial(lambda box, x: box.append(x) or x, []), X)


@case("leak", False, X)
def cell_of_its_own(x):
    return Cell()(x)


@case("leak", False, X)
def scans_with_a_carry(x):
    def step(h, v):
        h = jnp.tanh(h + v)
        return h, {"h": h, "v": v}

    return lax.scan(step, jnp.zeros(()), x)


@case("leak", False, X)
def memo_of_numpy(x):
    if "grid" not in _memo:
        _memo["grid"] = np.linspace(0, 1, 4)
    return x + _memo["grid"]


@case("leak", False, W, X)
def aux_through_grad(params, x):
    def loss(p):
        h = jnp.tanh(x @ p["w"])
        return h.sum(), {"h": h}

    return jax.value_and_grad(loss, has_aux=True)(params)


@case("leak", False, X)
def hooks_of_a_local_probe(x):
    p = Probe()
    for i in range(2):
        x = p.tap(f"l{i}", jnp.sin(x))
    return x, dict(p.taps)


@case("leak", False, X)
def remat_and_checkpoint(x):
    return jax.grad(lambda v: jax.checkpoint(lambda u: jnp.sin(u).sum())(v))(x)


@case("leak", False, X)
def caches_of_its_own(x):
    table = {}

    def f(n):
        if n not in table:
            table[n] = x if n == 0 else jnp.sin(f(n - 1))
        return table[n]

    return f(3)


@case("leak", False, X)
def while_and_cond(x):
    y = lax.while_loop(lambda v: v.sum() < 10, lambda v: v + 1, x)
    return lax.cond(y[0] > 1, lambda v: v, lambda v: -v, y)


# ---------------------------------------------------------------- iterator
dataset = ({"x": np.full(4, i, np.float32)} for i in range(100))
loader = enumerate([1.0, 2.0, 3.0])
chained = itertools.chain([1.0], [2.0])
pairs = itertools.pairwise([1.0, 2.0, 4.0])


class Batches:
    def __init__(self, n):
        self.n, self.i = n, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return np.full(4, self.i, np.float32)


class Trainer:
    def __init__(self):
        self.data = Batches(10)
        self.seeds = iter(range(100))

    def step(self, w):
        return w - 0.1 * next(self.data)

    def noisy(self, w):
        return w + jax.random.normal(jax.random.key(next(self.seeds)), w.shape)


trainer = Trainer()

add("iterator", True, lambda w: w - next(dataset)["x"], X)
add("iterator", True, lambda w: w * next(loader)[1], X)
add("iterator", True, lambda w: w * next(chained), X)
add("iterator", True, lambda w: w * next(pairs)[0], X)
add("iterator", True, trainer.step, X)
add("iterator", True, lambda w: trainer.noisy(w), X)
add("iterator", True, lambda b, w: sum(w + v for v in b), Batches(2), X)
add("iterator", True, lambda b, w: sum(w + v for v in b), (float(i) for i in range(3)), X)
add("iterator", True, lambda w: jnp.asarray(v for v in w), X)
add("iterator", True, lambda w: jnp.hstack(w * i for i in range(2)), X)
add("iterator", True, lambda w: lax.scan(lambda c, v: (c + v, None), w, Batches(3)), X)
add("iterator", True, lambda w: lax.map(lambda v: v * 2, map(float, range(3))), X)
add("iterator", True, lambda w: jnp.mean(itertools.chain([1.0], [2.0])) * w, X)


@case("iterator", True, X)
def counts_turns_of_a_while(x):
    turn = itertools.count(1)
    return lax.while_loop(lambda s: s.sum() < 50, lambda s: s + next(turn), x)


add("iterator", False, lambda w: sum(w + v for v in Batches(2)), X)
add("iterator", False, lambda bs, w: sum(w + v for v in bs), [1.0, 2.0], X)
add("iterator", False, lambda p: [k for k, v in p.items()] and p, W)
add("iterator", False, lambda w: jnp.stack([*map(jnp.sin, (w, w))]), X)
add("iterator", False, lambda w: jnp.array(list(zip((1.0, 2.0), (3.0, 4.0), strict=True))), X)
add("iterator", False, lambda w: functools.reduce(jnp.multiply, (w * i for i in range(3))), X)
add("iterator", False, lambda w: lax.scan(lambda c, v: (c + v, v), 0.0, jnp.arange(3.0)), X)
add("iterator", False, lambda w: w[jnp.array(tuple(itertools.islice(itertools.count(), 2)))], X)
add("iterator", False, lambda w: max(enumerate((1, 5, 2)), key=lambda p: p[1])[0] * w, X)
add("iterator", False, lambda w: jax.tree.map(lambda a, b: a + b, *(w for _ in range(2))), X)


# ---------------------------------------------------------------- inplace
class Body:
    def __init__(self, x, v):
        self.x, self.v = x, v

    def kick(self, dt):
        self.v = self.v - dt * self.x


jax.tree_util.register_pytree_node(
    Body, lambda b: ((b.x, b.v), None), lambda _, parts: Body(*parts)
)


@dataclasses.dataclass
class Carry:
    x: Any
    log: list


jax.tree_util.register_dataclass(Carry, data_fields=["x", "log"], meta_fields=[])

add("inplace", True, lambda b: b.kick(0.1) or b.x, Body(X, X))
add("inplace", True, lambda bs: [b.kick(0.1) for b in bs] and bs, [Body(X, X)])
add("inplace", True, lambda c: c.log.append(c.x) or c.x, Carry(X, [X]))
add("inplace", True, lambda d: d.setdefault("c", X) + d["a"], {"a": X})
add("inplace", True, lambda d, e: d.update(e) or d["b"], {"a": X}, {"b": X})
add("inplace", True, lambda xs: xs.reverse() or xs[0], [X, X * 2])
add("inplace", True, lambda xs: xs.extend([X]) or xs[0], [X])
add("inplace", True, lambda x: x.__setitem__(0, 1.0), X)
add("inplace", True, lambda x, b: np.add(b, 1, out=b) + x, X, np.zeros(4, np.float32))
add("inplace", True, lambda b: np.copyto(b, 1.0) or jnp.sum(b), np.zeros(4, np.float32))


@case("inplace", True, X)
def adds_and_forgets(x):
    for i in range(3):
        x.at[i].add(1.0)
    return x


@case("inplace", True, jnp.zeros(4))
def item_in_a_fori_loop(x):
    def body(i, acc):
        acc[i] = i * 2.0
        return acc

    return lax.fori_loop(0, 4, body, x)


add("inplace", False, lambda b: Body(b.x, b.v - 0.1 * b.x), Body(X, X))
add("inplace", False, lambda c: [*c.log, c.x], Carry(X, [X]))
add("inplace", False, lambda d: {"c": X, **d}, {"a": X})
add("inplace", False, lambda xs: xs[::-1], [X, X * 2])
add("inplace", False, lambda xs: sorted(xs), [2, 1])
add("inplace", False, lambda x: x.at[0].set(1.0), X)
add("inplace", False, lambda b: np.add(b, 1).sum(), np.zeros(4, np.float32))


@case("inplace", False, Body(X, X))
def copy_then_kick(b):
    c = jax.tree.map(lambda leaf: leaf, b)
    c.kick(0.1)
    return c


@case("inplace", False, X)
def fills_a_local_dict(x):
    out = {}
    for i in range(3):
        out[i] = x.at[i].get()
    out[0] = out.pop(1)
    return out


@case("inplace", False, [1, 2], X)
def unpacks(pair, x):
    a, b = pair
    a += 1
    b *= 2
    return x * a + b


# ---------------------------------------------------------------- functions that carry values
later: list = []


@case("leak", True, X)
def stores_a_function_that_closes_over_a_value(x):
    total = x.sum()
    later.append(lambda: total + 1)
    return x - total


@case("leak", False, X)
def stores_a_function_that_closes_over_a_shape(x):
    length = x.shape[0]
    later.append(lambda: length + 1)
    return x - length


# ---------------------------------------------------------------- bound once, or not a mapping
class Rule(NamedTuple):
    init: Any
    update: Any


def momentum(rate):
    def update(grads, state):
        state = 0.9 * state + grads
        return -rate * state, state

    return Rule(jnp.zeros_like, update)


class Nesterov:
    def __init__(self, rate):
        self.rate = rate

    def update(self, grads, state):
        state = 0.9 * state + grads
        return -self.rate * (grads + 0.9 * state), state


class Agent:
    def __init__(self, rule):
        self._rule = rule
        self._rules = {"actor": rule}
        self._options = {"rate": 0.1}

    def step(self, w, state, grads):
        updates, state = self._rule.update(grads, state)
        return w + updates, state

    def actor_step(self, w, state, grads):
        updates, state = self._rules["actor"].update(grads, state)
        return w + updates, state

    def tuned_step(self, w, grads):
        return w - self._options["rate"] * grads

    def tune(self, **options):
        self._options.update(options)


nesterov_agent = Agent(Nesterov(0.1))
add("stale_global", False, Agent(momentum(0.1)).step, X, X, X)
add("stale_global", False, Agent(momentum(0.1)).actor_step, X, X, X)
add("stale_global", False, Agent(Nesterov(0.1)).step, X, X, X)
add("stale_global", False, lambda w, s, g: nesterov_agent.step(w, s, g), X, X, X)
add("stale_global", True, Agent(momentum(0.1)).tuned_step, X, X)


class Averages(collections.abc.MutableMapping):
    def __init__(self, **values):
        self.values_by_name = dict(values)

    def __getitem__(self, name):
        return self.values_by_name[name]

    def __setitem__(self, name, value):
        self.values_by_name[name] = value

    def __delitem__(self, name):
        del self.values_by_name[name]

    def __iter__(self):
        return iter(self.values_by_name)

    def __len__(self):
        return len(self.values_by_name)


class Normalizer:
    def __init__(self):
        self.averages = Averages(mean=0.0)

    def observe(self, batch):
        self.averages.update(mean=float(np.mean(batch)))

    def __call__(self, x):
        return x - self.averages["mean"]


class Registry:
    def __init__(self):
        self.bounds = {"low": -1.0}


bounds_of = Registry()


def widen(batch):
    bounds_of.bounds.update(low=float(np.min(batch)))


add("stale_global", True, Normalizer(), X)
add("stale_global", True, lambda x: jnp.maximum(x, bounds_of.bounds["low"]), X)


@dataclasses.dataclass
class Options:
    gamma: float = 0.99
    clip: float = 1.0


@dataclasses.dataclass
class AnnealedOptions:
    heat: float = 1.0


def parsed(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--decay", type=float, default=0.9)
    return parser.parse_args(arguments)


def loaded(text):
    return {"rate": float(text), "layers": [4, 4]}


options = Options()
given_options = parsed([])
run_config = loaded("0.1")
annealed_options = AnnealedOptions()
retried_options = parsed([])
tuned_config = loaded("0.1")


def anneal():
    annealed_options.heat = 0.9
    retried_options.decay *= 0.5
    tuned_config["rate"] = 0.01


add("stale_global", False, lambda x: jnp.clip(x * options.gamma, max=options.clip), X)
add("stale_global", False, lambda x: x * given_options.decay, X)
add("stale_global", False, jax.jit(lambda x: x * run_config["rate"]), X)
add("stale_global", True, lambda x: x * annealed_options.heat, X)
add("stale_global", True, lambda x: x * retried_options.decay, X)
add("stale_global", True, lambda x: x * tuned_config["rate"], X)


def _training(text):
    config = loaded(text)
    tuned = loaded(text)

    def tune():
        tuned["rate"] *= 0.5

    return lambda x: x * config["rate"], lambda x: x * tuned["rate"], tune


add("stale_global", False, _training("0.1")[0], X)
add("stale_global", True, _training("0.1")[1], X)
