"""Functions and arguments that a text describes, as on a command line."""

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

_KINDS = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool", "bf": "bfloat"}
_ARRAY = re.compile(r"([a-z]+)(\d*)\[([\d,\s]*)\](?::([^:]+):([^:]+))?")


class UsageError(ValueError):
    """A text describes nothing, or nothing that is there; the message is for a shell."""


def loaded(text: str, what: str) -> Any:
    """Return what ``module:name`` or ``file.py:name`` names, calling it where ``()`` follows.

    >>> loaded("math:pi", "FUNCTION")
    3.141592653589793
    """
    source, colon, path = text.rpartition(":")
    name = path.removesuffix("()")
    if not colon or not source or not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"{what} was {text!r}, and should be module:name or path/to/file.py:name")
    found: Any
    try:
        found = _file(source) if source.endswith(".py") else importlib.import_module(source)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        said = (str(error).splitlines() or [""])[0]
        raise UsageError(
            f"{what} {text!r}: {source} cannot be imported: {type(error).__name__}: {said}"
        ) from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{what} {text!r}: {source} has no {name}")
        found = getattr(found, part)
    if name == path:
        return found
    try:
        return found()
    except Exception as error:
        said = (str(error).splitlines() or [""])[0]
        raise UsageError(f"{what} {text!r} failed: {type(error).__name__}: {said}") from None


def _file(source: str) -> Any:
    file = Path(source).resolve()
    if not file.is_file():
        raise UsageError(f"there is no file {source}")
    here = sys.modules.get(file.stem)
    if here is not None and os.path.realpath(getattr(here, "__file__", None) or "") == str(file):
        return here
    # Under its own name its classes and globals are found again; not where that name is taken.
    name = file.stem if here is None else f"audited_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{source} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    spec.loader.exec_module(module)
    return module


def argument(text: str, place: int = 0, seed: int = 0) -> Any:
    """Return the argument that a text of the command line describes.

    >>> argument("f32[2,3]").shape, argument("(1, 2)")
    ((2, 3), (1, 2))
    """
    if made := re.fullmatch(r"key(?:\[(\d+)\])?", text):
        import jax

        key = jax.random.fold_in(jax.random.key(seed), place)
        return jax.random.split(key, int(made[1])) if made[1] else key
    if made := _ARRAY.fullmatch(text):
        return _array(text, made, place, seed)
    file, _, name = text.rpartition(":") if ".npz:" in text else (text, "", "")
    if file.endswith((".npy", ".npz")):
        return _stored(file, name)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    if ":" in text:
        return loaded(text, "argument")
    raise UsageError(
        f"argument {text!r} should be an array such as 'f32[8,3]', key, a .npy or .npz file, "
        "module:name, or a Python literal (a text in quotes of its own: \"'text'\")"
    )


def _array(text: str, made: re.Match[str], place: int, seed: int) -> Any:
    import jax.numpy as jnp
    import numpy as np

    name = _KINDS.get(made[1], made[1]) + made[2]
    try:
        dtype = jnp.dtype(name)
        shape = tuple(int(size) for size in made[3].split(",") if size.strip())
        low, high = (float(made[4]), float(made[5])) if made[4] else (math.nan, math.nan)
    except (TypeError, ValueError):
        raise UsageError(
            f"argument {text!r} should be a dtype and a shape such as 'f32[8,3]' or 'i32[8]:0:10'"
        ) from None
    random = np.random.default_rng([seed, place])
    values: Any
    if dtype.kind in "iub":
        bounds = (0, 2) if math.isnan(low) else (int(low), int(high))
        if bounds[0] >= bounds[1]:
            raise UsageError(f"argument {text!r} should have a lower end below the upper one")
        values = random.integers(*bounds, shape)
    elif math.isnan(low):
        values = random.normal(size=shape)
        values = values + 1j * random.normal(size=shape) if dtype.kind == "c" else values
    else:
        values = random.uniform(low, high, shape)
    array = np.asarray(values).astype(dtype)
    return array if dtype.name.endswith("64") and dtype.kind != "c" else jnp.asarray(array)


def _stored(file: str, name: str) -> Any:
    import numpy as np

    try:
        held = np.load(file, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"argument {file!r} cannot be read: {error}") from None
    if not file.endswith(".npz"):
        return held
    if name and name not in held.files:
        raise UsageError(f"argument {file!r} has no {name!r}, only {', '.join(held.files)}")
    return held[name] if name else dict(held)
