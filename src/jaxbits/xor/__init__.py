"""The XOR classifier of chapter 15: its data, models, training loop, and checkpoints.

The code of `data`, `model`, `training`, and `checkpoints` is the code that the chapter shows. The
library adds type annotations, docstrings, and checks of the arguments. The module `torch_twin`
contains the same classifier in PyTorch, and `faster` what the chapter's section *Faster* compares.

The names below are imported when they are first used. A worker process of a data loader can
therefore import the data set without JAX.

>>> import optax
>>> from jaxbits import xor
>>> state = xor.create_state(0, xor.Classifier(), optax.sgd(0.1))
>>> state, history = xor.train(state, xor.train_loader(xor.XorData(2500, seed=42)), epochs=100)
>>> loss, accuracy = xor.evaluate(state, xor.eval_loader(xor.XorData(500, seed=123)))
>>> float(accuracy)
1.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbits.xor.checkpoints import restore as restore
    from jaxbits.xor.checkpoints import save as save
    from jaxbits.xor.data import XorData as XorData
    from jaxbits.xor.data import eval_loader as eval_loader
    from jaxbits.xor.data import numpy_collate as numpy_collate
    from jaxbits.xor.data import train_loader as train_loader
    from jaxbits.xor.faster import donating_train_step as donating_train_step
    from jaxbits.xor.faster import faster_loader as faster_loader
    from jaxbits.xor.faster import train_on_device as train_on_device
    from jaxbits.xor.model import Classifier as Classifier
    from jaxbits.xor.model import ClassifierWithSetup as ClassifierWithSetup
    from jaxbits.xor.model import NnxClassifier as NnxClassifier
    from jaxbits.xor.shuffle import shuffled as shuffled
    from jaxbits.xor.torch_twin import TorchClassifier as TorchClassifier
    from jaxbits.xor.torch_twin import load_weights as load_weights
    from jaxbits.xor.torch_twin import torch_loss as torch_loss
    from jaxbits.xor.torch_twin import torch_train_step as torch_train_step
    from jaxbits.xor.training import create_state as create_state
    from jaxbits.xor.training import eval_step as eval_step
    from jaxbits.xor.training import evaluate as evaluate
    from jaxbits.xor.training import loss_and_accuracy as loss_and_accuracy
    from jaxbits.xor.training import nnx_train_step as nnx_train_step
    from jaxbits.xor.training import train as train
    from jaxbits.xor.training import train_step as train_step

_HOME = {
    "Classifier": "model",
    "ClassifierWithSetup": "model",
    "NnxClassifier": "model",
    "TorchClassifier": "torch_twin",
    "XorData": "data",
    "create_state": "training",
    "donating_train_step": "faster",
    "eval_loader": "data",
    "eval_step": "training",
    "evaluate": "training",
    "faster_loader": "faster",
    "load_weights": "torch_twin",
    "loss_and_accuracy": "training",
    "nnx_train_step": "training",
    "numpy_collate": "data",
    "restore": "checkpoints",
    "save": "checkpoints",
    "shuffled": "shuffle",
    "torch_loss": "torch_twin",
    "torch_train_step": "torch_twin",
    "train": "training",
    "train_loader": "data",
    "train_on_device": "faster",
    "train_step": "training",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'jaxbits.xor' has no attribute {name!r}")
    return getattr(importlib.import_module(f"jaxbits.xor.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
