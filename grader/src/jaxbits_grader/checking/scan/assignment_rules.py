"""Judge whether an assignment statement changes the meaning of a name that tests use."""

from __future__ import annotations

import ast

from jaxbits_grader.cell_names import Function
from jaxbits_grader.checking.scan import protected_names
from jaxbits_grader.checking.scan.constant_functions import constant_function_kind
from jaxbits_grader.checking.scan.findings import Findings, Kind
from jaxbits_grader.checking.scan.name_resolution import NameResolver

_MAYBE_CALLABLE = Function | ast.ClassDef | ast.Name | ast.Attribute | ast.Import | ast.ImportFrom


def record_assignment(
    name: str,
    value: ast.AST | None,
    path: str | None,
    where: ast.AST,
    names: NameResolver,
    found: Findings,
) -> None:
    """Record an assignment to a name, and report it if it is not allowed.

    Args:
        name: The name that is assigned to.
        value: The syntax tree of the value, or None if it is unknown.
        path: The dotted name of the value, or None if it has none.
        where: The syntax node whose line is reported.
        names: The names known so far, which this function updates.
        found: The collection to which findings are added.
    """
    scope = names.scope_of(name)
    if scope is not names.notebook:
        scope.paths[name] = path
        judge_method(name, value, where, names, found)
        return
    judge_name(name, value, path, where, names, found)
    function = names.function(value)
    scope.paths[name] = path
    if function is None:
        names.functions.pop(name, None)
    else:
        names.functions[name] = function


def judge_name(
    name: str,
    value: ast.AST | None,
    path: str | None,
    where: ast.AST,
    names: NameResolver,
    found: Findings,
) -> None:
    """Report an assignment to a global name if it would make tests meaningless.

    Args:
        name: The global name that is assigned to.
        value: The syntax tree of the value, or None if it is unknown.
        path: The dotted name of the value, or None if it has none.
        where: The syntax node whose line is reported.
        names: The names known so far.
        found: The collection to which findings are added.
    """
    given = names.given.get(name)
    if given and path != given and name not in protected_names.NAMES:
        # Given functions, which some tests call in the student's process, use this name, too.
        found.add("odd", where, f"rebinds {name}, which was {given}")
    is_data = _is_data(value, names)
    instead = f"replaces Python's {name} with something else"
    if name in protected_names.NAMES:
        if path != protected_names.NAMES[name]:
            is_honest = is_data or path in protected_names.HONEST_MODULES
            what = f"rebinds {name}, which was a module"
            found.add("odd" if is_honest else "tampering", where, what)
    elif name in protected_names.TYPES | protected_names.FUNCTIONS:
        is_certain = name in protected_names.TYPES
        if (path or "").rpartition(".")[2] == name or (is_data and not is_certain):
            return
        # A student may have honest reasons to define a function with this name, and tests call
        # Python's own function anyway.
        is_constant = constant_function_kind(value, names) is not None
        is_certain = is_certain or isinstance(value, ast.ClassDef) or is_constant
        kind: Kind = "tampering" if is_certain or (path or "").startswith("builtins.") else "odd"
        found.add(kind, where, instead)
    elif name in protected_names.COMMON and (constant_kind := constant_function_kind(value, names)):
        found.add(constant_kind, where, instead)


def judge_method(
    name: str | None, value: ast.AST | None, where: ast.AST, names: NameResolver, found: Findings
) -> None:
    """Report a comparison method that always returns the same value.

    With such a method, an object can compare equal to anything.

    Args:
        name: The name of the method, or None if it is unknown.
        value: The syntax tree of the method, or None if it is unknown.
        where: The syntax node whose line is reported.
        names: The names known so far.
        found: The collection to which findings are added.
    """
    if name in protected_names.COMPARISONS and (kind := constant_function_kind(value, names)):
        found.add(kind, where, f"defines a {name} that always returns the same value")


def _is_data(value: ast.AST | None, names: NameResolver) -> bool:
    """Return whether a value is certainly not callable."""
    if not isinstance(value, ast.Call):
        return not isinstance(value, _MAYBE_CALLABLE)
    module, _, made = (names.path(value.func) or "").partition(".")
    if module == "builtins":
        return made in protected_names.MAKES_DATA
    makes_function = made.rpartition(".")[2] in protected_names.MAKES_FUNCTIONS
    return module in ("numpy", "jax", "math") and not makes_function
