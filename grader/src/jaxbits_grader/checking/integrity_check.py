"""What the tests rely on, looked at inside a student's kernel: was any of it replaced.

`replaced` runs in the kernel; the grader asks for it before each test.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jaxbits
import jaxbits_grader

# Public modules whose functions tests call; a notebook has no reason to put its own into them.
_NUMPY = ("numpy", "numpy.testing", "numpy.linalg")
_JAX = ("jax", "jax.numpy", "jax.lax", "jax.random", "jax.tree", "jax.tree_util", "jaxbits")
_MODULES = {"builtins", "math", "operator", "inspect", *_NUMPY, *_JAX}
_CLASSES = (("jax", "Array"), ("jax._src.array", "ArrayImpl"), ("jax.core", "Tracer"))
_ALIASES = {"np": "numpy", "numpy": "numpy", "jnp": "jax.numpy", "jax": "jax", "lax": "jax.lax"}
_ALIASES |= {"testing": "jaxbits.testing", "detect": "jaxbits.detect"}


# What IPython and its kernel call the text of a cell.
_CELL = re.compile(r"<ipython-input-|.*[/\\]ipykernel_\d+[/\\]")


def made_here(thing: Any) -> bool:
    """Whether a function or class was defined in a cell of the notebook, or stands in for one.

    >>> made_here(len), made_here(types.FunctionType(compile("1", "<cell>", "exec"), {}))
    (False, True)
    """
    for _ in range(10):
        if isinstance(thing, type):
            file = getattr(sys.modules.get(thing.__module__), "__file__", None)
            return thing.__module__ == "__main__" or (
                file is not None and _in_a_cell(str(file), None)
            )
        if type(thing).__module__ == "unittest.mock":
            return True
        thing = getattr(thing, "__func__", thing)
        code = getattr(thing, "__code__", None)
        if isinstance(code, types.CodeType):
            return _in_a_cell(code.co_filename, thing)
        # What wraps a function: functools' own, jax's, and np.vectorize.
        inner = (getattr(thing, name, None) for name in ("__wrapped__", "func", "pyfunc"))
        wrapped = next((part for part in inner if part is not None), None)
        if wrapped is None:
            by_numpy = "(vectorized)" in str(getattr(thing, "__name__", ""))
            return by_numpy or (type(thing).__module__ == "__main__" and callable(thing))
        thing = wrapped
    return False


# Where code is that nobody wrote in a notebook.
_PACKAGES = (jaxbits.__file__, jaxbits_grader.__file__)
_INSTALLED = tuple({sys.prefix, sys.base_prefix, *(str(Path(str(p)).parent) for p in _PACKAGES)})


def _in_a_cell(file: str, function: Any) -> bool:
    if file.endswith(".py") and not file.startswith(("<", *_INSTALLED)):
        return True  # of a file that a cell wrote
    if _CELL.match(file) or getattr(function, "__globals__", None) is _space():
        return True
    return file.startswith("<") and not file.startswith("<frozen") and not _generated(function)


def _space() -> dict[str, Any]:
    """The notebook's names."""
    return vars(sys.modules["__main__"])


def _generated(function: Any) -> bool:
    """Whether a library made a function's code from text, as NumPy's dispatchers are."""
    module = getattr(function, "__module__", None)
    return bool(module) and module != "__main__" and module in sys.modules


def replaced(names: Iterable[str] = ()) -> str:
    """Name what of the things that tests rely on was replaced by something of the notebook.

    Args:
        names: the names that the next test uses.

    Returns:
        The names of what was replaced, one a line; empty where nothing was.
    """
    return "\n".join(sorted(set(_found(set(names)))))


