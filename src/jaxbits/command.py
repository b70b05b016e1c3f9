"""Check a function for sharp bits, from a shell::

    python -m jaxbits.audit train:step --args 'f32[8,3]' 'i32[8]:0:10' key

FUNCTION is module:name or path/to/file.py:name; dots in the name reach attributes. An argument is one of::

    'f32[8,3]'           random numbers of that dtype and shape; integers are 0 or 1,
    'i32[8]:0:10'        or from 0 up to 9; 'f32[4]:0:1' is uniform; 64 bits are a NumPy array
    key, 'key[4]'        a random key, or an array of them
    data.npy             an array from a file; data.npz all of its arrays, as a dict;
    data.npz:images      one of them
    module:name          what a module holds; module:name() calls it first; a file.py will do
    3, 0.5, "'text'"     anything else: a Python literal

Exit status: 0 nothing above a note, 1 something found or a check without time, 2 called wrongly.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import importlib
import importlib.util
import json
import math
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

_KINDS = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool", "bf": "bfloat"}
_ARRAY = re.compile(r"([a-z]+)(\d*)\[([\d,\s]*)\](?::([^:]+):([^:]+))?")


class UsageError(ValueError):
    """The command was called wrongly; the message is for the shell."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m jaxbits.audit",
        description=(__doc__ or "").replace("::\n", ":\n"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("function", metavar="FUNCTION", help="module:name or path/to/file.py:name")
    add("--args", nargs="*", default=[], metavar="ARG", help="its arguments")
    add("--kwargs", nargs="*", default=[], metavar="NAME=ARG", help="its named arguments")
    add("--call", nargs="*", action="append", metavar="ARG", help="one of several calls; repeat it")
    add("--carry", metavar="ARG", help="the argument that is a loop's state: position or name")
    add("--checks", nargs="+", metavar="CHECK", help="the checks to run; all by default")
    add("--allow", nargs="+", default=[], metavar="CHECK", help="checks that are left out")
    add("--limit", type=float, default=60.0, metavar="SECONDS", help="60 by default; 0 for none")
    add("--seed", type=int, default=0, help="of the random arguments; 0 by default")
    add("--json", action="store_true", help="print the report as JSON")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status."""
    try:
        return _main(argv)
    except UsageError as error:
        print(f"jaxbits.audit: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _main(argv: Sequence[str] | None) -> int:
    given = _parser().parse_args(argv)
    from jaxbits import detect
    from jaxbits.audit import audit

    with contextlib.redirect_stdout(sys.stderr):  # what modules print is no part of the report
        function = loaded(given.function, "FUNCTION")
        read = functools.partial(argument, seed=given.seed)
        args = [read(text, place) for place, text in enumerate(given.args)]
        kwargs = {}
        for place, text in enumerate(given.kwargs, len(args)):
            name, equals, value = text.partition("=")
            if not equals or not name.isidentifier():
                raise UsageError(f"--kwargs has {text!r}, and should have NAME=ARG")
            kwargs[name] = read(value, place)
        calls = [
            tuple(read(text, place) for place, text in enumerate(call)) for call in given.call or ()
        ]
    carry = given.carry
    carry = int(carry) if carry is not None and re.fullmatch(r"-?\d+", carry) else carry
    known = list(detect.detectors())
    for name in given.allow:
        if name not in known:
            raise UsageError(f"--allow has {name!r}, and should have some of {', '.join(known)}")
    checks = [name for name in given.checks or known if name not in given.allow]
    own: dict[str, Any] = {
        "carry": carry,
        "calls": calls or None,
        "checks": checks,
        "limit": given.limit or None,
    }
    if clash := next((name for name in kwargs if name in own), ""):
        raise UsageError(f"--kwargs has {clash!r}, which is the audit's own: wrap the function")
    try:
        report = audit(function, *args, **own, **kwargs)
    except (TypeError, ValueError) as error:  # `audit` raises where it is called wrongly only
        raise UsageError(str(error)) from None
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    print(json.dumps(report.to_dict(), indent=2) if given.json else report)
    return int(not report.ok or bool(report.not_run))


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
