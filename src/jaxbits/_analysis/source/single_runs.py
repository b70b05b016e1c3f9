"""Find the functions that a module calls exactly once, such as `main`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def functions_run_once(module: ast.Module) -> frozenset[int]:
    r"""Return the first lines of the functions that the module itself calls exactly once.

    Such a function is called by its name, outside any loop, either by the module or by another
    function that runs once. Under ``if __name__ == "__main__"``, it may also be passed to the
    function that calls it.

    >>> source = "def main():\n    set_up()\n\ndef set_up():\n    pass\n\nmain()"
    >>> sorted(functions_run_once(ast.parse(source)))
    [1, 4]
    """
    defined: dict[str, list[_Function]] = {}
    for node in ast.walk(module):
        if isinstance(node, _Function):
            defined.setdefault(node.name, []).append(node)
    uses: dict[str, list[tuple[str, bool]]] = {}
    for name, owner, is_single in _uses(module, "", True, False):
        uses.setdefault(name, []).append((owner, is_single))
    found: set[str] = {""}
    size = 0
    while size < len(found):
        size = len(found)
        for name, functions in defined.items():
            calls = uses.get(name, ())
            if len(functions) == len(calls) == 1 and functions[0] in module.body:
                owner, is_single = calls[0]
                found |= {name} if is_single and owner in found else set()
    lines = (functions[0] for name, functions in defined.items() if name in found)
    return frozenset(min([f.lineno, *(d.lineno for d in f.decorator_list)]) for f in lines)


def _uses(
    node: ast.AST, owner: str, is_single: bool, is_main: bool
) -> Iterator[tuple[str, str, bool]]:
    """Yield (name, function, is_single) for each use of a name inside a node.

    The function is the one that contains the use, or an empty string, and `is_single` is whether
    the use is a call that happens at most once each time this function runs.
    """
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id, owner, False
        return
    if isinstance(node, ast.Call):
        direct = [node.func, *(node.args if is_main else ())]
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name) and child in direct:
                yield child.id, owner, is_single
            else:
                yield from _uses(child, owner, is_single, is_main)
        return
    if isinstance(node, (*_LOOPS, *_COMPREHENSIONS, ast.Lambda, ast.ClassDef)):
        is_single = False
    if isinstance(node, _Function):
        is_single, owner = not owner and is_single, node.name
    if isinstance(node, ast.If) and not owner and ast.unparse(node.test).startswith("__name__"):
        is_main = True
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, owner, is_single, is_main and not isinstance(node, _Function))
