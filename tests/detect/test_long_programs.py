"""Test that an audit of a long program neither fails nor ends the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jaxbits import _jax_compat

CAST = """
import jax.numpy as jnp
from jaxbits import detect

def run(x):
    for step in range(3_000):
        x = jnp.sin(x) * 0.5 + step
    return x.astype(int)

print([finding.check for finding in detect.cast(run, jnp.ones(8))])
"""


def test_long_programs_keep_the_fusion_emitters() -> None:
    assert "xla_cpu_use_fusion_emitters" not in _jax_compat.quick_cpu_options(10_000)


@pytest.mark.slow
def test_check_of_long_program_does_not_end_process() -> None:
    done = subprocess.run([sys.executable, "-c", CAST], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
