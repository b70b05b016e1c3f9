"""Test the benchmarks that use the library's internals, because they run only on request."""

from __future__ import annotations

import runpy
from pathlib import Path

import jax.numpy as jnp

from jaxbits import detect

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_audit_cost_times_every_check() -> None:
    benchmark = runpy.run_path(str(BENCHMARKS / "audit_cost.py"))
    parts = benchmark["_parts"](lambda x: x * 2, (jnp.ones(3),))
    assert list(parts) == ["the trace", *detect.detectors()]