def _found(names: set[str]) -> Iterator[str]:
    for module_name, module in list(sys.modules.items()):
        if not _watched(module_name):
            continue
        if not isinstance(module, types.ModuleType):
            yield module_name
            continue
        for name, thing in list(vars(module).items()):
            if callable(thing) and made_here(thing):
                yield f"{module_name}.{name}"
            if isinstance(thing, type) and _ours(thing.__module__):
                for attribute, method in list(vars(thing).items()):
                    if attribute == "__new__" and hasattr(thing, "_fields"):
                        continue  # of a named tuple, made from text
                    if callable(method) and made_here(method):
                        yield f"{module_name}.{name}.{attribute}"
        if _ours(module_name):
            yield from _not_its_own(module)
    for module_name, name in _CLASSES:
        cls = getattr(sys.modules.get(module_name), name, None)
        for attribute, thing in list(vars(cls).items()) if cls is not None else ():
            getter = thing.fget if isinstance(thing, property) else thing
            if callable(getter) and made_here(getter):
                yield f"{module_name}.{name}.{attribute}"
    yield from _shell()
    space = _space()
    for name in names & set(space):
        thing = space[name]
        if name in _ALIASES:
            if thing is not sys.modules.get(_ALIASES[name]):
                yield f"the name {name}"
        elif hasattr(builtins, name) and callable(thing) and made_here(thing):
            yield f"the name {name}"


def _watched(name: str) -> bool:
    return name in _MODULES or _ours(name)


def _ours(name: str) -> bool:
    return name.startswith(
        ("jaxbits.testing", "jaxbits._equality", "jaxbits._formatting", "jaxbits.detect")
    )


def _not_its_own(module: types.ModuleType) -> Iterator[str]:
    """The functions of one of our modules that are not those of its file."""
    file = str(module.__file__)
    for name in _defined(file):
        thing = getattr(module, name, None)
        thing = getattr(thing, "__wrapped__", thing)
        if getattr(getattr(thing, "__code__", None), "co_filename", None) != file:
            yield f"{module.__name__}.{name}"
    for name, origin, original in _taken(file):
        # What detect takes it takes when it is asked for: then the other module is there.
        there = vars(sys.modules[origin]).get(original) if origin in sys.modules else None
        if name in vars(module) and vars(module)[name] is not there:
            yield f"{module.__name__}.{name}"


@functools.cache
def _body(file: str) -> tuple[ast.stmt, ...]:
    return tuple(ast.parse(Path(file).read_bytes()).body)


def _defined(file: str) -> Iterator[str]:
    for node in _body(file):
        if isinstance(node, ast.FunctionDef):
            yield node.name


def _taken(file: str) -> Iterator[tuple[str, str, str]]:
    """What a module takes from others of ours: its name here, the other module, its name there."""
    conditional = [node.body for node in _body(file) if isinstance(node, ast.If)]
    for node in itertools.chain(_body(file), *conditional):
        if isinstance(node, ast.ImportFrom) and _ours(node.module or ""):
            for name in node.names:
                yield name.asname or name.name, str(node.module), name.name


def _shell() -> Iterator[str]:
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is None:
        return
    for name in ("ast_transformers", "input_transformers_post", "input_transformers_cleanup"):
        if any(made_here(type(t)) or made_here(t) for t in getattr(shell, name, ())):
            yield f"IPython's {name}"
    manager = getattr(shell, "input_transformer_manager", None)
    for name in ("line_transforms", "token_transformers"):
        if any(made_here(t) or made_here(type(t)) for t in getattr(manager, name, ())):
            yield f"IPython's {name}"
    for event, callbacks in shell.events.callbacks.items():
        if any(made_here(callback) for callback in callbacks):
            yield f"IPython's event {event}"
    kernel = getattr(shell, "kernel", None)
    for thing, label in ((shell, "IPython"), (kernel, "the kernel")):
        for where in (getattr(thing, "__dict__", {}), *map(vars, type(thing).__mro__[:-1])):
            for name, value in list(where.items()):
                if callable(value) and made_here(value):
                    yield f"{label}'s {name}"
    if getattr(shell, "custom_exceptions", ()):
        yield "IPython's traceback"
