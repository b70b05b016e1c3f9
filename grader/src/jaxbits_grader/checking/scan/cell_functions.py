"""Find functions that only cells call, such as a student's own benchmark.

Such a function runs together with a cell and never while a test calls an answer. Therefore, it
cannot tell an answer which test calls it, whatever it finds out about its surroundings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxbits_grader.checking.scan.ast_utils import is_too_long, parse_cell
from jaxbits_grader.notebook import ParsedNotebook

_WORD = re.compile(r"\w+")
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.GeneratorExp


def functions_that_only_cells_call(
    notebook: ParsedNotebook, released: ParsedNotebook
) -> frozenset[str]:
    r"""Return the names of functions that cells call and that the notebook does not use otherwise.

    Answers do not count, because tests call them, and neither do generators, because they run when
    somebody else asks for their next value.

    Args:
        notebook: The submission.
        released: The notebook that was handed out. No function counts whose name it uses.

    Example:
        >>> from jaxbits_grader.notebook import Cell
        >>> source = "def a(): pass\ndef b(): c()\ndef c(): pass\na()\nb()\nprint(b)"
        >>> own = ParsedNotebook((Cell("code", source),))
        >>> functions_that_only_cells_call(own, ParsedNotebook(()))
        frozenset({'a'})
    """
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    if any(map(is_too_long, sources)):
        return frozenset()
    trees = [tree for source in sources if (tree := parse_cell(source))]
    calls = [n.func for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call)]
    found = {function.id for function in calls if isinstance(function, ast.Name)}
    found &= {n.name for tree in trees for n in tree.body if isinstance(n, ast.FunctionDef)}
    for cell in released.cells:
        found -= cell.names | cell.used_names
    names = frozenset(found)
    for tree in trees:
        for statement in tree.body:
            found.difference_update(_other_uses(statement, names, at_cell_level=True))
    return frozenset(found)


def _is_plain_function(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return False
    return not any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node))


def _other_uses(node: ast.AST, names: frozenset[str], *, at_cell_level: bool) -> Iterator[str]:
    """Yield the names that a node uses in any other way than by calling them in a cell."""
    called: ast.AST | None = None
    match node:
        case ast.Call(func=ast.Name() as function) if at_cell_level:
            called = function
        case ast.Name(id=name) | ast.arg(arg=name) | ast.ClassDef(name=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            if not (at_cell_level and _is_plain_function(node)):
                yield name
        case ast.alias(name=name, asname=asname):
            yield asname or name
        case ast.Global(names=several) | ast.Nonlocal(names=several):
            yield from several
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.Constant(value=str(text)) if not names.isdisjoint(_WORD.findall(text)):
            # Functions such as `exec` may run the text, and it may be a key of `globals()`.
            tree = None if is_too_long(text) else parse_cell(text)
            if tree is not None:
                yield from _other_uses(tree, names, at_cell_level=False)
    is_inside = at_cell_level and not isinstance(node, _Scope)
    for child in ast.iter_child_nodes(node):
        if child is not called:
            yield from _other_uses(child, names, at_cell_level=is_inside)
