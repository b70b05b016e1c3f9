"""Right and wrong answers to the exercises on control flow."""

import jax
import jax.numpy as jnp
from jax import lax


def huber_by_if(error, width):
    if abs(error) <= width:
        return error**2 / 2
    return width * (abs(error) - width / 2)


def huber_by_cond(error, width):
    size = jnp.abs(error)
    return lax.cond(size <= width, lambda: error**2 / 2, lambda: width * (size - width / 2))


def huber_by_item(error, width):
    size = abs(error.item()) if not isinstance(error, jax.core.Tracer) else jnp.abs(error)
    return jnp.where(size <= width, error**2 / 2, width * (size - width / 2))


def huber_signed(error, width):
    return jnp.where(jnp.abs(error) <= width, error**2 / 2, width * (error - width / 2))


def huber_by_any(error, width):
    size = jnp.abs(error)
    return jnp.where((size <= width).all(), error**2 / 2, width * (size - width / 2))


def huber_squared_outside(error, width):
    return jnp.where(jnp.abs(error) <= width, error**2 / 2, width * jnp.abs(error))


huber_squared_outside.__name__ = "f"


def huber_by_minimum(error, width):
    size = jnp.abs(error)
    short = jnp.minimum(size, width)
    return short * (size - short / 2)


def huber_by_select(error, width):
    return jnp.select(
        [error > width, error < -width],
        [width * (error - width / 2), -width * (error + width / 2)],
        error**2 / 2,
    )


def huber_with_stop_gradient(error, width):
    size = jnp.abs(lax.stop_gradient(error))
    return jnp.where(size <= width, error**2 / 2, width * (size - width / 2))


def huber_by_sqrt(error, width):
    size = jnp.sqrt(error**2)
    return jnp.where(size <= width, error**2 / 2, width * (size - width / 2))


def huber_vectorized(error, width):
    def scalar_huber(e, w):
        return lax.cond(jnp.abs(e) <= w, lambda: e**2 / 2, lambda: w * (jnp.abs(e) - w / 2))

    return jnp.vectorize(scalar_huber)(error, width)


def huber_by_clipping(error, width):
    inside = jnp.clip(error, -width, width)
    return inside**2 / 2 + width * (jnp.abs(error) - jnp.abs(inside))


def root_by_python_loop(a, steps):
    x = a * 1.0
    for _ in range(steps):
        x = (x + a / x) / 2
    return x


def root_with_too_many_steps(a, steps):
    return lax.fori_loop(0, steps * 2, lambda _, x: (x + a / x) / 2, a * 1.0)


def root_from_one(a, steps):
    return lax.fori_loop(0, steps, lambda _, x: (x + a / x) / 2, jnp.ones_like(a, float))


def root_by_scan_over_arange(a, steps):
    start = jnp.asarray(a).astype(float)
    return lax.scan(lambda x, n: ((x + a / x) / 2, n), start, jnp.arange(steps), unroll=1)[0]


def root_by_while(a, steps):
    start = (0, a * 1.0)
    return lax.while_loop(
        lambda s: s[0] < steps, lambda s: (s[0] + 1, (s[1] + a / s[1]) / 2), start
    )[1]


def root_unrolled(a, steps):
    return lax.fori_loop(0, steps, lambda _, x: (x + a / x) / 2, a * 1.0, unroll=True)


def root_by_scan(a, steps):
    start = jnp.asarray(a, jnp.float32)
    return lax.scan(lambda x, _: ((x + a / x) / 2, None), start, length=steps)[0]


def cool_by_while(heat, limit, most):
    return lax.while_loop(
        lambda s: (s[0] > limit) & (s[1] < most), lambda s: (s[0] / 2, s[1] + 1), (heat, 0)
    )


def cool_by_python(heat, limit, most):
    count = 0
    while heat > limit and count < most:
        heat, count = heat / 2, count + 1
    return heat, count


def cool_without_limit(heat, limit, most):
    return lax.scan(lambda s, _: ((s[0] / 2, s[1] + 1), None), (heat, 0), length=most)[0]


