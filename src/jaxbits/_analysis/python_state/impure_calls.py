"""Recognize calls that affect, or read from, something outside the compiled program."""

from __future__ import annotations

import contextvars
import datetime
import functools
import io
import random
import types
from typing import Any

from jaxbits._analysis.python_state.seeded_generators import creates_seeded_generator

_FILES = "open read_text write_text read_bytes write_bytes mkdir unlink touch iterdir glob rglob"
_SYSTEM_WORDS = (
    "system mkdir remove unlink rename replace rmdir listdir scandir urandom getpid write read "
    "chmod link nice symlink truncate umask utime"
)
_SYSTEM = frozenset(_SYSTEM_WORDS.split())
_LOGGING = "debug info warning warn error exception critical log"
_LOGGING_SETTINGS = "setLevel addHandler removeHandler addFilter removeFilter disable"
_ABSL_LOGGING = "fatal vlog log_every_n log_every_n_seconds log_first_n log_if"
_NUMPY_FILES = "save savez savez_compressed savetxt load loadtxt genfromtxt"

C_FUNCTIONS = {
    "builtins": {"print", "input"},
    "io": {"open"},
    "_io": {"open"},
    "posix": _SYSTEM,
    "nt": _SYSTEM,
    "_csv": {"register_dialect", "unregister_dialect"},
    "atexit": {"register", "unregister"},
    "_warnings": {"warn", "warn_explicit"},
}
"""The names of impure functions written in C, keyed by module."""

PYTHON_FUNCTIONS = {
    "logging": {*_LOGGING.split(), *_LOGGING_SETTINGS.split()},
    "absl.logging": {*_LOGGING.split(), *_ABSL_LOGGING.split()},
    "pathlib": {*_FILES.split(), "exists", "is_file", "is_dir"},
    "pathlib._local": {*_FILES.split(), "exists", "is_file", "is_dir"},  # The name in Python 3.13
    "jax._src.config": {"update"},
    "uuid": {"uuid1", "uuid4"},
    "threading": {"start"},
    "concurrent.futures.thread": {"submit"},
    "concurrent.futures.process": {"submit"},
    "os": {"makedirs", "removedirs", "popen", "walk", "__setitem__", "__delitem__"},
    "numpy.lib._npyio_impl": set(_NUMPY_FILES.split()),
    "numpy.lib.npyio": set(_NUMPY_FILES.split()),
}
"""The names of impure functions written in Python, keyed by module."""

_LOG_CALLS = {f"logging.{name}" for name in _LOGGING.split()}
_LOG_CALLS |= {f"absl.logging.{name}" for name in PYTHON_FUNCTIONS["absl.logging"]}

_MODULES = (
    "secrets tempfile subprocess shutil socket urllib.request http.client requests tqdm wandb "
    "tensorboardX"
)
IMPURE_MODULES = frozenset(_MODULES.split())
"""Modules in which every function counts as impure."""

_Cached = type(functools.cache(lambda: None))
_GLOBAL_GENERATOR = getattr(random, "_inst", None)


def no_input(prompt: object = "") -> str:
    """Raise an error in place of `input`, because nobody can answer while a function is checked.

    Raises:
        EOFError: On every call, as `input` does at the end of a stream.
    """
    raise EOFError("`input` has nothing to read while the function is checked")


def is_log(name: str) -> bool:
    """Return whether an impure function logs something, unlike one that changes how to log.

    >>> is_log("logging.info"), is_log("logging.setLevel")
    (True, False)
    """
    return name in _LOG_CALLS


def impure_c_name(function: Any) -> str:
    """Return the name of a C function if it is impure, or an empty string if it is not."""
    name, module = function.__name__, getattr(function, "__module__", None)
    owner = getattr(function, "__self__", None)
    if module == "time" or name in C_FUNCTIONS.get(module or "", ()):
        # The C module `_warnings` implements functions of the public module `warnings`.
        public = (module or "").lstrip("_")
        return f"{public}.{name}" if public not in ("builtins", "io") else str(name)
    if isinstance(owner, type) and issubclass(owner, datetime.date):
        return f"{owner.__name__}.{name}" if name in ("now", "today", "utcnow") else ""
    if isinstance(owner, random.Random):
        return f"random.{name}" if _is_shared_generator(owner) else ""
    if isinstance(owner, _Cached) and name in ("cache_info", "cache_clear"):
        return f"functools.{name}"  # The number of cached results counts calls.
    if isinstance(owner, contextvars.ContextVar) and name in ("set", "reset"):
        return f"{owner.name}.{name}"
    if isinstance(owner, io.IOBase) and not isinstance(owner, (io.StringIO, io.BytesIO)):
        return f"a file's {name}" if name.startswith(("write", "read", "flush")) else ""
    return ""


def impure_python_name(frame: types.FrameType) -> str:
    """Return the name of the function that a frame runs if it is impure, or "" otherwise."""
    module = str(frame.f_globals.get("__name__", ""))
    name = frame.f_code.co_name
    if frame.f_code is no_input.__code__:
        return "input"
    if module == "random":
        is_shared = _is_shared_generator(frame.f_locals.get("self"))
        if not is_shared or name.startswith("_"):
            return ""
        is_seeded = frame.f_back is not None and creates_seeded_generator(frame.f_back)
        return "" if is_seeded else f"random.{name}"
    is_listed = name in PYTHON_FUNCTIONS.get(module, ())
    is_in_listed_module = module in IMPURE_MODULES or module.split(".")[0] in IMPURE_MODULES
    public = "jax.config" if module == "jax._src.config" else module
    return f"{public}.{name}" if is_listed or is_in_listed_module else ""


def _is_shared_generator(generator: Any) -> bool:
    return generator is _GLOBAL_GENERATOR or isinstance(generator, random.SystemRandom)
