"""The XOR classifier of chapter 15: data, loaders, models, training, checkpoints, evaluation.

The names below are imported when they are first used. Worker processes of a data loader can so
import the data set without JAX, which must not be used in a forked child.

>>> from jaxbits import xor
>>> state, history = xor.fit_on_device(xor.create_state(0), xor.XorData(2500, seed=42), epochs=50)
>>> xor.evaluate(state, xor.eval_loader(xor.XorData(500, seed=123))).accuracy > 0.99
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbits.xor.checkpoints import CheckpointError as CheckpointError
    from jaxbits.xor.checkpoints import restore as restore
    from jaxbits.xor.checkpoints import save as save
    from jaxbits.xor.data import XorData as XorData
    from jaxbits.xor.data import numpy_collate as numpy_collate
    from jaxbits.xor.evaluation import Scores as Scores
    from jaxbits.xor.evaluation import eval_step as eval_step
    from jaxbits.xor.evaluation import evaluate as evaluate
    from jaxbits.xor.loaders import eval_loader as eval_loader
    from jaxbits.xor.loaders import train_loader as train_loader
    from jaxbits.xor.losses import accuracy as accuracy
    from jaxbits.xor.losses import mean_loss as mean_loss
    from jaxbits.xor.model import Classifier as Classifier
    from jaxbits.xor.model import ClassifierWithSetup as ClassifierWithSetup
    from jaxbits.xor.model import NnxClassifier as NnxClassifier
    from jaxbits.xor.shuffle import shuffled as shuffled
    from jaxbits.xor.state import TrainState as TrainState
    from jaxbits.xor.state import create_state as create_state
    from jaxbits.xor.training import History as History
    from jaxbits.xor.training import fit as fit
    from jaxbits.xor.training import fit_on_device as fit_on_device
    from jaxbits.xor.training import train_step as train_step
    from jaxbits.xor.twin import Twin as Twin

_HOME = {
    "CheckpointError": "checkpoints",
    "Classifier": "model",
    "ClassifierWithSetup": "model",
    "History": "training",
    "NnxClassifier": "model",
    "Scores": "evaluation",
    "TrainState": "state",
    "Twin": "twin",
    "XorData": "data",
    "accuracy": "losses",
    "create_state": "state",
    "eval_step": "evaluation",
    "evaluate": "evaluation",
    "fit": "training",
    "fit_on_device": "training",
    "mean_loss": "losses",
    "numpy_collate": "data",
    "restore": "checkpoints",
    "save": "checkpoints",
    "shuffled": "shuffle",
    "eval_loader": "loaders",
    "train_loader": "loaders",
    "train_step": "training",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'jaxbits.xor' has no attribute {name!r}")
    return getattr(importlib.import_module(f"jaxbits.xor.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
