"""Check inside a student's kernel that the notebook has not replaced anything that tests use.

The grader calls `find_replaced` in the student's kernel before each test.
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

# A notebook has no reason to change anything in these packages, whose functions run or check tests.
_CHECKED = {"IPython", "ipykernel", "traitlets", "numpy", "jax", "jaxlib", "flax", "optax"}
_CHECKED |= {"ast", "builtins", "codeop", "inspect", "linecache", "math", "operator", "tokenize"}
_CHECKED |= {"traceback", "warnings"}
_CLASSES = (("jax", "Array"), ("jax._src.array", "ArrayImpl"), ("jax.core", "Tracer"))
_ALIASES = {"np": "numpy", "numpy": "numpy", "jnp": "jax.numpy", "jax": "jax", "lax": "jax.lax"}
_ALIASES |= {"testing": "jaxbits.testing", "detect": "jaxbits.detect"}
_OWN = ("jaxbits.testing", "jaxbits.detect", "jaxbits._")

# The file names that IPython and ipykernel assign to cells:
# https://github.com/ipython/ipykernel/blob/v6.29.5/ipykernel/compiler.py
_CELL_FILE = re.compile(r"<ipython-input-|.*[/\\]ipykernel_\d+[/\\]")
# Code in these folders was installed, so it does not come from a cell.
_PACKAGES = (jaxbits.__file__, jaxbits_grader.__file__)
_SITES = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
_PARENTS = [str(Path(str(path)).parent) for path in _PACKAGES]
_INSTALLED = tuple({sys.prefix, sys.base_prefix, *_SITES, *_PARENTS})
_MAX_WRAPPERS = 10


def find_replaced(names: Iterable[str] = ()) -> str:
    """Return the names of objects that tests use but the notebook has replaced, one per line.

    Args:
        names: Additional names to check because the next test uses them.
    """
    # Without Python's builtins, the other checks may fail.
    found = set(_replaced_in_module("builtins", builtins, set())) or set(_replaced(set(names)))
    return "\n".join(sorted(found))


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
    if file.endswith(".py") and not file.startswith(("<", *_INSTALLED)):
        return True  # A cell must have written this module to a file.
    if _CELL_FILE.match(file) or getattr(function, "__globals__", None) is _notebook_names():
        return True
    return file.startswith("<") and not file.startswith("<frozen") and not _is_generated(function)


def _notebook_names() -> dict[str, Any]:
    return vars(sys.modules["__main__"])


def _is_generated(function: Any) -> bool:
    """Return whether a library compiled a function from a string, as NumPy does for dispatchers."""
    module = getattr(function, "__module__", None)
    return bool(module) and module != "__main__" and module in sys.modules


def _replaced(names: set[str]) -> Iterator[str]:
    seen: set[int] = set()
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] in _CHECKED or _is_own(module_name):
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
    package = str(module_name).partition(".")[0]
    return package in _CHECKED or package == jaxbits.__name__


def _is_own(module_name: str) -> bool:
    return module_name.startswith(_OWN)


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
    if _is_own(module_name):
        yield from _differs_from_file(module)


def _differs_from_file(module: types.ModuleType) -> Iterator[str]:
    """Yield the names in one of our modules that differ from what its file defines or imports."""
    file = str(module.__file__)
    for name in _defined_functions(file):
        thing = getattr(module, name, None)
        thing = getattr(thing, "__wrapped__", thing)
        if getattr(getattr(thing, "__code__", None), "co_filename", None) != file:
            yield f"{module.__name__}.{name}"
    for name, origin, original in itertools.chain(_own_imports(file), _lazy_names(module)):
        # The `detect` package imports its modules lazily, so this one may not be loaded yet.
        expected = vars(sys.modules[origin]).get(original) if origin in sys.modules else None
        if name in vars(module) and vars(module)[name] is not expected:
            yield f"{module.__name__}.{name}"
    for name, constant in _constants(file).items():
        if repr(getattr(module, name, None)) != repr(constant):
            yield f"{module.__name__}.{name}"


@functools.cache
def _parse_module(file: str) -> tuple[ast.stmt, ...]:
    return tuple(ast.parse(Path(file).read_bytes()).body)


def _defined_functions(file: str) -> Iterator[str]:
    for node in _parse_module(file):
        if isinstance(node, ast.FunctionDef):
            yield node.name


@functools.cache
def _constants(file: str) -> dict[str, Any]:
    """Return the numbers, strings, and tuples of them that a module assigns to names."""
    found: dict[str, Any] = {}
    for node in _parse_module(file):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                continue
            if isinstance(value, int | float | str | tuple):
                found[target.id] = value
    return found


def _own_imports(file: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a module imports from our other modules.

    Each item consists of the local name, the other module, and the name in that module.
    """
    body = _parse_module(file)
    conditional = [node.body for node in body if isinstance(node, ast.If)]
    for node in itertools.chain(body, *conditional):
        if isinstance(node, ast.ImportFrom) and _is_own(node.module or ""):
            for name in node.names:
                yield name.asname or name.name, str(node.module), name.name


def _lazy_names(module: types.ModuleType) -> Iterator[tuple[str, str, str]]:
    """Yield the detectors that `jaxbits.detect` imports lazily, in the form `_own_imports` uses.

    The detector `x` is the function `x` in the module `_x`.
    """
    if module.__name__ == "jaxbits.detect":
        for path in Path(str(module.__file__)).parent.glob("_[a-z]*.py"):
            yield path.stem[1:], f"jaxbits.detect.{path.stem}", path.stem[1:]


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
