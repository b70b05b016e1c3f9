"""The XOR classifier of chapter 15: its data, models, training loop, and checkpoints.

`data`, `model`, `training`, and `checkpoints` contain the code that the chapter shows. The library
adds only type annotations, docstrings, and argument checks. `variants` contains the same classifier
in PyTorch and the faster versions that the chapter compares with its own program.

Each public name is imported when it is first used, so a data loader's worker process can import the
dataset without importing JAX.

>>> import optax
>>> from jaxbits import xor
>>> state = xor.create_state(0, xor.Classifier(), optax.sgd(0.1))
>>> state, history = xor.train(state, xor.train_loader(xor.XorData(2500, seed=42)), epochs=100)
>>> loss, accuracy = xor.evaluate(state, xor.eval_loader(xor.XorData(500, seed=123)))
>>> float(accuracy)
1.0
"""

from __future__ import annotations

from jaxbits import _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
