"""Find code that sets attributes of objects that it does not own, however it is written.

Answers set attributes of their own objects through ``self``. They have no reason to set an
attribute of an object, class, or module that a test also uses, except to a literal.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxbits_grader.cell_names import Function, parameter_names
from jaxbits_grader.checking.scan.usual_names import MUTATORS

# Flax's layers have these settings, which an answer may restore.
_SETTINGS = ("deterministic", "use_running_average")
_DERIVATIVES = ("def_vmap", "defjvp", "defjvps", "defvjp", "defvjps")
# Other decorators could call a method with an object of another class.
_DECORATORS = ("cached_property", "classmethod", "compact", "jit", "nowrap", "property", "setter")
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def find_foreign_attributes(
    tree: ast.AST, setters: set[tuple[str, str]], functions: set[str]
) -> Iterator[tuple[ast.AST, str]]:
    """Yield each node that sets an attribute of another object, and what it does.

    Args:
        tree: The syntax tree of a cell.
        setters: The names of classes and their methods that set attributes in the cells above. This
            function adds those of this cell.
        functions: The names of the functions and classes that the notebook defines, including those
            in this cell. This function adds those that have custom derivatives.
    """
    yield from _find(tree, frozenset(functions - _rebound(tree)))
    setters.update(_setters(tree))
    functions.update(_custom_functions(tree))
    classes = {cls for cls, method in setters if not method.startswith("__")}
    usual = {id(part) for node in ast.walk(tree) for part in _usual_uses(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=cls, ctx=ast.Load()) if cls in classes and id(node) not in usual:
                # Under another name, its methods could set attributes of any object.
                yield node, f"uses the class {cls} itself, whose methods set attributes"
            case ast.Attribute(value=ast.Name(id=cls), attr=name) if (cls, name) in setters:
                # `Own.method(thing)` sets an attribute of `thing`.
                yield node, f"uses {cls}.{name}, which sets attributes, without an instance"
            case ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id=cls)]):
                if any(cls == setter for setter, _ in setters):
                    yield node, f"accesses all attributes of a class (vars({cls}))"
            case ast.Call(func=ast.Attribute(attr=name, value=owner)) if name in _DERIVATIVES:
                if not (isinstance(owner, ast.Name) and owner.id in functions):
                    yield node, f"sets the derivative of a function it does not define ({name})"


def _find(
    node: ast.AST, own: frozenset[str], *, in_class: bool = False
) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, _FUNCTIONS):
        own -= set(parameter_names(node))
        own |= set(_self_name(node)) - _rebound(node) if in_class else set()
    for target, value in assignments(node):
        if isinstance(target, ast.Attribute) and not (
            _is_own(target.value, own) or _is_plain(value) or target.attr in _SETTINGS
        ):
            yield node, f"sets an attribute of another object ({target.attr})"
    match node:
        case ast.Delete(targets=[*targets]):
            for target in targets:
                if isinstance(target, ast.Attribute) and not _is_own(target.value, own):
                    yield node, f"deletes an attribute of another object ({target.attr})"
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="vars")), attr=name)):
            if name in MUTATORS:
                yield node, f"changes attributes through vars ({name})"
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars")), ctx=ast.Store() | ast.Del()):
            yield node, "changes attributes through vars"
        case ast.Call(
            func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(name)), value]
        ):
            if not (_is_own(owner, own) or _is_plain(value)):
                yield node, f"sets an attribute of another object ({name})"
        case ast.Call(func=ast.Attribute(attr="__init__", value=owner), args=[first, *_]):
            is_super = isinstance(owner, ast.Call)
            if not (is_super or _is_own(first, own)):
                yield node, "calls __init__ on another object"
    for child in ast.iter_child_nodes(node):
        yield from _find(child, own, in_class=isinstance(node, ast.ClassDef))


def assignments(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Return the targets of any kind of assignment, each with what it may be set to.

    Example:
        >>> node = ast.parse("for a.b, c in d: pass").body[0]
        >>> [(ast.unparse(target), ast.unparse(value)) for target, value in assignments(node)]
        [('a.b', 'd'), ('c', 'd')]
    """
    match node:
        case ast.Assign(targets=targets, value=value):
            found = [(target, value) for target in targets]
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            found = [(target, value)]
        case ast.AugAssign(target=target, value=value):
            found = [(target, value)]
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            found = [(target, value)]
        case ast.comprehension(target=target, iter=value):
            found = [(target, value)]
        case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
            found = [(target, value)]
        case _:
            found = []
    return [(part, value) for target, value in found for part in _parts(target)]


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _parts(part)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def _is_own(owner: ast.expr, own: frozenset[str]) -> bool:
    return isinstance(owner, ast.Name) and owner.id in own


def _is_plain(value: ast.expr) -> bool:
    """Return whether a value consists of literals."""
    kinds = ast.Constant | ast.UnaryOp | ast.BinOp | ast.Tuple | ast.List | ast.Dict | ast.Load
    return all(isinstance(part, kinds | ast.operator | ast.unaryop) for part in ast.walk(value))


def _self_name(function: Function) -> list[str]:
    """Return the name of a method's first parameter in a list, which is empty if it may differ."""
    names = [part.arg for part in (*function.args.posonlyargs, *function.args.args)]
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    is_usual = all(_last_name(one) in _DECORATORS for one in decorators)
    return names[:1] if is_usual else []


def _last_name(decorator: ast.expr) -> str:
    """Return the last name in a decorator, such as ``jit`` in ``@partial(jax.jit, ...)``."""
    if isinstance(decorator, ast.Call):
        is_partial = _last_name(decorator.func) == "partial" and decorator.args
        return _last_name(decorator.args[0] if is_partial else decorator.func)
    return decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")


def _usual_uses(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that are classes if the node creates, checks, or derives one."""
    match node:
        case ast.Call(func=function, args=args):
            yield function
            name = _last_name(function)
            if name in ("isinstance", "issubclass") or name.startswith("register_"):
                yield from (part for argument in args for part in ast.walk(argument))
        case ast.ClassDef(bases=bases):
            yield from bases
        case ast.Attribute(value=value):
            yield value
        case ast.arg(annotation=ast.expr() as note) | ast.AnnAssign(annotation=note):
            yield from ast.walk(note)
        case ast.FunctionDef(returns=ast.expr() as note):
            yield from ast.walk(note)


def _rebound(tree: ast.AST) -> set[str]:
    """Return the names that code binds in any way other than by defining a function or class."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.NamedExpr(target=ast.Name(id=name)) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
        found.update(t.id for t, _ in assignments(node) if isinstance(t, ast.Name))
    return found


def _custom_functions(tree: ast.AST) -> Iterator[str]:
    """Yield the names of variables such as ``f`` in ``f = jax.custom_jvp(g)``."""
    for node in ast.walk(tree):
        for target, value in assignments(node):
            made = [value.func, *value.args[:1]] if isinstance(value, ast.Call) else []
            is_custom = any("custom_" in ast.unparse(part) for part in made)
            if isinstance(target, ast.Name) and is_custom:
                yield target.id


def _setters(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names of classes and of their methods that set an attribute of ``self``."""
    for cls in ast.walk(tree):
        if not isinstance(cls, ast.ClassDef):
            continue
        for method in cls.body:
            if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                own = _self_name(method)
                targets = [
                    target
                    for node in ast.walk(method)
                    for target, value in assignments(node)
                    if not _is_plain(value)
                ]
                stores = [t.value for t in targets if isinstance(t, ast.Attribute)]
                if any(isinstance(owner, ast.Name) and owner.id in own for owner in stores):
                    yield cls.name, method.name
