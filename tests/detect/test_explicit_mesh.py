"""Test that an audit examines programs with an explicit mesh, including parts without it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from jaxbits import audit

MESH = jax.make_mesh((1,), ("rows",), axis_types=(AxisType.Explicit,))
ROWS = NamedSharding(MESH, PartitionSpec("rows"))
TABLE = jnp.arange(3.0)


def array(values):
    return jax.device_put(np.asarray(values, np.float32), ROWS)


def indices(values):
    return jax.device_put(np.asarray(values, np.int32), ROWS)


def masked_sum(x):
    return jnp.where(x > 1, x, 0.0).sum()


def masked_sum_without_explicit_mesh(x):
    mask = jax.sharding.auto_axes(lambda x: (x > 1).astype(x.dtype), out_sharding=ROWS)(x)
    return (x * mask).sum()


def scanned(x):
    def body(carry, row):
        part = jax.sharding.auto_axes(lambda v: v * 2, out_sharding=PartitionSpec())(row)
        return carry + part, part

    return jax.lax.scan(body, jnp.float32(0.0), jax.sharding.reshard(x, PartitionSpec()))


@pytest.mark.parametrize("f", [masked_sum, masked_sum_without_explicit_mesh, scanned])
def test_clean_program_with_explicit_mesh_is_examined(f):
    with jax.set_mesh(MESH):
        report = audit(jax.jit(f), array([0.0, 1.0, 2.0, 3.0]))
    assert not report.gaps, str(report)
    assert report.ok, str(report)


def reads_outside(x, i):
    return TABLE.at[i].get(out_sharding=ROWS) + x


def reads_outside_without_explicit_mesh(x, i):
    read = jax.sharding.auto_axes(lambda i: TABLE[i], out_sharding=ROWS)
    return read(i) + x


def reads_outside_in_scan(x, i):
    def body(carry, row):
        part = jax.sharding.auto_axes(lambda v: TABLE[v], out_sharding=PartitionSpec())(row)
        return carry + part, part

    return jax.lax.scan(body, x[0], jax.sharding.reshard(i, PartitionSpec()))


@pytest.mark.parametrize(
    "f", [reads_outside, reads_outside_without_explicit_mesh, reads_outside_in_scan]
)
def test_out_of_bounds_read_with_explicit_mesh_is_found(f):
    with jax.set_mesh(MESH):
        x = jax.device_put(np.ones(4, np.float32), NamedSharding(MESH, PartitionSpec()))
        report = audit(jax.jit(f), x, indices([0, 1, 2, 7]), checks=["out_of_bounds"])
    assert not report.gaps, str(report)
    assert [finding.check for finding in report.findings] == ["out_of_bounds"], str(report)


def test_mesh_is_the_same_after_an_audit():
    before = repr(MESH), hash(MESH), MESH.axis_types, MESH.size
    with jax.set_mesh(MESH):
        audit(jax.jit(lambda x: jax.lax.with_sharding_constraint(x * 2, ROWS)), array([1.0, 2.0]))
    assert (repr(MESH), hash(MESH), MESH.axis_types, MESH.size) == before
