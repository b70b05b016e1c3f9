"""Time the XOR classifier with chapter 15's loop, with faster loops, and in PyTorch.

The functions come from jaxbits.xor, which uses `flax`, `optax`, and `torch`.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
import torch

from book_tools.benchmarking.timing import quartiles, ratio_quartiles, time_interleaved
from jaxbits import xor

TITLE = "100 epochs of the XOR classifier, 19 batches of 128 each"
ROUNDS = 9
EPOCHS, BATCH = 100, 128
TRAIN, TEST = xor.XorData(2500, seed=42), xor.XorData(500, seed=123)
STEPS = EPOCHS * (len(TRAIN) // BATCH)
START = xor.create_state(0, xor.Classifier(), optax.sgd(0.1))

LOOP = "train with train_loader"
FASTER = "train with faster_loader"
ONE_BY_ONE = "train with faster_loader, batch by batch"
DEVICE = "train_on_device"
STEP = "one compiled step, data on the device"
EAGER = "PyTorch, eager"


def _train(loader: Any) -> Any:
    """Train for all epochs without a progress bar, and return the state once it is ready."""
    with contextlib.redirect_stderr(io.StringIO()):
        state, _ = xor.train(START, loader, EPOCHS)
    return jax.block_until_ready(state)


def _train_on_device() -> Any:
    """Train in one compiled program, and return the state once it is ready."""
    return jax.block_until_ready(xor.train_on_device(START, TRAIN, EPOCHS, BATCH)[0])


def _repeat_step(step: Callable[..., Any], data: Any) -> None:
    """Dispatch as many steps as a training run has, but always with the same batch."""
    state = jax.tree.map(jnp.copy, START)
    for _ in range(STEPS):
        state, _ = step(state, *data)
    jax.block_until_ready(state)


def _train_in_torch(model: Any, loader: Any) -> None:
    """Train a PyTorch model for all epochs."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(EPOCHS):
        loader.generator.manual_seed(epoch)
        for inputs, labels in loader:
            xor.torch_train_step(model, optimizer, inputs, labels)


def _fetch_all(loader: Any) -> None:
    """Fetch the batches of all epochs without using them."""
    for epoch in range(EPOCHS):
        loader.generator.manual_seed(epoch)
        for _ in loader:
            pass


def run() -> dict[str, Any]:
    """Time the training runs and the parts of one step alternately."""
    plain = xor.train_loader(TRAIN, BATCH)
    faster = xor.faster_loader(TRAIN, BATCH)
    by_one = xor.faster_loader(TRAIN, BATCH, at_once=1)
    in_numpy = TRAIN[:BATCH]
    on_device = jax.device_put(in_numpy)
    keys = jax.random.split(jax.random.key(0), EPOCHS)
    size = len(TRAIN)
    sort = jax.jit(lambda k: jax.lax.map(lambda k: jax.random.permutation(k, size), k))
    feistel = jax.jit(lambda k: jax.lax.map(lambda k: xor.shuffled(k, size), k))
    functions: dict[str, Callable[[], object]] = {
        LOOP: lambda: _train(plain),
        FASTER: lambda: _train(faster),
        ONE_BY_ONE: lambda: _train(by_one),
        DEVICE: _train_on_device,
        EAGER: lambda: _train_in_torch(xor.TorchClassifier(), plain),
        STEP: lambda: _repeat_step(xor.train_step, on_device),
        "one donating step, data on the device": lambda: _repeat_step(
            xor.donating_train_step, on_device
        ),
        "one compiled step, data in NumPy": lambda: _repeat_step(xor.train_step, in_numpy),
        "train_loader alone": lambda: _fetch_all(plain),
        "faster_loader alone": lambda: _fetch_all(faster),
        "100 shuffles with a sort": lambda: sort(keys).block_until_ready(),
        "100 shuffles without a sort": lambda: feistel(keys).block_until_ready(),
    }
    compiled_model = __compiled_model(in_numpy)
    if compiled_model is not None:
        functions["PyTorch, compiled"] = lambda: _train_in_torch(compiled_model, plain)
    for function in functions.values():  # The first calls trace and compile.
        function()
    samples = time_interleaved(functions, ROUNDS, dict.fromkeys(functions, 1))
    per_step = {name: [1e6 * s / STEPS for s in taken] for name, taken in samples.items()}
    return {
        "results": {name: quartiles(values, "µs per step") for name, values in per_step.items()},
        "ratios": {
            f"{name} / {other}": ratio_quartiles(samples[name], samples[other])
            for name, other in ((LOOP, STEP), (LOOP, FASTER), (LOOP, DEVICE), (EAGER, LOOP))
        },
        "checks": {
            f"{name}: at least 99 % on the test set": bool(accuracy >= 0.99)
            for name, accuracy in __accuracies(plain, faster).items()
        },
    }


def __compiled_model(batch: Any) -> Any:
    """Return the PyTorch model under torch.compile, or None if that does not work."""
    try:
        model = torch.compile(xor.TorchClassifier())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        xor.torch_train_step(model, optimizer, *batch)
    except Exception as error:  # for example, no compiler on this machine
        print(f"  torch.compile does not work here: {type(error).__name__}")
        return None
    return model


def __accuracies(plain: Any, faster: Any) -> dict[str, float]:
    states = {LOOP: _train(plain), FASTER: _train(faster), DEVICE: _train_on_device()}
    test = xor.eval_loader(TEST)
    return {name: xor.evaluate(state, test)[1] for name, state in states.items()}
