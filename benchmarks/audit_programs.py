"""Measure the cost of an audit on programs of the shapes that real projects have."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from book_tools.benchmarking.timing import quartiles, ratio_quartiles, round_significant
from jaxbits import audit

TITLE = "an audit beside the first call of the same function, for programs like those of projects"
REPEATS = 3
TIMES, SECONDS = 3, 60

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def _dense(key: jax.Array, *sizes: int) -> list[dict[str, jax.Array]]:
    """Return the parameters of dense layers between layers of the given sizes."""
    keys = jax.random.split(key, len(sizes) - 1)
    shapes = zip(keys, sizes, sizes[1:], strict=False)
    return [{"w": jax.random.normal(k, (m, n)) / m**0.5, "b": jnp.zeros(n)} for k, m, n in shapes]


def _apply(layers: list[dict[str, jax.Array]], x: jax.Array) -> jax.Array:
    for layer in layers[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def _train_step(
    loss: Callable[..., jax.Array], optimizer: optax.GradientTransformation
) -> Callable[..., Any]:
    """Return a jitted training step for a loss that takes the parameters first."""

    @jax.jit
    def step(params: Any, state: Any, *batch: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, *batch)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    return step


def mlp_step() -> Program:
    """Return a training step of a classifier with three layers."""
    optimizer = optax.adamw(1e-3)
    params = _dense(jax.random.key(0), 64, 128, 128, 10)

    def loss(params: Any, x: jax.Array, label: jax.Array) -> jax.Array:
        logits = _apply(params, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, label).mean()

    x, label = jnp.ones((32, 64)), jnp.arange(32) % 10
    return _train_step(loss, optimizer), (params, optimizer.init(params), x, label)


def _norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def transformer_step() -> Program:
    """Return a training step of a causal transformer with two layers."""
    width, heads, length, vocabulary = 64, 4, 32, 65
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
    keys = iter(jax.random.split(jax.random.key(0), 20))

    def block() -> dict[str, Any]:
        return {
            "norms": jnp.ones((2, width)),
            "qkv": jax.random.normal(next(keys), (width, 3 * width)) * 0.1,
            "out": jax.random.normal(next(keys), (width, width)) * 0.1,
            "mlp": _dense(next(keys), width, 4 * width, width),
        }

    params = {
        "tokens": jax.random.normal(next(keys), (vocabulary, width)) * 0.1,
        "positions": jax.random.normal(next(keys), (length, width)) * 0.1,
        "blocks": [block(), block()],
        "norm": jnp.ones(width),
    }

    def attention(block: Any, x: jax.Array) -> jax.Array:
        parts = jnp.split(x @ block["qkv"], 3, axis=-1)
        q, k, v = (part.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2) for part in parts)
        scores = q @ k.swapaxes(2, 3) / q.shape[-1] ** 0.5
        causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = jax.nn.softmax(jnp.where(causal, scores, -1e9), axis=-1)
        return (weights @ v).swapaxes(1, 2).reshape(x.shape) @ block["out"]

    def loss(params: Any, tokens: jax.Array, key: jax.Array) -> jax.Array:
        x = params["tokens"][tokens[:, :-1]] + params["positions"]
        keep = jax.random.bernoulli(key, 0.9, x.shape)
        x = jnp.where(keep, x / 0.9, 0.0)
        for block in params["blocks"]:
            x = x + attention(block, _norm(x, block["norms"][0]))
            x = x + _apply(block["mlp"], _norm(x, block["norms"][1]))
        logits = _norm(x, params["norm"]) @ params["tokens"].T
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    tokens = jnp.arange(8 * (length + 1)).reshape(8, -1) % vocabulary
    return _train_step(loss, optimizer), (
        params, optimizer.init(params), tokens, jax.random.key(1),
    )  # fmt: skip


def rollout() -> Program:
    """Return a rollout of 128 steps of a policy in 16 environments."""
    params = _dense(jax.random.key(0), 4, 64, 64, 2)

    def reset(key: jax.Array) -> jax.Array:
        return jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)

    def environment_step(key: jax.Array, state: jax.Array, action: jax.Array) -> Any:
        position, speed, angle, spin = state
        force = jnp.where(action == 1, 10.0, -10.0)
        inner = (force + 0.05 * spin**2 * jnp.sin(angle)) / 1.1
        turn = (9.8 * jnp.sin(angle) - jnp.cos(angle) * inner) / (
            0.5 * (4 / 3 - 0.1 * jnp.cos(angle) ** 2 / 1.1)
        )
        push = inner - 0.05 * turn * jnp.cos(angle) / 1.1
        moved = jnp.stack(
            [position + 0.02 * speed, speed + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * turn]
        )
        done = (jnp.abs(moved[0]) > 2.4) | (jnp.abs(moved[2]) > 0.2)
        return jnp.where(done, reset(key), moved), 1.0, done

    @jax.jit
    def run(params: Any, key: jax.Array) -> Any:
        key, subkey = jax.random.split(key)
        states = jax.vmap(reset)(jax.random.split(subkey, 16))

        def one_step(carry: Any, _: None) -> Any:
            key, states = carry
            key, action_key, step_key = jax.random.split(key, 3)
            logits = _apply(params, states)
            action = jax.random.categorical(action_key, logits)
            log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
            step_keys = jax.random.split(step_key, 16)
            new, reward, done = jax.vmap(environment_step)(step_keys, states, action)
            return (key, new), (states, action, log_prob, reward, done)

        (key, states), trajectory = lax.scan(one_step, (key, states), None, 128)

        def discounted(total: jax.Array, step: Any) -> Any:
            reward, done = step
            total = reward + 0.99 * jnp.where(done, 0.0, total)
            return total, total

        _, returns = lax.scan(discounted, jnp.zeros(16), trajectory[3:], reverse=True)
        return trajectory, returns

    return run, (params, jax.random.key(1))


def ode_solver() -> Program:
    """Return an adaptive solver of a neural differential equation."""
    params = _dense(jax.random.key(0), 2, 32, 2)

    def field(params: Any, y: jax.Array) -> jax.Array:
        return jnp.tanh(_apply(params, y))

    @jax.jit
    def solve(params: Any, start: jax.Array, end: float) -> jax.Array:
        def step(state: Any) -> Any:
            t, y, h, count = state
            h = jnp.minimum(h, end - t)
            k1 = field(params, y)
            k2 = field(params, y + h * k1 / 2)
            k3 = field(params, y + h * 3 * k2 / 4)
            better = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
            k4 = field(params, better)
            error = h * jnp.max(jnp.abs(-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)) / 1e-4
            accepted = error <= 1.0
            factor = jnp.clip(0.9 * error ** (-1 / 3), 0.2, 5.0)
            return (
                jnp.where(accepted, t + h, t),
                jnp.where(accepted, better, y),
                h * factor,
                count + 1,
            )

        def runs(state: Any) -> jax.Array:
            return (state[0] < end) & (state[3] < 1000)

        return lax.while_loop(runs, step, (jnp.float32(0), start, jnp.float32(0.1), 0))[1]

    starts = jax.random.normal(jax.random.key(1), (8, 2))
    return jax.jit(jax.vmap(solve, (None, 0, None))), (params, starts, jnp.float32(2.0))


def lstm_step() -> Program:
    """Return a training step of an LSTM that classifies sequences of 100 steps."""
    width = 32
    optimizer = optax.adam(1e-3)
    params = {
        "cell": _dense(jax.random.key(0), 8 + width, 4 * width),
        "head": _dense(jax.random.key(1), width, 2),
    }

    def loss(params: Any, sequences: jax.Array, label: jax.Array) -> jax.Array:
        def cell(state: Any, x: jax.Array) -> Any:
            h, c = state
            i, f, g, o = jnp.split(_apply(params["cell"], jnp.concatenate([x, h], -1)), 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), None

        start = jnp.zeros((len(label), width))
        (h, _), _ = lax.scan(cell, (start, start), sequences.swapaxes(0, 1))
        logits = _apply(params["head"], h)
        return optax.softmax_cross_entropy_with_integer_labels(logits, label).mean()

    batch = jnp.ones((16, 100, 8)), jnp.arange(16) % 2
    return _train_step(loss, optimizer), (params, optimizer.init(params), *batch)


def vae_step() -> Program:
    """Return a training step of a variational autoencoder."""
    optimizer = optax.adam(1e-3)
    params = {
        "encoder": _dense(jax.random.key(0), 784, 128, 40),
        "decoder": _dense(jax.random.key(1), 20, 128, 784),
    }

    def loss(params: Any, x: jax.Array, key: jax.Array) -> jax.Array:
        mean, log_variance = jnp.split(_apply(params["encoder"], x), 2, axis=-1)
        z = mean + jnp.exp(0.5 * log_variance) * jax.random.normal(key, mean.shape)
        logits = _apply(params["decoder"], z)
        likelihood = -optax.sigmoid_binary_cross_entropy(logits, x).sum(-1)
        divergence = -0.5 * jnp.sum(1 + log_variance - mean**2 - jnp.exp(log_variance), -1)
        return jnp.mean(divergence - likelihood)

    x = jax.random.bernoulli(jax.random.key(2), 0.3, (32, 784)).astype(jnp.float32)
    return _train_step(loss, optimizer), (
        params, optimizer.init(params), x, jax.random.key(3),
    )  # fmt: skip


class Transitions(NamedTuple):
    """A batch of transitions from a replay buffer."""

    state: jax.Array
    action: jax.Array
    reward: jax.Array
    new_state: jax.Array
    done: jax.Array


def dqn_update() -> Program:
    """Return an update of a deep Q-network with a target network."""
    optimizer = optax.adam(1e-3)
    params = _dense(jax.random.key(0), 4, 120, 84, 2)

    @jax.jit
    def update(params: Any, target_params: Any, state: Any, batch: Transitions) -> Any:
        best = _apply(target_params, batch.new_state).max(-1)
        target = batch.reward + 0.99 * (1 - batch.done) * best

        def loss(params: Any) -> Any:
            values = _apply(params, batch.state)
            chosen = values[jnp.arange(len(values)), batch.action]
            return jnp.mean((chosen - target) ** 2), chosen

        (value, chosen), gradient = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = optimizer.update(gradient, state)
        params = optax.apply_updates(params, updates)
        target_params = optax.incremental_update(params, target_params, 0.01)
        return params, target_params, state, value, chosen

    states = jax.random.normal(jax.random.key(1), (2, 128, 4))
    action, zeros = jnp.arange(128) % 2, jnp.zeros(128)
    batch = Transitions(states[0], action, zeros + 1, states[1], zeros)
    return update, (params, params, optimizer.init(params), batch)


def policy_update() -> Program:
    """Return an iteration of an actor-critic method, with a rollout, epochs, and minibatches."""
    act, (params, key) = rollout()
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-4))

    def loss(params: Any, batch: Any) -> jax.Array:
        states, action, old, returns = batch
        logits = jax.nn.log_softmax(_apply(params, states))
        ratio = jnp.exp(jnp.take_along_axis(logits, action[:, None], 1)[:, 0] - old)
        gain = (returns - returns.mean()) / (returns.std() + 1e-8)
        clipped = jnp.clip(ratio, 0.8, 1.2)
        entropy = -jnp.mean(jnp.sum(jnp.exp(logits) * logits, -1))
        return -jnp.mean(jnp.minimum(ratio * gain, clipped * gain)) - 0.01 * entropy

    @jax.jit
    def iteration(params: Any, state: Any, key: jax.Array) -> Any:
        key, rollout_key, shuffle_key = jax.random.split(key, 3)
        (states, action, log_prob, _, _), returns = act(params, rollout_key)
        flat = [x.reshape(-1, *x.shape[2:]) for x in (states, action, log_prob, returns)]

        def minibatch(carry: Any, batch: Any) -> Any:
            params, state = carry
            value, gradient = jax.value_and_grad(loss)(params, batch)
            updates, state = optimizer.update(gradient, state, params)
            return (optax.apply_updates(params, updates), state), value

        def epoch(carry: Any, key: jax.Array) -> Any:
            order = jax.random.permutation(key, 2048)
            batches = [x[order].reshape(4, -1, *x.shape[1:]) for x in flat]
            return lax.scan(minibatch, carry, batches)

        (params, state), losses = lax.scan(epoch, (params, state), jax.random.split(shuffle_key, 4))
        return params, state, key, losses

    return iteration, (params, optimizer.init(params), key)


PROGRAMS: dict[str, Callable[[], Program]] = {
    "an MLP": mlp_step,
    "a transformer": transformer_step,
    "a rollout": rollout,
    "an ODE solver": ode_solver,
    "an LSTM": lstm_step,
    "a VAE": vae_step,
    "a DQN": dqn_update,
    "a policy": policy_update,
}


def _seconds(call: Callable[[], object]) -> float:
    """Return the duration of a call in seconds, with all of JAX's caches empty."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    gc.collect()
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def run() -> dict[str, Any]:
    """Measure the first call and the audit of each program alternately."""
    made = {name: make() for name, make in PROGRAMS.items()}
    first: dict[str, list[float]] = {name: [] for name in made}
    whole: dict[str, list[float]] = {name: [] for name in made}
    checks: dict[str, dict[str, float]] = {}
    complete = True
    for _ in range(REPEATS):
        for name, (fn, args) in made.items():
            call = lambda fn=fn, args=args: jax.block_until_ready(fn(*args))  # noqa: E731
            first[name].append(_seconds(call))
            report: list[Any] = []
            whole[name].append(
                _seconds(lambda fn=fn, args=args, report=report: report.append(audit(fn, *args)))
            )
            checks[name] = dict(report[0].seconds)
            complete = complete and not report[0].gaps
    ratios = {name: ratio_quartiles(whole[name], first[name]) for name in made}
    middle = statistics.median(ratio["median"] for ratio in ratios.values())
    results = {f"first call, {name}": quartiles(first[name], "s") for name in made}
    results |= {f"audit, {name}": quartiles(whole[name], "s") for name in made}
    return {
        "results": results,
        "ratios": ratios,
        "series": {
            "median ratio": round_significant(middle, 3),
            "checks": {
                name: {check: round_significant(s, 3) for check, s in parts.items() if s > 0.01}
                for name, parts in checks.items()
            },
        },
        "checks": {
            f"the median audit takes at most {TIMES} times the first call": middle <= TIMES,
            f"no audit takes more than {SECONDS} s": max(map(max, whole.values())) <= SECONDS,
            "no audit leaves anything out": complete,
        },
    }
