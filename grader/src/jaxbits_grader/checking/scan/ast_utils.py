"""Parse cells and extract details from their syntax trees."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from IPython.core.inputtransformer2 import TransformerManager

from jaxbits_grader.cell_names import Function, parameter_names
from jaxbits_grader.notebook import MAX_CELL_CHARACTERS

# IPython tokenizes the whole cell again for each magic, so we limit the product of the number of
# possible magics and the length of the cell:
# https://github.com/ipython/ipython/blob/8.30.0/IPython/core/inputtransformer2.py
_MAX_MAGIC_WORK = 20_000_000
_MAYBE_MAGIC = re.compile(r"^[^#\n]*[%!?]", re.M)


def is_too_long(source: str) -> bool:
    """Return whether parsing a cell would take too much time or memory."""
    magic_work = len(source) * len(_MAYBE_MAGIC.findall(source))
    return len(source) > MAX_CELL_CHARACTERS or magic_work > _MAX_MAGIC_WORK


def parse_cell(source: str) -> ast.Module | None:
    """Return the syntax tree of a cell as IPython would run it, or None if it cannot be parsed."""
    # IPython's automagic runs a single line that is not valid Python as if it began with %.
    transform = TransformerManager().transform_cell
    attempts = [source] + [f"%{source}"] * ("\n" not in source.strip())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for attempt in attempts:
            try:
                code = transform(attempt)
                flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
                found = compile(code, "cell", "exec", flags, dont_inherit=True)
            except (RecursionError, MemoryError):
                raise
            except Exception:  # IPython's transformers can raise any exception.
                continue
            assert isinstance(found, ast.Module)
            return found
    return None


def string_name(node: ast.expr | None) -> str | None:
    """Return the value of a string literal that could be a dotted name, or None for other nodes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value if node.value.replace(".", "_").isidentifier() else None
    return None


def key_value_pairs(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the key-value pairs that a call to ``dict.update`` or a similar method sets."""
    for keyword in call.keywords:
        if keyword.arg:
            yield keyword.arg, keyword.value
    if len(call.args) == 2 and (name := string_name(call.args[0])):
        yield name, call.args[1]
    for argument in call.args:
        if isinstance(argument, ast.Dict):
            for key, value in zip(argument.keys, argument.values, strict=True):
                if name := string_name(key):
                    yield name, value


def base_name(node: ast.expr) -> str | None:
    """Return the name at the start of a chain of attributes and indices, such as ``x.y[0].z``.

    The result is None if the chain does not start with a name.
    """
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def changed_parameters(function: Function) -> set[str]:
    """Return the names of the parameters whose attributes a function sets or deletes."""
    changed: set[str | None] = set()
    for node in ast.walk(function):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                changed.add(base_name(node))
            case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()):
                changed.add(_namespace_owner(owner))
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[owner, *_]):
                changed.add(base_name(owner))
    return {name for name in parameter_names(function) if name in changed}


def _namespace_owner(node: ast.expr) -> str | None:
    """Return the name ``m`` for ``m.__dict__`` and ``vars(m)``, or None for other expressions."""
    match node:
        case ast.Attribute(attr="__dict__"):
            return base_name(node)
        case ast.Call(func=ast.Name(id="vars"), args=[owner, *_]):
            return base_name(owner)
    return None
