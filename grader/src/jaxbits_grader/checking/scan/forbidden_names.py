"""Find answers that use a name that their task forbids.

A task can ask students to predict what a program does, without running the program. An answer that
runs the program only for inputs that no test uses passes all tests, but the program's name appears
in its code.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from jaxbits_grader.cell_names import local_names, parameter_names
from jaxbits_grader.checking.scan.changed_values import FILES, accesses_files
from jaxbits_grader.checking.scan.own_code import OwnCode
from jaxbits_grader.notebook import ParsedNotebook

# These use only the keys of a dictionary, such as a dictionary of programs.
_USE_ONLY_KEYS = frozenset(
    {"dict.fromkeys", "enumerate", "frozenset", "iter", "len", "list", "set", "sorted"}
    | {"tuple", "zip"}
)
# Other modules may contain these, for example as testing.jnp.
_MODULES = frozenset({"flax", "jax", "jnp", "lax", "nnx"})
# These only describe values and cannot run or trace a program.
_DESCRIPTIONS = frozenset({"jax.Array", "jax.dtypes", "jax.typeof"})
# These look up a global variable by a string.
_LOOK_UP = frozenset({"eval", "exec", "globals", "locals", "vars"})


class ForbiddenUse(NamedTuple):
    """A use of a forbidden name in the code that an answer runs."""

    task: str
    name: str
    cell: int  # The position in the notebook, from 0.
    line: int


def forbidden_uses(
    notebook: ParsedNotebook,
    released: ParsedNotebook,
    forbidden: Mapping[str, Collection[str]],
) -> Iterator[ForbiddenUse]:
    r"""Yield the first use of each forbidden name in an answer and in the student's code it uses.

    Annotations and other uses of `jax.Array`, `jax.dtypes`, and `jax.typeof` do not count, and
    neither do uses of only a dictionary's keys, such as `for name in programs`.

    Args:
        notebook: The submission. Cells that cannot be parsed or are too long are skipped.
        released: The notebook that was handed out. Its cells are not searched.
        forbidden: The forbidden names for each task, keyed by the grade_id of its answer cell.
            A name such as ".trace" forbids the attribute of any object.

    Example:
        >>> from jaxbits_grader.notebook import Cell, Role
        >>> stub = Cell("code", "def f(x): ...", grade_id="f", role=Role.SOLUTION)
        >>> own = "help_me = measured\ndef f(x):\n    return help_me(x)\nprint(measured(1))"
        >>> answer = Cell("code", own, grade_id="f", role=Role.SOLUTION)
        >>> notebooks = ParsedNotebook((answer,)), ParsedNotebook((stub,))
        >>> list(forbidden_uses(*notebooks, {"f": ["measured"]}))
        [ForbiddenUse(task='f', name='measured', cell=0, line=1)]
    """
    if not forbidden:
        return
    own = OwnCode(notebook, released)
    for task, names in forbidden.items():
        stubs = [cell for cell in released.cells if cell.grade_id == task]
        seen: set[str] = set()
        found: set[str] = set()
        waiting = [name for stub in stubs for name in sorted(stub.names)]
        while waiting:
            bound = waiting.pop()
            if bound in seen:
                continue
            seen.add(bound)
            for statement in own.determining(bound):
                for name, line in _uses(statement.tree, own.binding):
                    if name in names and name not in found:
                        found.add(name)
                        yield ForbiddenUse(task, name, statement.cell, line)
                    waiting.append(name)


def _uses(statement: ast.stmt, bound: Collection[str]) -> list[tuple[str, int]]:
    """Return the global names that a statement uses, with their lines."""
    only_keys = frozenset(name for name in _USE_ONLY_KEYS if name.partition(".")[0] not in bound)
    uses = list(_reads(statement, frozenset(), only_keys))
    if not _LOOK_UP.isdisjoint(name for name, _ in uses):  # As in globals()["measured"].
        constants = [node for node in ast.walk(statement) if isinstance(node, ast.Constant)]
        uses += [(str(node.value), node.lineno) for node in constants]
    if any(map(accesses_files, ast.walk(statement))):
        uses.append((FILES, statement.lineno))
    return uses


def _reads(
    node: ast.AST | None, own: frozenset[str], use_only_keys: frozenset[str]
) -> Iterator[tuple[str, int]]:
    """Yield the global names and imported packages that a node uses, with their lines.

    Args:
        node: The syntax node to search, or None.
        own: The local names of the functions and comprehensions around the node.
        use_only_keys: The functions that use only the keys of a dictionary.
    """
    inside = own
    outer: list[ast.AST | None] = []  # What Python evaluates outside the function.
    inner = [] if node is None else list(ast.iter_child_nodes(node))
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name not in own:
            yield name, node.lineno
        case ast.Attribute(value=ast.Name(), attr="keys"):
            inner = []
        case ast.Attribute() if ast.unparse(node) in _DESCRIPTIONS:
            inner = []
        case ast.Attribute(attr=name):
            yield f".{name}", node.lineno
            if name in _MODULES:  # As in testing.jnp.
                yield name, node.lineno
        case ast.Import(names=aliases):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in aliases)
        case ast.ImportFrom(module=str(module)):
            yield module.partition(".")[0], node.lineno
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            inside = own.union(parameter_names(node), local_names(node))
            outer = [node.args]
            if isinstance(node, ast.Lambda):
                inner = [node.body]
            else:
                outer += [*node.decorator_list, *_bare_names(node.returns)]
                inner = [*node.body]
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            targets = [part for one in node.generators for part in ast.walk(one.target)]
            inside = own.union(part.id for part in targets if isinstance(part, ast.Name))
            outer = [one.iter for one in node.generators if not isinstance(one.iter, ast.Name)]
        case ast.comprehension():
            inner = [*node.ifs]
        case ast.arg():
            inner = []
            outer = [*_bare_names(node.annotation)]
        case ast.AnnAssign():
            inner = [node.target]
            outer = [node.value, *_bare_names(node.annotation)]
        case ast.For(iter=ast.Name() as keys):
            inner.remove(keys)
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name() as keys]):
            inner.remove(keys)
        case ast.Call(func=function) if _is_builtin(function, use_only_keys, own):
            inner = [part for part in inner if not isinstance(part, ast.Name)]
    for children, names in ((outer, own), (inner, inside)):
        for child in children:
            yield from _reads(child, names, use_only_keys)


def _is_builtin(function: ast.expr, names: Collection[str], own: Collection[str]) -> bool:
    """Return whether a function is one of these built-in ones, such as `dict.fromkeys`."""
    name = ast.unparse(function)
    return name in names and name.partition(".")[0] not in own


def _bare_names(annotation: ast.expr | None) -> list[ast.AST]:
    """Return the names in an annotation, except module names such as `jax` in `jax.Array`."""
    nodes = [] if annotation is None else list(ast.walk(annotation))
    modules = [node.value for node in nodes if isinstance(node, ast.Attribute)]
    return [node for node in nodes if isinstance(node, ast.Name) and node not in modules]