def cool_also_at_limit(heat, limit, most):
    def halve(state, _):
        hot = state[0] >= limit
        return (jnp.where(hot, state[0] / 2, state[0]), state[1] + hot), None

    return lax.scan(halve, (heat, jnp.int32(0)), length=most)[0]


def cool_ignoring_most(heat, limit, most):
    return cool_also_at_limit(heat, limit + 1e-6, 10)


def cool_counting_every_iteration(heat, limit, most):
    def halve(state, _):
        return (jnp.where(state[0] > limit, state[0] / 2, state[0]), state[1] + 1), None

    return lax.scan(halve, (heat, jnp.int32(0)), length=most)[0]


def cool_by_powers(heat, limit, most):
    powers = 2.0 ** jnp.arange(most + 1)
    count = (heat / powers[:-1] > limit).sum()
    return heat / powers[count], count


def cool_by_logarithm(heat, limit, most):
    count = jnp.clip(jnp.ceil(jnp.log2(heat / limit)), 0, most)
    return heat / 2**count, count.astype(jnp.int32)


def cool_unrolled(heat, limit, most):
    count = jnp.int32(0)
    for _ in range(most):
        hot = heat > limit
        heat, count = jnp.where(hot, heat / 2, heat), count + hot
    return heat, count


def cool_by_cond(heat, limit, most):
    def body(_, state):
        return lax.cond(state[0] > limit, lambda s: (s[0] / 2, s[1] + 1), lambda s: s, state)

    return lax.fori_loop(0, most, body, (heat, 0))


WRONG = {
    "control-flow/1": [
        (huber_by_if, "under jit, huber_by_if(error=-3.0"),
        (huber_by_cond, "raises TypeError: Pred must be a scalar"),
        (lambda error, width: error**2 / 2, "must return 2.5"),
        (huber_squared_outside, "f(error=-3.0, width=1.0) must return 2.5"),
        (huber_signed, "must return 2.5, got -3.5"),
        (huber_by_any, "each element must select its own piece"),
        (
            huber_with_stop_gradient,
            "beyond the width, the gradient is the width with the sign of the error",
        ),
        (huber_by_item, "raises ValueError"),
        (huber_by_sqrt, "the unused piece also needs a finite gradient"),
    ],
    "control-flow/2": [
        (root_by_python_loop, "JAX unrolls the loop"),
        (root_unrolled, "JAX unrolls the loop"),
        (root_with_too_many_steps, "must return 5.0, got 3.4"),
        (root_from_one, "after 0 steps, x is still equal to a"),
        (root_by_while, "Reverse-mode differentiation does not work"),
        (
            lambda a, steps: lax.fori_loop(0, steps, lambda _, x: (x + a / x) / 2, a),
            "have equal types",
        ),
        (lambda a, steps: jnp.sqrt(a), "after 0 steps, x is still equal to a"),
    ],
    "control-flow/3": [
        (cool_by_while, "Reverse-mode differentiation does not work"),
        (cool_by_python, "under jit, cool_by_python(heat=40.0"),
        (cool_without_limit, "stop as soon as the heat is no longer above the limit"),
        (cool_also_at_limit, "heat that is equal to the limit is not above it"),
        (cool_ignoring_most, "halve at most four times"),
        (cool_counting_every_iteration, "must return (5.0, 3), got (5.0, 10)"),
        (cool_unrolled, "JAX unrolls the loop"),
        (cool_by_logarithm, "the heat is slightly more than 8 times the limit"),
        (lambda heat, limit, most: heat / 2, "the result must be a pair (heat, count), got 20.0"),
    ],
}
RIGHT = [
    ("control-flow/1", huber_by_minimum),
    ("control-flow/1", huber_by_select),
    ("control-flow/2", root_by_scan_over_arange),
    ("control-flow/3", cool_by_powers),
    ("control-flow/1", huber_vectorized),
    ("control-flow/1", huber_by_clipping),
    ("control-flow/2", root_by_scan),
    ("control-flow/3", cool_by_cond),
]
