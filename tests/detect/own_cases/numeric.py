"""Labeled cases for cast, overflow, and nan, written before the detectors ran on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()
KEY = jax.random.key(7)
X = jnp.array([0.5, 1.5, 2.5])


# ---------------------------------------------------------------------- cast
@case("cast", True, jnp.array([0.2, -0.7, 1.3]))
def image_to_bytes(img):
    return (img * 255).astype(jnp.uint8)


@case("cast", True, jnp.array([1e5, 2.0]))
def half_overflows(x):
    return x.astype(jnp.float16)


@case("cast", True, jnp.array([2**24 + 1, 3]))
def whole_number_too_fine_for_float32(i):
    return i.astype(jnp.float32)


@case("cast", True, jnp.arange(1000))
def positions_in_bfloat16(i):
    return i.astype(jnp.bfloat16)


@case("cast", True, jnp.array([1.0, 0.0]))
def divided_by_zero_then_int(x):
    return jnp.int32(x / x[1])


@case("cast", True, jnp.array([5.0, 1e12]))
def asarray_with_dtype(x):
    return jnp.asarray(x, dtype=jnp.int32)


@case("cast", True, jnp.array([-3, 4]))
def signed_to_unsigned(i):
    return i.astype(jnp.uint32)


@case("cast", True, jnp.array([4000000000, 1], dtype=jnp.uint32))
def unsigned_to_signed(i):
    return i.astype(jnp.int32)


@case("cast", True, jnp.array([3.7, 250.0, 260.0]))
def under_vmap(x):
    return jax.vmap(lambda v: lax.convert_element_type(v, jnp.int8))(x)


@case("cast", True, jnp.float32(5.0))
def in_a_branch(x):
    return lax.cond(x > 1, lambda v: (v * 1e9).astype(jnp.int32), lambda v: jnp.int32(0), x)


@case("cast", True, jnp.float32(2.0))
def in_a_while(x):
    def body(s):
        v, i, _ = s
        return v * 10, i + 1, v.astype(jnp.int16)

    return lax.while_loop(lambda s: s[1] < 6, body, (x, 0, jnp.int16(0)))[2]


@case("cast", True, jnp.array([10, 20, 30]))
def fraction_set_into_whole_numbers(i):
    return i.at[1].set(2.75)


@case("cast", True, jnp.array([100000, 1]))
def whole_to_half(i):
    return i.astype(jnp.float16) * 2


@case("cast", True, jnp.array([-1.0, 4.0]))
def log_then_index(x):
    return jnp.floor(jnp.log2(x)).astype(jnp.int32)


@case("cast", True, jnp.array([300, 5]))
def jitted_inside(x):
    narrow = jax.jit(lambda v: v.astype(jnp.uint8))
    return narrow(x).sum()


@case("cast", False, jnp.array([0.2, -0.7, 1.3]))
def image_to_bytes_clipped(img):
    return jnp.clip(jnp.round(img * 255), 0, 255).astype(jnp.uint8)


@case("cast", False, jnp.array([1.7, -2.2]))
def truncated(x):
    return jnp.floor(x).astype(jnp.int32)


@case("cast", False, X)
def mixed_precision(x):
    return (x.astype(jnp.bfloat16) * 2).astype(jnp.float32)


@case("cast", False, X)
def half_in_range(x):
    return x.astype(jnp.float16)


@case("cast", False, jnp.array([jnp.nan, 3.0]))
def nan_replaced_first(x):
    return jnp.nan_to_num(x).astype(jnp.int32)


@case("cast", False, jnp.array([jnp.nan, 3.0]))
def nan_masked(x):
    return jnp.where(jnp.isnan(x), -1, x.astype(jnp.int32))


@case("cast", False, jnp.array([200, 100], dtype=jnp.uint8))
def widened(img):
    return img.astype(jnp.int32) + img.astype(jnp.float32)


@case("cast", False, KEY)
def bits_to_floats(k):
    return jax.random.bits(k, (5,)).astype(jnp.float32) / 2.0**32


@case("cast", False, X)
def one_hot_and_argmax(x):
    return jax.nn.one_hot(jnp.argmax(x), 3).astype(jnp.int8)


@case("cast", False, jnp.linspace(0.0, 1.0, 9))
def into_bins(x):
    return jnp.clip((x * 10).astype(jnp.int32), 0, 9), jnp.digitize(x, jnp.linspace(0, 1, 4))


@case("cast", False, X)
def bitcast(x):
    return lax.bitcast_convert_type(x, jnp.uint32) >> 23


@case("cast", False, KEY)
def random_numbers(k):
    a, b, c = jax.random.split(k, 3)
    picks = jax.random.choice(a, 10, (3,)), jax.random.permutation(b, 5)
    return picks, jax.random.categorical(c, jnp.zeros(4)), jax.random.bernoulli(c, 0.5, (3,))


@case("cast", False, jnp.array([7, 12]))
def integer_mean(i):
    return i.mean(), i / 3, i // 2


@case("cast", False, jnp.array([1.0, 2.0]))
def infinity_kept_as_infinity(x):
    return jnp.where(x > 1, jnp.inf, x).astype(jnp.float16)


@case("cast", False, jnp.arange(5))
def step_schedule(i):
    return jnp.int32(jnp.float32(i) ** 2 / 3)


# ---------------------------------------------------------------------- overflow
@case("overflow", True, jnp.array([200, 100], dtype=jnp.uint8), jnp.array([100, 100], jnp.uint8))
def images_added(a, b):
    return a + b


@case("overflow", True, jnp.array([10, 100], dtype=jnp.uint8), jnp.array([20, 100], jnp.uint8))
def images_subtracted(a, b):
    return a - b


@case("overflow", True, jnp.arange(100000))
def sum_of_squares(i):
    return (i**2).sum()


@case("overflow", True, jnp.arange(1, 21))
def product(i):
    return jnp.prod(i)


@case("overflow", True, jnp.full((3, 3), 50000))
def matrix_product(m):
    return m @ m


@case("overflow", True, jnp.array([-(2**31), 5]))
def absolute_of_least(i):
    return jnp.abs(i)


@case("overflow", True, jnp.uint32(0))
def below_zero(n):
    return n - jnp.uint32(1)


@case("overflow", True, jnp.int32(2**31 - 1))
def plus_one(n):
    return jax.jit(lambda v: v + 1)(n)


@case("overflow", True, jnp.int32(1))
def fibonacci(n):
    def body(c, _):
        return (c[1], c[0] + c[1]), c[0]

    return lax.scan(body, (n, n), None, length=60)[1]


@case("overflow", True, jnp.int32(40))
def shifted(n):
    return jnp.int32(3) << (n - 10)


@case("overflow", True, jnp.array([5000, 7000]))
def seconds_to_microseconds(s):
    return s * 1_000_000


@case("overflow", True, jnp.array([100, 100], dtype=jnp.int8))
def sum_in_int8(x):
    return jnp.sum(x, dtype=jnp.int8)


@case("overflow", True, jnp.array([100000, 7]))
def under_vmap_squared(x):
    return jax.vmap(lambda v: v * v % 97)(x)


@case("overflow", True, jnp.array([300.0, 2.0], dtype=jnp.float16))
def half_squared(x):
    return (x * x).sum()


@case("overflow", True, jnp.full((64, 64), 255, jnp.uint8))
def scatter_add_bytes(img):
    return jnp.zeros(3, jnp.uint8).at[jnp.zeros(4096, int)].add(img.ravel())


@case("overflow", True, jnp.int32(100000))
def while_condition(n):
    return lax.while_loop(lambda i: (i * i < n) & (i < 50_000), lambda i: i + 49_000, jnp.int32(1))


@case("overflow", True, jnp.int32(3))
def numpy_scalar(n):
    return n + int(np.int8(100) + np.int8(100))


@case("overflow", False, jnp.array([200, 100], dtype=jnp.uint8))
def images_widened(a):
    return a.astype(jnp.int32) + a.astype(jnp.int32)


@case("overflow", False, jnp.array([1, 2, 3], dtype=jnp.uint32))
def xorshift(s):
    s = s ^ (s << 13)
    s = s ^ (s >> 17)
    return s ^ (s << 5)


@case("overflow", False, jnp.uint32(2463534242))
def linear_congruential(s):
    return lax.fori_loop(0, 5, lambda i, v: v * jnp.uint32(1664525) + jnp.uint32(1013904223), s)


@case("overflow", False, jnp.array([104, 101, 108], dtype=jnp.uint32))
def fnv(data):
    def body(h, c):
        return (h ^ c) * jnp.uint32(16777619), None

    return lax.scan(body, jnp.uint32(2166136261), data)[0]


@case("overflow", False, jnp.arange(40, dtype=jnp.uint32) + 60)
def polynomial_hash(data):
    return lax.scan(lambda h, c: (h * jnp.uint32(31) + c, None), jnp.uint32(7), data)[0]


@case("overflow", False, jnp.int32(123456789))
def masked_lcg(s):
    return (s * 1103515245 + 12345) & 0x7FFFFFFF


@case("overflow", False, jnp.uint32(77))
def murmur_finish(h):
    h = h ^ (h >> 16)
    h = h * jnp.uint32(0x85EBCA6B)
    h = h ^ (h >> 13)
    h = h * jnp.uint32(0xC2B2AE35)
    return h ^ (h >> 16)


@case("overflow", False, KEY)
def shuffles_and_folds(k):
    k = jax.random.fold_in(k, 12345)
    return jax.random.permutation(k, 10), jax.random.randint(k, (4,), -5, 2**30)


@case("overflow", False, jnp.arange(1000))
def sum_in_range(i):
    return (i * i).sum(), jnp.cumsum(i), i @ i


@case("overflow", False, jnp.array([2**31 - 5, 10]), jnp.array([100, 10]))
def saturating(a, b):
    top = jnp.int32(2**31 - 1)
    return jnp.where(a > top - b, top, a + b)


@case("overflow", False, jnp.array([5, -7]))
def negative_and_abs(i):
    return -i, jnp.abs(i), i - 3, i // 2, i % 3


@case("overflow", False, jnp.arange(12.0), jnp.array([-1, 3]))
def indices(x, i):
    return x[i], x[-2:], jnp.take(x, i, mode="wrap"), x.at[i].add(1.0)


@case("overflow", False, jnp.array([1e30, 2.0]))
def large_floats(x):
    return x * 10


@case("overflow", False, jnp.array([100.0, -100.0]))
def own_sigmoid(x):
    return 1 / (1 + jnp.exp(-x))


@case("overflow", False, jnp.array([12, 6, 255], dtype=jnp.uint8))
def lowest_bit(b):
    return b & (~b + jnp.uint8(1))


@case("overflow", False, jnp.array([3, 1, 2]))
def counting(i):
    return jnp.bincount(i, length=5), jnp.argsort(i), jnp.unique(i, size=3), jnp.sort(i)


@case("overflow", False, jnp.array([0x12345678], dtype=jnp.uint32))
def rotate_left(v):
    return (v << 7) | (v >> 25)


@case("overflow", False, jnp.full((3,), -100, jnp.int8))
def widened_sum(v):
    return v.sum(), jnp.mean(v), v.astype(jnp.int16) * 2


# ---------------------------------------------------------------------- nan
@case("nan", True, jnp.array([3.0, 3.0, 3.0]))
def std_of_equal_values(x):
    return jnp.std(x)


@case("nan", True, jnp.array([[0.0, 0.0], [1.0, 2.0]]))
def pairwise_distances(x):
    d = x[:, None] - x[None]
    return jnp.sqrt((d**2).sum(-1)).sum()


@case("nan", True, jnp.array([0.0, 0.5]))
def entropy(p):
    return -(p * jnp.log(p)).sum()


@case("nan", True, jnp.array([0.5, 2.0]))
def sinc_by_hand(x):
    return jnp.where(x == 0, 1.0, jnp.sin(x) / x).sum()


@case("nan", True, jnp.array([1.0, 2.0]), jnp.array([False, False]))
def masked_mean(x, mask):
    return jnp.where(mask, x, 0.0).sum() / mask.sum()


@case("nan", True, jnp.array([1.0, 4.0]))
def sqrt_where_not_negative(x):
    return jnp.where(x >= 0, jnp.sqrt(x), 0.0).sum()


@case("nan", True, jnp.zeros((2, 2)))
def inverse_of_singular(m):
    return jnp.linalg.inv(m)


@case("nan", True, jnp.array([[1.0, 2.0], [2.0, 1.0]]))
def cholesky_of_indefinite(m):
    return jnp.linalg.cholesky(m)


@case("nan", True, jnp.array([1.0, 2.0]))
def all_masked_softmax(x):
    return jax.nn.softmax(jnp.where(jnp.zeros(2, bool), x, -jnp.inf))


@case("nan", True, jnp.array([0.0, 0.0]))
def angle_at_origin(v):
    return jnp.arctan2(v[0], v[1])


@case("nan", True, jnp.array([0.0, 1.0]))
def gradient_step(x):
    return x - 0.1 * jax.grad(lambda v: jnp.sqrt(v).sum())(x)


@case("nan", True, jnp.array([1.0, 2.0]))
def guarded_exponential(x):
    return jnp.where(x < 80, jnp.exp(x), 0.0).sum()


@case("nan", True, jnp.float32(1.0))
def diverging_loop(x):
    return lax.fori_loop(0, 200, lambda i, v: v * v + 1.0, x)


@case("nan", True, jnp.array([0.0, 2.0]))
def reciprocal(x):
    return 1.0 / x


@case("nan", True, jnp.array([2.0, 100.0]))
def unit_vector_of_nothing(x):
    d = x - x
    return d / jnp.linalg.norm(d)


@case("nan", True, jnp.float32(-1.0))
def only_in_the_taken_branch(x):
    return lax.cond(x > 0, lambda v: v, lambda v: jnp.log(v), x)


@case("nan", True, jnp.array([0.0, 1.0]))
def cross_entropy_of_probabilities(p):
    y = jnp.array([1.0, 0.0])
    return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))


@case("nan", False, jnp.array([0.5, 2.0]))
def sinc_safe(x):
    safe = jnp.where(x == 0, 1.0, x)
    return jnp.where(x == 0, 1.0, jnp.sin(safe) / safe).sum()


@case("nan", False, jnp.zeros(3))
def norm_with_epsilon(x):
    return jnp.sqrt((x**2).sum() + 1e-6)


@case("nan", False, jnp.array([1.0, 2.0, 4.0]))
def z_score(x):
    return (x - x.mean()) / (x.std() + 1e-6)


@case("nan", False, jnp.array([1.0, jnp.nan, 3.0]))
def mean_without_nan(x):
    return jnp.nanmean(x)


@case("nan", False, jnp.array([1.0, jnp.nan, 3.0]))
def nan_as_missing(x):
    return jnp.where(jnp.isnan(x), 0.0, x).sum()


@case("nan", False, jnp.array([[1.0, 2.0], [0.5, 0.1]]))
def causal_attention(s):
    mask = jnp.tril(jnp.ones_like(s, dtype=bool))
    return jax.nn.softmax(jnp.where(mask, s, -jnp.inf)) @ s


@case("nan", False, jnp.array([0.5, 0.2]))
def clipped_log(p):
    return -jnp.log(jnp.clip(p, 1e-7, 1.0)).sum()


@case("nan", False, jnp.array([1.0, 2.0]), jnp.array([False, False]))
def masked_mean_guarded(x, mask):
    return jnp.where(mask, x, 0.0).sum() / jnp.maximum(mask.sum(), 1)


@case("nan", False, jnp.array([0.0, 2.0]))
def branch_instead_of_where(x):
    half = lambda v: lax.cond(v > 0, jnp.sqrt, lambda w: 0.0 * w, v)  # noqa: E731
    return half(x[0]) + half(x[1])


@case("nan", False, jnp.array([800.0, -800.0]))
def log_sigmoid(x):
    return jax.nn.log_sigmoid(x).sum() + jax.nn.log_softmax(x)[0]


@case("nan", False, jnp.array([3.0, 1.0, 2.0]))
def best_so_far(x):
    return lax.fori_loop(0, 3, lambda i, b: jnp.minimum(b, x[i]), jnp.inf)


@case("nan", False, jnp.array([1.0, -2.0]))
def masked_with_infinity(x):
    return jnp.where(x > 0, x, -jnp.inf)


@case("nan", False, jnp.array([1.0, -2.0]))
def relu_and_abs(x):
    return jax.nn.relu(x).sum() + jnp.abs(x).sum() + jax.nn.gelu(x).sum() + jax.nn.elu(x).sum()


@case("nan", False, jnp.array([1.0, 2.0]))
def division_by_constants(x):
    return (x / jnp.sqrt(jnp.float32(x.shape[0])) / 3.0).sum()


@case("nan", False, jnp.array([2.0, 3.0]))
def where_without_danger(x):
    return jnp.where(x > 2, x**2, -x).sum() / x.sum()


@case("nan", False, jnp.ones((4, 8)), jnp.ones(8) * 0.1)
def layer_norm_loss(x, w):
    h = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    return jnp.mean(jnp.square(h @ w - 1.0))


@case("nan", False, jnp.array([100.0, -100.0]))
def sigmoid_of_the_library(x):
    return jax.nn.sigmoid(x).sum()


@case("nan", False, jnp.ones(3), jnp.array([0, 2]))
def cross_entropy(logits, label):
    return -jax.nn.log_softmax(logits)[label].mean()


@case("nan", False, KEY)
def gaussian_sample(k):
    return jax.random.normal(k, (3,)).sum() + jax.random.gumbel(k, (2,)).sum()
