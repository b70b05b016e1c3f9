"""Check inside a student's kernel that the notebook has not replaced anything that tests use.

The grader calls `find_replaced` in the student's kernel before each test. That function does not
check the modules of this project, because the census compares them.
"""

from __future__ import annotations

import builtins
import functools
import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jaxbits
import jaxbits_grader

# A notebook has no reason to change anything in these packages, whose functions run or check tests.
_LIBRARIES = {"IPython", "ipykernel", "traitlets", "numpy", "jax", "jaxlib", "flax", "optax"}
_CHECKED = _LIBRARIES | {"ast", "builtins", "codeop", "inspect", "linecache", "math", "operator"}
_CHECKED |= {
    "tokenize",
    "traceback",
    "warnings",
    "asyncio",
    "contextlib",
    "functools",
    "gc",
    "importlib",
    "json",
}
_CHECKED |= {"jupyter_client", "pkgutil", "queue", "re", "threading", "tornado", "types"}
_CLASSES = (("jax", "Array"), ("jax._src.array", "ArrayImpl"), ("jax.core", "Tracer"))
_ALIASES = {"np": "numpy", "numpy": "numpy", "jnp": "jax.numpy", "jax": "jax", "lax": "jax.lax"}
_ALIASES |= {"testing": "jaxbits.testing", "detect": "jaxbits.detect"}

# The file names that IPython and ipykernel assign to cells:
# https://github.com/ipython/ipykernel/blob/v6.29.5/ipykernel/compiler.py
_CELL_FILE = re.compile(r"<ipython-input-|.*[/\\]ipykernel_\d+[/\\]")
# Code in these folders was installed, so it does not come from a cell.
_PACKAGES = (jaxbits.__file__, jaxbits_grader.__file__)
_SITES = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
_PARENTS = [str(Path(str(path)).parent) for path in _PACKAGES]
_INSTALLED = tuple({sys.prefix, sys.base_prefix, *_SITES, *_PARENTS})
_MAX_WRAPPERS = 10


def find_replaced(names: Iterable[str] = (), *, in_libraries: bool = True) -> str:
    """Return the names of objects that tests use and that the notebook has replaced, one per line.

    Args:
        names: Additional names to check because the next test uses them.
        in_libraries: Whether to search the libraries' modules, too, which takes longer. The census
            knows whether one of them has changed.
    """
    # Check builtins first, because the other checks may fail if a builtin has been replaced.
    found = set(_replaced_in_module("builtins", builtins, set())) or set(
        _replaced(set(names), in_libraries)
    )
    return "\n".join(sorted(found))


def find_written_modules() -> str:
    """Return the names of the imported modules whose files the notebook wrote, one per line.

    Such a module can pose as a package that is not installed.

    Example:
        >>> "numpy" in find_written_modules().splitlines()
        False
    """
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    # Some modules of PyTorch that exist only in memory claim a file without a folder.
    own = {n for n, file in files.items() if _is_written(file) and Path(str(file)).is_absolute()}
    return "\n".join(sorted(own))


def _is_written(file: Any) -> bool:
    return type(file) is str and file.endswith(".py") and not file.startswith(("<", *_INSTALLED))


def is_defined_in_notebook(thing: Any) -> bool:
    """Return whether a function or class was defined in a cell or wraps a function that was.

    Example:
        >>> is_defined_in_notebook(len)
        False
        >>> is_defined_in_notebook(types.FunctionType(compile("1", "<cell>", "exec"), {}))
        True
    """
    for _ in range(_MAX_WRAPPERS):
        # Do not use `isinstance`, which the notebook may have replaced.
        if type in type(thing).__mro__:
            file = getattr(sys.modules.get(thing.__module__), "__file__", None)
            is_here = file is not None and _is_cell_code(str(file), None)
            return thing.__module__ == "__main__" or is_here
        if type(thing).__module__ == "unittest.mock":
            return True
        thing = getattr(thing, "__func__", thing)
        code = getattr(thing, "__code__", None)
        if type(code) is types.CodeType:
            return _is_cell_code(code.co_filename, thing)
        # functools, JAX, and np.vectorize store the wrapped function in one of these attributes.
        inner = (getattr(thing, name, None) for name in ("__wrapped__", "func", "pyfunc"))
        wrapped = next((part for part in inner if part is not None), None)
        if wrapped is None:
            # The result of np.frompyfunc has no reference to the wrapped function, only this name.
            is_frompyfunc = "(vectorized)" in str(getattr(thing, "__name__", ""))
            return is_frompyfunc or (type(thing).__module__ == "__main__" and callable(thing))
        thing = wrapped
    return False


