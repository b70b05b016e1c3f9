"""Read and restore PyTorch tensors and generators, memory views, and Pillow images.

A function can keep state in any of these without JAX noticing.
"""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np

_VIEW_TYPES = (memoryview, mmap.mmap)
_IMAGE = "PIL.Image.Image"
_TORCH_TYPES = ("torch.Tensor", "torch.nn.parameter.Parameter", "torch._C.Generator")


def is_foreign_buffer(value: Any) -> bool:
    """Return whether a value has one of the types that `read` understands.

    >>> is_foreign_buffer(memoryview(b"ab")), is_foreign_buffer([1])
    (True, False)
    """
    kind = type(value)
    # Do not import PyTorch, which takes a second. If a value belongs to it, it has been imported.
    return kind in _VIEW_TYPES or f"{kind.__module__}.{kind.__qualname__}" in (
        *_TORCH_TYPES,
        _IMAGE,
    )


def read(value: Any, max_bytes: int) -> Any:
    """Return a copy of what such a value contains, or None if it is too large, sparse, or closed.

    Args:
        value: The value.
        max_bytes: The largest number of bytes that are copied.
    """
    if type(value) in _VIEW_TYPES:
        try:
            size = value.nbytes if isinstance(value, memoryview) else len(value)
            return bytes(value[:]) if size <= max_bytes else None
        except ValueError:  # The view was released, or the file was closed.
            return None
    if type(value).__name__ == "Image":
        return _read_image(value, max_bytes)
    if type(value).__name__ == "Generator":
        return value.get_state().numpy().copy()
    return _read_tensor(value, max_bytes)


def restore(value: Any, before: Any) -> None:
    """Write what `read` returned back into a value.

    Args:
        value: The value.
        before: The earlier contents. If they are None, the value stays as it is.
    """
    if before is None:
        return
    if isinstance(value, memoryview):
        if not value.readonly:
            value.cast("B")[:] = before
    elif type(value) in _VIEW_TYPES:
        value[:] = before
    elif type(value).__name__ == "Image":
        if (value.mode, value.size) == before[:2]:
            value.frombytes(before[2])
    elif type(value).__name__ == "Generator":
        value.set_state(sys.modules["torch"].from_numpy(before))
    else:
        _restore_tensor(value, before)


def _read_image(image: Any, max_bytes: int) -> Any:
    """Return an image's mode, size, and pixels, or None if it is too large or closed."""
    try:
        width, height = image.size
        # A pixel takes at most four bytes.
        is_small = 4 * width * height <= max_bytes
        return (image.mode, image.size, image.tobytes()) if is_small else None
    except ValueError:  # The image was closed.
        return None


def _read_tensor(tensor: Any, max_bytes: int) -> dict[str, Any] | None:
    """Return a tensor's memory, whether it records gradients, and the same for its gradient."""
    is_dense = tensor.layout == sys.modules["torch"].strided
    if not is_dense or tensor.numel() * tensor.element_size() > max_bytes:
        return None
    is_leaf = tensor.is_leaf  # PyTorch warns about the gradient of any other tensor.
    slopes = tensor.grad if is_leaf else None
    return {
        "data": _as_bytes(tensor).copy(),
        "requires_grad": tensor.requires_grad,
        "grad": None if slopes is None else _read_tensor(slopes, max_bytes),
    }


def _restore_tensor(tensor: Any, before: Any) -> None:
    if _as_bytes(tensor).shape == before["data"].shape:
        flat = sys.modules["torch"].from_numpy(before["data"]).view(tensor.dtype)
        tensor.detach().copy_(flat.reshape(tensor.shape))
    if tensor.is_leaf:
        if before["grad"] is None:
            tensor.grad = None
        elif tensor.grad is not None:
            _restore_tensor(tensor.grad, before["grad"])
        if tensor.requires_grad != before["requires_grad"]:
            tensor.requires_grad_(before["requires_grad"])


def _as_bytes(tensor: Any) -> np.ndarray:
    """Return the memory of a tensor as an array of bytes, which NumPy has for all dtypes."""
    torch = sys.modules["torch"]
    flat = tensor.detach().contiguous().reshape(-1)
    found: np.ndarray = flat.view(torch.uint8).cpu().numpy()
    return found
