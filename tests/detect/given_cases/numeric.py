"""Labeled cases used to tune cast, overflow, and nan."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()
K = jax.random.key(0)
X4 = jnp.arange(4.0)


# =====================================================================  nan
@case("nan", True, jnp.array([1.0, -1.0]))
def nn_log_neg(x):
    return jnp.log(x)


@case("nan", True, jnp.zeros(3))
def nn_div0(x):
    return x / x.sum()


@case("nan", True, jnp.array([0.0, 1.0]))
def nn_where_trap(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0).sum()  # finite value, NaN gradient


@case("nan", True, jnp.zeros(3))
def nn_norm_at_zero(x):
    return jnp.linalg.norm(x)  # NaN gradient at 0


@case("nan", True, jnp.array([-1.0, 2.0]))
def nn_where_log_trap(x):
    return jnp.where(x > 0, jnp.log(x), 0.0).sum()


@case("nan", True, jnp.array([1000.0, 0.0]))
def nn_naive_softmax(x):
    e = jnp.exp(x)
    return e / e.sum()


@case("nan", True, jnp.array([0.5, 1.0]))
def nn_in_scan(x):
    def body(c, v):
        return c - 1.0, jnp.sqrt(c) * v

    return lax.scan(body, 1.5, jnp.ones(4))[1].sum() * x.sum()


@case("nan", True, jnp.array([200.0, -200.0]))
def nn_logistic_overflow(x):
    return jnp.log(1 + jnp.exp(x)).sum()  # infinite in the forward pass


@case("nan", True, jnp.array([1.0, 2.0]))
def nn_latent_where_trap(x):
    # fine with these arguments, but the gradient is NaN if an entry is 0
    return jnp.where(x > 0, x * jnp.log(x), 0.0).sum()


@case("nan", True, jnp.array([0.0, 0.0]))
def nn_pow_grad(x):
    return jnp.sum(x**0.5)  # inf gradient


@case("nan", True, jnp.array([1.0, 1.0]))
def nn_arccos_edge_grad(x):
    return jnp.arccos(x).sum()  # inf gradient at 1


@case("nan", True, jnp.array([[1.0, 1.0], [1.0, 1.0]]))
def nn_svd_degenerate(m):
    return jnp.linalg.eigh(m * 0 + jnp.eye(2))[1].sum()  # repeated eigenvalues


@case("nan", False, jnp.array([0.0, 1.0]))
def nn_double_where_ok(x):
    safe = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(safe), 0.0).sum()


@case("nan", False, jnp.array([1000.0, 0.0]))
def nn_softmax_ok(x):
    return jax.nn.softmax(x)


@case("nan", False, jnp.array([1.0, 2.0, 3.0]))
def nn_masked_softmax_ok(x):
    mask = jnp.array([True, True, False])
    return jax.nn.softmax(jnp.where(mask, x, -jnp.inf))  # -inf on purpose


@case("nan", False, jnp.array([1.0, 3.0]))
def nn_max_reduce_ok(x):
    return jnp.max(x) + jnp.min(x, initial=jnp.inf)  # inf identity element


@case("nan", False, jnp.array([1.0, 2.0]))
def nn_logsumexp_ok(x):
    return jax.scipy.special.logsumexp(x)


@case("nan", False, X4)
def nn_poly_ok(x):
    return (x**3 - x).sum()


@case("nan", False, jnp.array([200.0, -200.0]))
def nn_softplus_ok(x):
    return jax.nn.softplus(x).sum()


# =====================================================================  cast
@case("cast", True, jnp.array([1.5, 3e10, -2.0]))
def cs_overflow(x):
    return x.astype(jnp.int32)


@case("cast", True, jnp.array([jnp.nan, 1.0]))
def cs_nan(x):
    return x.astype(jnp.int32)


@case("cast", True, jnp.array([-1.0, 2.0]))
def cs_negative_to_uint(x):
    return x.astype(jnp.uint8)


@case("cast", True, jnp.array([100, 300]))
def cs_int_narrow(x):
    return x.astype(jnp.int8)


@case("cast", True, jnp.array([300.0, 2.0]))
def cs_pixel(x):
    return jax.jit(lambda v: v.astype(jnp.uint8))(x)


@case("cast", True, X4)
def cs_in_scan(x):
    def body(c, v):
        return c * 1e6, (c * v).astype(jnp.int32)

    return lax.scan(body, 1.0, x)[1]


@case("cast", False, jnp.array([1.5, 2.5]))
def cs_in_range_ok(x):
    return x.astype(jnp.int32)


@case("cast", False, jnp.array([300.0, 2.0]))
def cs_clipped_ok(x):
    return jnp.clip(x, 0, 255).astype(jnp.uint8)


@case("cast", False, jnp.arange(5))
def cs_int_to_float_ok(x):
    return x.astype(jnp.float32)


@case("cast", False, X4)
def cs_bool_ok(x):
    return (x > 1).astype(jnp.int8)


@case("cast", False, K)
def cs_random_bits_ok(k):
    return jax.random.randint(k, (5,), 0, 10)  # uint arithmetic inside the library


# =====================================================================  overflow
@case("overflow", True, jnp.array([2**30, 2**30, 2**30]))
def ov_sum(x):
    return x.sum()


@case("overflow", True, jnp.int32(70000))
def ov_square(n):
    return n * n


@case("overflow", True, jnp.int32(20))
def ov_factorial(n):
    return lax.fori_loop(1, n + 1, lambda i, a: a * i, 1)


@case("overflow", True, jnp.full((4,), 100, jnp.int8))
def ov_int8(x):
    return x + x


@case("overflow", True, jnp.arange(70000))
def ov_cumsum(x):
    return jnp.cumsum(x)


@case("overflow", False, jnp.array([2**20, 3]))
def ov_sum_ok(x):
    return x.sum()


@case("overflow", False, K)
def ov_prng_ok(k):
    return jax.random.bits(k, (4,)) ^ jnp.uint32(7)


@case("overflow", False, jnp.array([1, 2], dtype=jnp.uint32))
def ov_uint_hash_ok(x):
    return x * jnp.uint32(2654435761)  # modular arithmetic on purpose


@case("overflow", False, jnp.int32(10))
def ov_factorial_ok(n):
    return lax.fori_loop(1, n + 1, lambda i, a: a * i, 1)
