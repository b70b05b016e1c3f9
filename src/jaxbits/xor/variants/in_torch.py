"""The same classifier, loss, and training step in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from jaxbits.xor._arguments import check_int


class TorchClassifier(nn.Module):
    """The XOR classifier as a PyTorch module.

    Args:
        width: The number of hidden units, at least 1.

    >>> TorchClassifier()(torch.zeros(5, 2)).shape
    torch.Size([5])
    """

    def __init__(self, width: int = 8) -> None:
        check_int("width", width, at_least=1)
        super().__init__()
        self.hidden = nn.Linear(2, width)
        self.output = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits, as float32[batch], for inputs of float32[batch, 2]."""
        logits: torch.Tensor = self.output(torch.tanh(self.hidden(x)))[..., 0]
        return logits


def load_weights(model: TorchClassifier, params: Mapping[str, Any]) -> None:
    """Copy the parameters of the linen model into a PyTorch model.

    Args:
        model: The PyTorch model, whose parameters are overwritten.
        params: The parameters of `Classifier`. A linen kernel is the transpose of a PyTorch weight.
    """
    with torch.no_grad():
        for name in ("hidden", "output"):
            layer = getattr(model, name)
            layer.weight.copy_(torch.tensor(np.asarray(params[name]["kernel"]).T))
            layer.bias.copy_(torch.tensor(np.asarray(params[name]["bias"])))


def torch_loss(model: nn.Module, inputs: Any, labels: Any) -> torch.Tensor:
    """Return the mean loss of a batch, computed from logits.

    Args:
        model: The PyTorch model.
        inputs: The points, as a NumPy array or a tensor of float32[batch, 2].
        labels: The labels, 0 or 1, as a NumPy array or a tensor of int32[batch].

    Returns:
        A scalar tensor on which you can call `backward`.
    """
    logits = model(torch.as_tensor(inputs))
    targets = torch.as_tensor(labels).to(logits.dtype)
    return nn.functional.binary_cross_entropy_with_logits(logits, targets)


def torch_train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, inputs: Any, labels: Any
) -> torch.Tensor:
    """Update a PyTorch model with one batch, and return the loss before the step.

    Args:
        model: The PyTorch model, whose parameters are updated.
        optimizer: The optimizer for the model's parameters.
        inputs: The points, as a NumPy array or a tensor of float32[batch, 2].
        labels: The labels, 0 or 1, as a NumPy array or a tensor of int32[batch].

    Returns:
        The loss, as a scalar tensor that is detached from the autograd graph.
    """
    optimizer.zero_grad()
    loss = torch_loss(model, inputs, labels)
    loss.backward()
    optimizer.step()
    return loss.detach()
