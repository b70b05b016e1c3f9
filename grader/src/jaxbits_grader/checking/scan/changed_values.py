"""Find the names whose values a statement may change, such as a list to which it appends."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

_RETURNS = (ast.Return, ast.Yield, ast.YieldFrom)
# Methods of containers that change nothing.
_ONLY_READ = frozenset(
    {"copy", "count", "get", "index", "isdisjoint", "issubset", "items", "keys", "values"}
)
# Methods that put their arguments into a container, and the containers' classes.
_PUT = frozenset({"add", "append", "extend", "insert", "setdefault", "update"})
_CLASSES = frozenset({"dict", "list", "set"})
# What all files and environment variables count as, together.
FILES = "<files>"
_ACCESS_FILES = frozenset(
    {"dump", "fromfile", "genfromtxt", "getenv", "load", "loadtxt", "memmap", "open", "putenv"}
    | {"read_bytes", "read_text", "save", "savetxt", "savez", "savez_compressed", "setenv"}
    | {"tofile", "write_bytes", "write_text"}
)
# Built-in functions that change none of their arguments.
_PURE = frozenset(
    {"abs", "all", "any", "bool", "dict", "enumerate", "filter", "float", "frozenset", "int"}
    | {"isinstance", "iter", "len", "list", "map", "max", "min", "print", "range", "repr"}
    | {"reversed", "round", "set", "sorted", "str", "sum", "tuple", "type", "zip"}
)


def changed_names(statement: ast.stmt, given: Collection[str]) -> set[str]:
    r"""Return the names whose values a statement may change without binding them.

    Args:
        statement: The statement, such as the definition of a function that changes a table.
        given: The names of functions and modules that change none of their arguments, in addition
            to built-in functions such as `len`.

    Example:
        >>> tree = ast.parse("def learn():\n    TABLE[1] = run(1)\n    seen.append(1)")
        >>> sorted(changed_names(tree.body[0], ["run"]))
        ['TABLE', 'seen']
        >>> sorted(changed_names(ast.parse("operator.setitem(box, 1, run)").body[0], ["run"]))
        ['box', 'operator']
    """
    return set(_changed(statement, _PURE.union(given)))


def _changed(statement: ast.stmt, pure: Collection[str]) -> Iterator[str]:
    for node in ast.walk(statement):
        match node:
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                yield from _root(node)
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                yield from _root(node)
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
            case ast.Call():
                yield from _changed_by_call(node, pure)
                if accesses_files(node):
                    yield FILES
            case ast.Attribute(attr="environ"):
                yield FILES


def _changed_by_call(call: ast.Call, pure: Collection[str]) -> Iterator[str]:
    root, method = list(_root(call.func)), isinstance(call.func, ast.Attribute)
    if root and root[0] in pure and not (method and root[0] in _CLASSES):
        return
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _ONLY_READ:
        yield from root  # Without an attribute, it may be a method, as in put = seen.append.
    if not _puts(call):
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            yield from _shared_names(argument, pure)


def accesses_files(node: ast.AST) -> bool:
    """Return whether a node reads or writes a file or an environment variable.

    Example:
        >>> accesses_files(ast.parse("np.load('a.npy')", mode="eval").body)
        True
    """
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in _ACCESS_FILES
        case ast.Attribute(attr="environ"):
            return True
    return False


def _puts(call: ast.Call) -> bool:
    """Return whether a call puts its arguments into a container, as in `seen.append(table)`."""
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr in _PUT
        and _CLASSES.isdisjoint(_root(function))
    )


def _root(node: ast.expr) -> Iterator[str]:
    """Yield the name at the start of an expression such as `name.part[0]` or `name().part`."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Call(func=value):
                node = value
            case _:
                return
    yield node.id


def shared_values(statement: ast.stmt, given: Collection[str]) -> Iterator[tuple[str, str]]:
    r"""Yield pairs of names whose values may be, or may contain, the same object.

    Args:
        statement: The statement, such as an assignment.
        given: The names of functions and modules that return new values, such as `np`.

    Example:
        >>> list(shared_values(ast.parse("box = [table, np.sum(row)]").body[0], ["np"]))
        [('box', 'table')]
        >>> list(shared_values(ast.parse("def get():\n    return table").body[0], []))
        [('get', 'table')]
    """
    for node in ast.walk(statement):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from _pairs(targets, value, given)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from _pairs([target], value, given)
            case ast.NamedExpr(target=target, value=value):
                yield from _pairs([target], value, given)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield from _pairs([target], value, given)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                yield from _pairs([target], value, given)
            case ast.Call(args=arguments) if _puts(node):
                for root in _root(node.func):
                    for part in arguments:
                        yield from ((root, name) for name in _shared_names(part, given))
            case ast.FunctionDef(name=function):
                defaults = (*node.args.defaults, *node.args.kw_defaults)
                returned = [part for part in ast.walk(node) if isinstance(part, _RETURNS)]
                values = [*defaults, *(one.value for one in returned)]
                for value in filter(None, values):
                    yield from ((function, name) for name in _shared_names(value, given))


def _pairs(
    targets: list[ast.expr], value: ast.expr, given: Collection[str]
) -> Iterator[tuple[str, str]]:
    bound = {part.id for one in targets for part in ast.walk(one) if isinstance(part, ast.Name)}
    for name in _shared_names(value, given):
        yield from ((target, name) for target in sorted(bound))


def _shared_names(value: ast.AST, given: Collection[str]) -> Iterator[str]:
    """Yield the names whose values an expression may return or contain."""
    match value:
        case ast.Name(id=name, ctx=ast.Load()) if name not in given:
            yield name
        case ast.Call(func=function) if not set(_root(function)).isdisjoint(given):
            return
        case ast.Compare():
            return
    for part in ast.iter_child_nodes(value):
        yield from _shared_names(part, given)