def _is_cell_code(file: str, function: Any) -> bool:
    if _is_cell_file(file) or getattr(function, "__globals__", None) is _notebook_names():
        return True
    return file.startswith("<") and not file.startswith("<frozen") and not _is_generated(function)


# A package's thousands of functions are in few files, and this check runs before every test.
@functools.cache
def _is_cell_file(file: str) -> bool:
    return _is_written(file) or _CELL_FILE.match(file) is not None


def _notebook_names() -> dict[str, Any]:
    return vars(sys.modules["__main__"])


def _is_generated(function: Any) -> bool:
    """Return whether a library compiled a function from a string, as NumPy does for dispatchers."""
    module = getattr(function, "__module__", None)
    return bool(module) and module != "__main__" and module in sys.modules


def _replaced(names: set[str], in_libraries: bool) -> Iterator[str]:
    seen: set[int] = set()
    searched = _CHECKED if in_libraries else _CHECKED - _LIBRARIES
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] in searched:
            yield from _replaced_in_module(module_name, module, seen)
    for module_name, name in _CLASSES:
        cls = getattr(sys.modules.get(module_name), name, None)
        for attribute, thing in list(vars(cls).items()) if cls is not None else ():
            getter = thing.fget if isinstance(thing, property) else thing
            if callable(getter) and is_defined_in_notebook(getter):
                yield f"{module_name}.{name}.{attribute}"
    yield from _replaced_in_shell()
    notebook = _notebook_names()
    for name in names & set(notebook):
        thing = notebook[name]
        if name in _ALIASES:
            if thing is not sys.modules.get(_ALIASES[name]):
                yield f"the name {name}"
        elif hasattr(builtins, name) and callable(thing) and is_defined_in_notebook(thing):
            yield f"the name {name}"


def _is_checked(module_name: Any) -> bool:
    return str(module_name).partition(".")[0] in _CHECKED


def _replaced_in_module(module_name: str, module: Any, seen: set[int]) -> Iterator[str]:
    """Yield the names in a module that the notebook has replaced.

    Args:
        module_name: The name of the module.
        module: The module.
        seen: The `id` of each object that was examined under another name. The objects that this
            module holds are added.
    """
    if types.ModuleType not in type(module).__mro__:
        yield module_name
        return
    for name, thing in list(vars(module).items()):
        if not callable(thing) or id(thing) in seen:
            continue
        seen.add(id(thing))
        if is_defined_in_notebook(thing):
            yield f"{module_name}.{name}"
        if type in type(thing).__mro__ and _is_checked(thing.__module__):
            for attribute, method in list(vars(thing).items()):
                if attribute == "__new__" and hasattr(thing, "_fields"):
                    continue  # namedtuple compiles its __new__ from a string.
                if callable(method) and is_defined_in_notebook(method):
                    yield f"{module_name}.{name}.{attribute}"


def _replaced_in_shell() -> Iterator[str]:
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is None:
        return
    manager = getattr(shell, "input_transformer_manager", None)
    for owner, names in (
        (shell, ("ast_transformers", "input_transformers_post", "input_transformers_cleanup")),
        (manager, ("line_transforms", "token_transformers")),
    ):
        for name in names:
            hooks = getattr(owner, name, ())
            if any(is_defined_in_notebook(h) or is_defined_in_notebook(type(h)) for h in hooks):
                yield f"IPython's {name}"
    for event, callbacks in shell.events.callbacks.items():
        if any(map(is_defined_in_notebook, callbacks)):
            yield f"IPython's event {event}"
    for thing, label in ((shell, "IPython"), (getattr(shell, "kernel", None), "the kernel")):
        for where in (getattr(thing, "__dict__", {}), *map(vars, type(thing).__mro__[:-1])):
            for name, value in list(where.items()):
                if callable(value) and is_defined_in_notebook(value):
                    yield f"{label}'s {name}"
    if getattr(shell, "custom_exceptions", ()):
        yield "IPython's traceback"
