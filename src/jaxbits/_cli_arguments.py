"""Turn the arguments of ``jaxbits audit`` into functions, arrays, and other Python objects."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import math
import os
import re
import sys
from pathlib import Path
from typing import Any

from jaxbits._formatting import first_line

_KINDS = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool", "bf": "bfloat"}
_ARRAY = re.compile(r"([a-z]+)(\d*)\[([\d,\s]*)\](?::([^:]+):([^:]+))?")


class UsageError(ValueError):
    """Raised if a command-line argument is invalid. The message is a single line."""


def import_object(text: str, what: str) -> Any:
    """Import the object that ``module:name`` or ``file.py:name`` refers to.

    Args:
        text: The reference to the object. If it ends with ``()``, the object is called without
            arguments.
        what: The name of the command-line argument, with which the error message begins.

    Returns:
        The object, or the result of calling it if the reference ends with ``()``.

    Raises:
        UsageError: If the reference has a different form, or if the import or the call fails.

    >>> import_object("math:pi", "FUNCTION")
    3.141592653589793
    """
    source, colon, path = text.rpartition(":")
    name = path.removesuffix("()")
    if not colon or not source or not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{what} must be module:name or path/to/file.py:name, got {text!r}")
    found: Any
    try:
        found = _import_file(source) if source.endswith(".py") else importlib.import_module(source)
    # Importing a module runs its code, which may raise any error or exit.
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        raise UsageError(
            f"{what} {text!r}: cannot import {source}: {kind}: {first_line(error)}"
        ) from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{what} {text!r}: {source} has no attribute {name}")
        found = getattr(found, part)
    if name == path:
        return found
    try:
        return found()
    except Exception as error:
        kind = type(error).__name__
        raise UsageError(f"{what} {text!r}: {name}() raises {kind}: {first_line(error)}") from None


def _import_file(source: str) -> Any:
    file = Path(source).resolve(strict=True)
    imported = sys.modules.get(file.stem)
    if imported and os.path.realpath(getattr(imported, "__file__", None) or "") == str(file):
        return imported
    # A module must be in sys.modules under its name, for example so that pickle can find its
    # classes. The module is therefore named after the file, unless that name is already taken.
    name = f"audited_{file.stem}" if imported else file.stem
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{source} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    spec.loader.exec_module(module)
    return module


def parse_argument(text: str, position: int = 0, seed: int = 0) -> Any:
    """Return the object that a command-line argument describes.

    Args:
        text: The description, in one of the forms that ``jaxbits audit --help`` lists.
        position: The position of the argument. Equal descriptions at different positions produce
            different random numbers.
        seed: The seed for random arrays and keys.

    Returns:
        A JAX array (or a NumPy array if the dtype has 64 bits), a random key, or another object.

    Raises:
        UsageError: If the description has none of these forms, or if a file or an object is
            missing.

    >>> parse_argument("f32[2,3]").shape, parse_argument("(1, 2)")
    ((2, 3), (1, 2))
    """
    if match := re.fullmatch(r"key(?:\[(\d+)\])?", text):
        import jax

        key = jax.random.fold_in(jax.random.key(seed), position)
        return jax.random.split(key, int(match[1])) if match[1] else key
    if match := _ARRAY.fullmatch(text):
        return _random_array(text, match, position, seed)
    file, _, name = text.rpartition(":") if ".npz:" in text else (text, "", "")
    if file.endswith((".npy", ".npz")):
        return _load_array(file, name)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    if ":" in text:
        return import_object(text, "argument")
    raise UsageError(
        "argument must be an array such as 'f32[8,3]', key, a .npy or .npz file, module:name, or "
        f"a Python literal (a string needs its own quotes: \"'text'\"); got {text!r}"
    )


def _random_array(text: str, match: re.Match[str], position: int, seed: int) -> Any:
    import jax.numpy as jnp
    import numpy as np

    name = _KINDS.get(match[1], match[1]) + match[2]
    try:
        dtype = jnp.dtype(name)
        shape = tuple(int(size) for size in match[3].split(",") if size.strip())
        low, high = (float(match[4]), float(match[5])) if match[4] else (math.nan, math.nan)
    except (TypeError, ValueError):
        raise UsageError(
            "argument must be a dtype and a shape such as 'f32[8,3]' or 'i32[8]:0:10', "
            f"got {text!r}"
        ) from None
    random = np.random.default_rng([seed, position])
    values: Any
    if dtype.kind in "iub":
        bounds = (0, 2) if math.isnan(low) else (int(low), int(high))
        if bounds[0] >= bounds[1]:
            raise UsageError(
                f"argument must have a lower bound below its upper bound, got {text!r}"
            )
        values = random.integers(*bounds, shape)
    elif math.isnan(low):
        values = random.normal(size=shape)
        values = values + 1j * random.normal(size=shape) if dtype.kind == "c" else values
    else:
        values = random.uniform(low, high, shape)
    array = np.asarray(values).astype(dtype)
    return array if dtype.name.endswith("64") and dtype.kind != "c" else jnp.asarray(array)


def _load_array(file: str, name: str) -> Any:
    import numpy as np

    try:
        loaded = np.load(file, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"argument {file!r} cannot be read: {first_line(error)}") from None
    if not file.endswith(".npz"):
        return loaded
    if name and name not in loaded.files:
        names = ", ".join(map(repr, loaded.files))
        raise UsageError(f"the array in argument {file!r} must be one of {names}; got {name!r}")
    return loaded[name] if name else dict(loaded)
