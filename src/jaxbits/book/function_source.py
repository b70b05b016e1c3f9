"""Turn a function and everything that it uses into the source of a separate program."""

from __future__ import annotations

import ast
import contextlib
import dis
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from jaxbits.book.exercises.solution_source import strip_annotations


def self_contained_source(function: Callable[..., Any]) -> list[str]:
    r"""Return the source of a function, preceded by the source of everything that it uses.

    The function may use modules, importable objects, other functions in the same module or
    notebook, and values whose ``repr`` is a Python literal.

    Returns:
        Imports, assignments, and function definitions, in the order in which they must run.

    Raises:
        ValueError: If `function` is not a plain ``def``, or if it uses any other kind of object.

    >>> def scaled(x):
    ...     return 2 * x
    >>> self_contained_source(scaled)
    ['def scaled(x):\n    return 2 * x\n']
    """
    if not isinstance(function, types.FunctionType):
        raise ValueError(f"program must be a function defined with def, got {function!r}")
    parts: dict[str, str] = {}
    _add_source(function.__name__, function, function, parts)
    return list(parts.values())


def brief_source(function: Callable[..., Any]) -> str:
    """Return a function's source without annotations and without its docstring.

    Raises:
        ValueError: If `function` is not a plain ``def`` whose source is available.

    >>> def doubled(x: int) -> int:
    ...     '''Return twice the number.'''
    ...     return 2 * x  # twice
    >>> print(brief_source(doubled))
    def doubled(x):
        return 2 * x  # twice
    """
    source = strip_annotations(_definition(function))
    lines, body = source.rstrip().split("\n"), ast.parse(source).body[0]
    if isinstance(body, ast.FunctionDef) and ast.get_docstring(body):
        docstring = body.body[0]
        del lines[docstring.lineno - 1 : docstring.end_lineno]
    return "\n".join(lines)


def _add_source(name: str, value: Any, program: types.FunctionType, parts: dict[str, str]) -> None:
    """Add source that binds `name` to `value`, preceded by the source of everything it uses."""
    if name in parts:
        return
    if isinstance(value, types.ModuleType):
        parts[name] = f"import {value.__name__} as {name}"
        return
    if isinstance(value, types.FunctionType) and value.__globals__ is program.__globals__:
        source = _definition(value)
        parts[name] = ""  # This stops the recursion if the function calls itself.
        for used_name, used_value in _captured_names(value):
            _add_source(used_name, used_value, program, parts)
        del parts[name]
        parts[name] = source
        return
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module and module != "__main__" and getattr(sys.modules.get(module), path, None) is value:
        parts[name] = f"from {module} import {path} as {name}"
        return
    with contextlib.suppress(ValueError, SyntaxError, TypeError):
        if bool(ast.literal_eval(repr(value)) == value):
            parts[name] = f"{name} = {value!r}"
            return
    raise ValueError(
        f"{program.__name__} uses {name} ({type(value).__name__}), which cannot be sent to "
        "another process; create it inside the function"
    )


def _definition(function: Callable[..., Any]) -> str:
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError:
        raise ValueError(f"cannot find the source of {function.__name__}") from None
    if not source.startswith("def "):
        raise ValueError(f"{function.__name__} must be a plain def without decorators")
    return source


def _captured_names(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each free variable and global that a function uses."""
    cells = function.__closure__ or ()
    yield from (
        (name, cell.cell_contents)
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True)
    )
    for name in dict.fromkeys(_global_names(function.__code__)):
        if name in function.__globals__ and not name.startswith("__"):
            yield name, function.__globals__[name]


def _global_names(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
