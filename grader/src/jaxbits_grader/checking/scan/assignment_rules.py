"""Names that are given a value: whether one that the tests use still is what they take it for."""

from __future__ import annotations

import ast

from jaxbits_grader.checking.scan import protected_names as relied_on
from jaxbits_grader.checking.scan.ast_utils import Function
from jaxbits_grader.checking.scan.constant_functions import always_the_same
from jaxbits_grader.checking.scan.findings import Findings, Kind
from jaxbits_grader.checking.scan.name_resolution import Names

_NOT_PLAIN = Function | ast.ClassDef | ast.Name | ast.Attribute | ast.Import | ast.ImportFrom


def bind(
    name: str,
    value: ast.AST | None,
    path: str | None,
    where: ast.AST,
    names: Names,
    found: Findings,
) -> None:
    """Give a name a value, in the notebook or inside of a function or class."""
    scope = names.scope_of(name)
    if scope is not names.notebook:
        scope.paths[name] = path
        judge_method(name, value, where, names, found)
        return
    judge(name, value, path, where, names, found)
    function = names.function(value)
    scope.paths[name] = path
    if function is None:
        names.functions.pop(name, None)
    else:
        names.functions[name] = function


def judge(
    name: str,
    value: ast.AST | None,
    path: str | None,
    where: ast.AST,
    names: Names,
    found: Findings,
) -> None:
    """Report a name of the notebook's that gets a value with which the tests say nothing."""
    data = _is_data(value, names)
    instead = f"puts something else in place of Python's {name}"
    if name in relied_on.NAMES:
        if path != relied_on.NAMES[name]:
            harmless = data or path in relied_on.LIKE_NUMPY
            what = f"makes {name} something else than the module"
            found.add("odd" if harmless else "tampered", where, what)
    elif name in relied_on.TYPES | relied_on.FUNCTIONS:
        sure = name in relied_on.TYPES
        if (path or "").rpartition(".")[2] == name or (data and not sure):
            return
        # The tests take Python's own from elsewhere: a function of this name is theirs to have.
        sure = sure or isinstance(value, ast.ClassDef) or always_the_same(value, names) is not None
        kind: Kind = "tampered" if sure or (path or "").startswith("builtins.") else "odd"
        found.add(kind, where, instead)
    elif name in relied_on.COMMON and (always := always_the_same(value, names)):
        found.add(always, where, instead)


def judge_method(
    name: str | None, value: ast.AST | None, where: ast.AST, names: Names, found: Findings
) -> None:
    """Report what a class gets that makes its objects equal to anything.

    It may get it in its body, from outside, or by a dictionary that makes it.
    """
    if name in relied_on.COMPARISONS and (kind := always_the_same(value, names)):
        found.add(kind, where, f"makes a {name} that always answers the same")


def _is_data(value: ast.AST | None, names: Names) -> bool:
    """Whether a value is plainly no function: calling it fails."""
    if not isinstance(value, ast.Call):
        return not isinstance(value, _NOT_PLAIN)
    module, _, made = (names.path(value.func) or "").partition(".")
    if module == "builtins":
        return made in relied_on.MAKES_DATA
    makes_function = made.rpartition(".")[2] in relied_on.MAKES_FUNCTIONS
    return module in ("numpy", "jax", "math") and not makes_function
