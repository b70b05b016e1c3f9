"""The PyTorch twin: the same network and the same training step, as PyTorch has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from jaxbits.xor.model import WIDTH


class Twin(nn.Module):
    """The classifier in PyTorch.

    Args:
        width: how many hidden units.
    """

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.hidden = nn.Linear(2, width)
        self.output = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits, of shape (batch,), of inputs of shape (batch, 2)."""
        logits: torch.Tensor = self.output(torch.tanh(self.hidden(x)))[..., 0]
        return logits

    def load(self, params: Any) -> None:
        """Take over the parameters of the linen model: its kernels are PyTorch's, transposed."""
        with torch.no_grad():
            for name in ("hidden", "output"):
                layer = getattr(self, name)
                layer.weight.copy_(torch.tensor(np.asarray(params[name]["kernel"]).T))
                layer.bias.copy_(torch.tensor(np.asarray(params[name]["bias"])))


def loss_of(model: nn.Module, inputs: Any, labels: Any) -> torch.Tensor:
    """Return the mean sigmoid cross-entropy of a batch of NumPy arrays or tensors."""
    logits = model(torch.as_tensor(inputs))
    targets = torch.as_tensor(labels).to(logits.dtype)
    return nn.functional.binary_cross_entropy_with_logits(logits, targets)


def train_step(model: nn.Module, optimiser: Any, inputs: Any, labels: Any) -> torch.Tensor:
    """Change the model by one batch, and return the loss before."""
    optimiser.zero_grad()
    loss = loss_of(model, inputs, labels)
    loss.backward()
    optimiser.step()
    return loss.detach()
