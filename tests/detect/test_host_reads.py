"""Test that `transfer` sees every way in which Python can read an array."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxbits import detect

READS = {
    "float()": lambda loss: float(loss.sum()),
    ".tolist()": lambda loss: loss.tolist(),
    "np.asarray": lambda loss: np.asarray(loss),
    "np.frombuffer": lambda loss: np.frombuffer(loss, np.float32),
    "DLPack": lambda loss: np.from_dlpack(loss),
    "DLPack, from PyTorch": lambda loss: torch.from_dlpack(loss),
}


@pytest.mark.parametrize("how", READS)
def test_every_way_to_read_is_reported(how):
    step = jax.jit(lambda weight: (0.9 * weight, weight**2))

    def train(weight):
        for _ in range(3):
            weight, loss = step(weight)
            print("loss", READS[how](loss))
        return weight

    found = detect.transfer(train, jnp.ones(2))
    assert [one.evidence for one in found] == [f"{how.partition(',')[0]} waits for it, 3 times"]
    assert found[0].severity == "warning"


def test_methods_are_restored():
    kind = type(jnp.ones(2))
    before = dict(vars(kind)), np.frombuffer
    detect.transfer(lambda weight: print(np.from_dlpack(weight)), jnp.ones(2))
    assert (dict(vars(kind)), np.frombuffer) == before
