"""Test how the analysis of keys computes integers and compares the children of a key."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractMesh, PartitionSpec

from jaxbits import detect
from jaxbits._analysis.key_children import find_equal_children
from jaxbits._analysis.key_uses import find_key_uses
from jaxbits._analysis.known_integers import compute_integers, known_value

normal, split, fold_in = jax.random.normal, jax.random.split, jax.random.fold_in
KEY = jax.random.key(0)
N = jnp.array([3, 1, 2])


@pytest.mark.parametrize("count", [2, 5])
def test_fold_in_returns_children_of_split(count):
    folded = jax.vmap(lambda _: fold_in(KEY, lax.axis_index("i")), axis_name="i")(jnp.ones(count))
    assert (folded == split(KEY, count)).all()


@pytest.mark.parametrize(
    "fn",
    [
        lambda n: n + 1,
        lambda n: 2 * n - 7,
        lambda n: n.astype(jnp.uint8),
        lambda n: (n - 4).astype(jnp.uint32),
        lambda n: lax.rem(n, jnp.int32(2)),
        lambda n: lax.rem(-n, jnp.int32(2)),
        lambda n: n[1:],
        lambda n: lax.slice(n, (0,), (3,), (2,)),
        lambda n: lax.squeeze(n[:1], (0,)),
        lambda n: n.reshape(3, 1),
        lambda n: jnp.broadcast_to(n, (2, 3)),
        lambda n: jnp.broadcast_to(n[:, None], (3, 2)),
        lambda n: jnp.maximum(n, 2),
        lambda n: jnp.minimum(n, jnp.arange(3)),
        lambda n: lax.broadcasted_iota(jnp.int32, (3, 2), 1),
        lambda n: n * jnp.int32(2**30),
    ],
)
def test_integers_are_those_that_jax_computes(fn):
    program = jax.make_jaxpr(fn)(N)
    known = dict(zip(program.jaxpr.invars, [known_value(N)], strict=True))
    for equation in program.jaxpr.eqns:
        operands = [
            known_value(atom.val) if hasattr(atom, "val") else known[atom]
            for atom in equation.invars
        ]
        known[equation.outvars[0]] = compute_integers(equation, operands, {})
    found = known[program.jaxpr.outvars[0]]
    np.testing.assert_array_equal(found.values, fn(N))
    assert found.values.dtype == fn(N).dtype


@pytest.mark.parametrize(
    "value", [1.5, True, None, "a", jnp.ones(3), KEY, jnp.zeros(10_001, int), np.array(["a"])]
)
def test_other_values_are_unknown(value):
    assert known_value(value) is None


def noise_of_device(key, x):
    return x + normal(fold_in(key, lax.axis_index("i")), x.shape)


@pytest.mark.parametrize(("child", "is_equal"), [(0, True), (3, True), (4, False)])
def test_index_of_device_is_compared_with_children(child, is_equal):
    def fn(key, x):
        specs = (PartitionSpec(), PartitionSpec("i"))
        mesh = AbstractMesh((4,), ("i",))
        mapped = jax.shard_map(
            noise_of_device, mesh=mesh, in_specs=specs, out_specs=PartitionSpec("i")
        )
        return mapped(key, x) + normal(split(key, 8)[child])

    uses = find_key_uses(jax.make_jaxpr(fn)(KEY, jnp.ones(8)))
    assert bool(list(find_equal_children(uses))) is is_equal


def first_step_is_special(key, step):
    special, usual = normal(split(key)[0]), normal(fold_in(key, step))
    return jnp.where(step == 0, special, usual)


def first_step_takes_a_branch(key, step):
    return lax.cond(step == 0, lambda: normal(split(key)[0]), lambda: normal(fold_in(key, step)))


@pytest.mark.parametrize("fn", [first_step_is_special, first_step_takes_a_branch])
def test_only_one_of_two_alternatives_is_used(fn):
    assert [found.severity for found in detect.key_reuse(fn, KEY, 0)] == ["note"]


@pytest.mark.parametrize(
    "fn",
    [
        lambda k, i: normal(split(k, 4)[i]) + normal(fold_in(k, i)),
        lambda k, i: normal(split(k)[0]) + normal(fold_in(k, i / 2)),
        lambda k, i: normal(split(k, (2, 2))[0, 0]) + normal(fold_in(k, i)),
        lambda k, i: normal(split(k)[0]) + jax.vmap(normal)(
            jax.vmap(fold_in, (None, 0))(k, jnp.arange(4) + i)[2:]
        ).sum(),
    ],
)  # fmt: skip
def test_children_with_unknown_numbers_are_not_compared(fn):
    assert detect.key_reuse(fn, KEY, 0) == []


def test_finding_names_child_and_advises_to_split_first():
    def fn(key, x):
        row = lambda v: v + normal(fold_in(key, lax.axis_index("batch")))  # noqa: E731
        return jax.vmap(row, axis_name="batch")(x) * normal(split(key)[1])

    (found,) = detect.key_reuse(fn, KEY, jnp.ones(4))
    assert found.message == "one PRNG key is used 2 times"
    assert found.evidence.endswith("from `fold_in(key, 1)`, which equals `split(key)[1]`")
    assert found.fix.startswith("split the key first")
    assert "fold_in" in found.reference
    assert found.place.text.startswith("row = lambda v")


def test_fold_in_of_a_key_that_each_iteration_splits():
    def fn(key):
        def body(key, i):
            key, one = split(key)
            return key, normal(one) + normal(fold_in(one, i))

        return lax.scan(body, key, jnp.arange(4))[1]

    assert detect.key_reuse(fn, KEY) == []


def test_copies_of_a_key_are_this_key() -> None:
    def from_copies(key):
        keys = jnp.broadcast_to(key, (4,))
        return jax.random.normal(keys[1]) + jax.random.normal(jax.random.split(key)[0])

    def from_barrier(key):
        same = jax.lax.optimization_barrier(key)
        return jax.random.normal(same) + jax.random.normal(jax.random.split(key)[0])

    def by_number(key):
        keys = jnp.broadcast_to(key, (4,))
        return jax.vmap(lambda k, n: jax.random.normal(jax.random.fold_in(k, n)))(
            keys, jnp.arange(4)
        )

    assert len(detect.key_reuse(from_copies, jax.random.key(0))) == 1
    assert len(detect.key_reuse(from_barrier, jax.random.key(0))) == 1
    assert detect.key_reuse(by_number, jax.random.key(0)) == []
