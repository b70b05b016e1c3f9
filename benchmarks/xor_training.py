"""The XOR classifier: the loader's loop, PyTorch, and the whole training as one program.

Measured are jaxbits.xor, which is made with flax and optax, and its twin in torch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from measure import interleaved, ratio, spread

from jaxbits import xor
from jaxbits.xor import twin

TITLE = "100 epochs of the XOR classifier, 19 batches of 128 each"
ROUNDS = 9
EPOCHS, BATCH = 100, 128
TRAIN, TEST = xor.XorData(2500, seed=42), xor.XorData(500, seed=123)
STEPS = EPOCHS * (len(TRAIN) // BATCH)
START = xor.create_state(0)

LOOP = "loop over our loader"
ONE_BY_ONE = "loop over PyTorch's loader, batch by batch"
DEVICE = "whole training on the device"
STEP = "one compiled step, data there"


def finished(state: Any) -> None:
    """Wait until a state is there."""
    jax.block_until_ready(state.params)


def steps_with(data: Any) -> None:
    """Dispatch as many steps as a training has, all on one batch."""
    state = jax.tree.map(jnp.copy, START)
    for _ in range(STEPS):
        state = xor.train_step(state, *data)
    finished(state)


def torch_training(model: Any, batches: Any) -> None:
    """Train the PyTorch twin in the same way."""
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(EPOCHS):
        batches.epoch = epoch
        for inputs, labels in batches:
            twin.train_step(model, optimiser, inputs, labels)


def fetch_all(loader: Any) -> None:
    """Fetch the batches of all epochs and do nothing with them."""
    for epoch in range(EPOCHS):
        loader.epoch = epoch
        for _ in loader:
            pass


def run() -> dict[str, Any]:
    """Time the trainings in turns, and say what each step of the loop is made of."""
    ours = xor.train_loader(TRAIN, batch_size=BATCH)
    by_one = xor.train_loader(TRAIN, batch_size=BATCH, at_once=1)
    in_numpy = TRAIN[np.arange(BATCH)]
    on_device = jax.device_put(in_numpy)
    keys = jax.random.split(jax.random.key(0), EPOCHS)
    size = len(TRAIN)
    sort = jax.jit(lambda k: jax.lax.map(lambda k: jax.random.permutation(k, size), k))
    feistel = jax.jit(lambda k: jax.lax.map(lambda k: xor.shuffled(k, size), k))

    def unmarked() -> None:
        # What each `next` does for PyTorch's profiler, left out for once: what does it cost?
        mark = torch.autograd.profiler.record_function
        torch.autograd.profiler.record_function = contextlib.nullcontext
        try:
            finished(xor.fit(START, by_one, epochs=EPOCHS, progress=False)[0])
        finally:
            torch.autograd.profiler.record_function = mark

    functions: dict[str, Callable[[], object]] = {
        LOOP: lambda: finished(xor.fit(START, ours, epochs=EPOCHS, progress=False)[0]),
        ONE_BY_ONE: lambda: finished(xor.fit(START, by_one, epochs=EPOCHS, progress=False)[0]),
        DEVICE: lambda: finished(
            xor.fit_on_device(START, TRAIN, epochs=EPOCHS, batch_size=BATCH)[0]
        ),
        "the same, without its profiler's marks": unmarked,
        "PyTorch, eager": lambda: torch_training(xor.Twin(), by_one),
        STEP: lambda: steps_with(on_device),
        "one compiled step, data in NumPy": lambda: steps_with(in_numpy),
        "our loader alone": lambda: fetch_all(ours),
        "PyTorch's loader alone": lambda: fetch_all(by_one),
        "100 shuffles, by sorting": lambda: sort(keys).block_until_ready(),
        "100 shuffles, without": lambda: feistel(keys).block_until_ready(),
    }
    compiled_torch = _compiled_twin(on_device=in_numpy)
    if compiled_torch is not None:
        functions["PyTorch, compiled"] = lambda: torch_training(compiled_torch, by_one)
    for function in functions.values():  # the first calls trace and compile
        function()
    samples = interleaved(functions, ROUNDS, dict.fromkeys(functions, 1))
    per_step = {name: [1e6 * s / STEPS for s in taken] for name, taken in samples.items()}
    return {
        "results": {name: spread(values, "µs a step") for name, values in per_step.items()},
        "ratios": {
            "our loop / one step with the data there": ratio(samples[LOOP], samples[STEP]),
            "our loop / on the device": ratio(samples[LOOP], samples[DEVICE]),
            "PyTorch's loader / on the device": ratio(samples[ONE_BY_ONE], samples[DEVICE]),
            "PyTorch eager / our loop": ratio(samples["PyTorch, eager"], samples[LOOP]),
        },
        "checks": {
            f"{name}: at least 99 % on the test set": accuracy >= 0.99
            for name, accuracy in _accuracies(ours, by_one).items()
        },
    }


def _compiled_twin(on_device: Any) -> Any:
    """Return the twin under torch.compile, or None where that does not work."""
    try:
        model = torch.compile(xor.Twin())
        twin.train_step(model, torch.optim.SGD(model.parameters(), lr=0.1), *on_device)
    except Exception as error:  # no compiler on this machine, say
        print(f"  torch.compile does not work here: {type(error).__name__}")
        return None
    return model


def _accuracies(ours: Any, by_one: Any) -> dict[str, float]:
    states = {
        LOOP: xor.fit(START, ours, epochs=EPOCHS, progress=False)[0],
        ONE_BY_ONE: xor.fit(START, by_one, epochs=EPOCHS, progress=False)[0],
        DEVICE: xor.fit_on_device(START, TRAIN, epochs=EPOCHS, batch_size=BATCH)[0],
    }
    test = xor.eval_loader(TEST)
    return {name: xor.evaluate(state, test).accuracy for name, state in states.items()}
