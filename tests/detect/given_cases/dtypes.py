"""Labeled cases used to tune promotion, x64, and carry."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()

X4 = jnp.arange(4.0)


# x64
@case("x64", True, X4)
def x6_astype(x):
    return x.astype(jnp.float64)


@case("x64", True, X4)
def x6_zeros(x):
    return x + jnp.zeros(4, dtype="float64")


@case("x64", True, np.array([1.0, 1e-12 + 1.0]))
def x6_np_float64_arg(x):
    return jnp.asarray(x) - 1.0


@case("x64", True, np.array([2**40, 3]))
def x6_np_int64_overflow(x):
    return jnp.asarray(x) + 1


_EPOCHS = np.array([1_700_000_000_000, 1_700_000_000_001])


@case("x64", True, X4)
def x6_captured_int64(x):
    return x.sum() + jnp.asarray(_EPOCHS)[0]


@case("x64", True, X4)
def x6_float64_captured_precision(x):
    big = np.array([16777217.0])  # 2**24 + 1
    return x + big


@case("x64", True, X4)
def x6_np_float64_scalar(x):
    return x.sum() + jnp.float64(1e-17)


@case("x64", False, X4)
def x6_float32_ok(x):
    return x.astype(jnp.float32)


@case("x64", False, np.arange(4, dtype=np.float32))
def x6_np32_ok(x):
    return jnp.asarray(x) * 2


@case("x64", False, X4)
def x6_python_float_ok(x):
    return x * 0.1


@case("x64", False, np.array([1, 2, 3], dtype=np.int32))
def x6_np_int32_ok(x):
    return jnp.asarray(x) + 1


@case("x64", False, X4)
def x6_float_dtype_ok(x):
    return x.astype(float)  # `float` means "default float": no warning in jax


# promotion
BF = jnp.ones(4, jnp.bfloat16)
F16 = jnp.ones(4, jnp.float16)


@case("promotion", True, BF)
def pr_np_scalar(x):
    return x * np.float32(2.0)  # bf16 -> f32


@case("promotion", True, BF)
def pr_jnp_array_const(x):
    return x + jnp.array(1.0, jnp.float32)


@case("promotion", True, BF)
def pr_np_sqrt(x):
    return x / np.sqrt(8.0)  # np.float64 scalar -> f32


@case("promotion", True, F16, BF)
def pr_f16_bf16(a, b):
    return a + b  # f32


@case("promotion", True, BF)
def pr_hidden_upcast_back(x):
    y = x * np.float32(0.5)  # computes in f32 ...
    return y.astype(jnp.bfloat16)  # ... and hides it at the end


@case("promotion", False, jnp.arange(4, dtype=jnp.int8))
def pr_int8_int32(x):
    return x + jnp.arange(4)


@case("promotion", True, BF)
def pr_mixed_params(x):
    w = jnp.ones((4, 4))  # forgot dtype=: float32 params in a bf16 net
    return x @ w


@case("promotion", True, BF)
def pr_inside_scan(x):
    def body(c, v):
        return c, v * np.float32(2.0)

    return lax.scan(body, 0.0, x)[1]


@case("promotion", False, BF)
def pr_python_scalar_ok(x):
    return x * 2.0


@case("promotion", False, BF)
def pr_explicit_ok(x):
    return jnp.sum(x.astype(jnp.float32))


@case("promotion", False, X4)
def pr_f32_ok(x):
    return x * np.float32(2) + 1


@case("promotion", False, BF)
def pr_same_dtype_ok(x):
    return x + jnp.array(1.0, x.dtype)


@case("promotion", False, BF)
def pr_preferred_ok(x):
    return jnp.dot(x, x, preferred_element_type=jnp.float32)


@case("promotion", False, BF)
def pr_softmax_internal_ok(x):
    return jax.nn.softmax(x) + jnp.mean(x)  # JAX accumulates in f32 on purpose


@case("promotion", False, jnp.arange(4))
def pr_int_to_float_ok(x):
    return x / 2  # documented conversion from int to float


# carry
@case("carry", True, (X4, 0))
def ca_weak_step(state):
    x, step = state
    return x * 2, jnp.asarray(step) + jnp.int32(1)  # weak int -> strong int


@case("carry", True, {"w": F16, "loss": jnp.float16(0)})
def ca_f16_to_f32(s):
    w = s["w"] - 0.1
    return {"w": w, "loss": jnp.sum(w.astype(jnp.float32))}


@case("carry", True, jnp.ones(1))
def ca_shape_grows(x):
    return jnp.concatenate([x, x])


@case("carry", True, (X4, None))
def ca_none_to_array(s):
    x, m = s
    return x, (x if m is None else m + x)


@case("carry", True, [X4, X4])
def ca_list_to_tuple(s):
    return (s[0] + 1, s[1])


@case("carry", True, jnp.arange(4), X4)
def ca_int_state(n, g):
    return n - 0.1 * g  # int32 state becomes float32


@case("carry", True, 0.0, X4)
def ca_python_float_state(loss, x):
    return loss + x.sum()  # weak float32[] in, strong float32[] out


def _lbfgs_f16():
    opt = optax.lbfgs(linesearch=None)
    params = jnp.ones(4, jnp.float16)

    def update(state, params, g):
        _, new = opt.update(
            g,
            state,
            params,
            value=jnp.float32(1.0),
            grad=g,
            value_fn=lambda p: jnp.sum(p.astype(jnp.float32)),
        )
        return new

    return update, opt.init(params), params, jnp.ones(4, jnp.float32)


add("carry", True, *_lbfgs_f16())


def _lbfgs_linesearch():
    opt = optax.lbfgs()
    params = jnp.ones(4, jnp.float16)

    def loss(p):
        return jnp.sum(p.astype(jnp.float32) ** 2)  # f32 value, f16 params

    def update(state, params):
        v, g = optax.value_and_grad_from_state(loss)(params, state=state)
        _, new = opt.update(g, state, params, value=v, grad=g, value_fn=loss)
        return new

    return update, opt.init(params), params


add("carry", True, *_lbfgs_linesearch())


@case("carry", False, (X4, jnp.int32(0)))
def ca_step_ok(state):
    x, step = state
    return x * 2, step + 1


@case("carry", False, {"w": F16})
def ca_f16_ok(s):
    return {"w": s["w"] - 0.1}


@case("carry", False, (X4, X4))
def ca_aux_ok(s):
    return (s[0], s[1] + 1), s[0].sum()


def _adam():
    opt = optax.adam(1e-3)
    p = {"w": jnp.ones(4)}

    def update(state, p):
        g = jax.grad(lambda q: (q["w"] ** 2).sum())(p)
        _, state = opt.update(g, state, p)
        return state

    return update, opt.init(p), p


add("carry", False, *_adam())


@case("carry", False, X4, jnp.float32(1))
def ca_not_a_state_ok(x, s):
    return (x * s).sum()  # output is not a new `x`: nothing to compare
