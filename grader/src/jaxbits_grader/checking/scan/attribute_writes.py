"""Find code that writes to attributes of modules, classes, or the IPython shell."""

from __future__ import annotations

import ast
import sys

from jaxbits_grader.cell_names import parameter_names
from jaxbits_grader.checking.scan import protected_names
from jaxbits_grader.checking.scan.assignment_rules import (
    judge_method,
    judge_name,
    record_assignment,
)
from jaxbits_grader.checking.scan.ast_utils import key_value_pairs, string_name
from jaxbits_grader.checking.scan.findings import Findings
from jaxbits_grader.checking.scan.name_resolution import NameResolver, namespace_prefix
from jaxbits_grader.checking.scan.protected_names import is_within

_SETTERS = ("setattr", "delattr", "__setattr__", "__delattr__", "object")
# If a setter belongs to one of these, its first argument is the object to change.
_TAKES_OWNER = (None, "builtins", "builtins.object", "builtins.type", "unittest.mock.patch")
_TAKES_DOTTED_NAME = ("patch", "setattr", "delattr")
_DICT_METHODS = ("update", "__setitem__", "setdefault")
# These functions take the dictionary as their first argument.
_UNBOUND_DICT_METHODS = ("operator.setitem", *(f"builtins.dict.{name}" for name in _DICT_METHODS))


class WriteChecker:
    """Reports code that writes to anything that the tests or the shell rely on."""

    def __init__(self, names: NameResolver, found: Findings) -> None:
        self.names = names
        self.found = found

    def assign(self, target: ast.expr, value: ast.expr | None) -> None:
        """Record an assignment, and report it if it is suspicious.

        Args:
            target: The syntax tree of the target.
            value: The syntax tree of the value, or None if it cannot be determined.
        """
        match target:
            case ast.Name(id=name):
                record_assignment(
                    name, value, self.names.path(value), target, self.names, self.found
                )
            case ast.Starred(value=inner):
                self.assign(inner, None)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                parts: list[ast.expr | None] = [None] * len(elements)
                if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts):
                    parts = [*value.elts]
                for element, part in zip(elements, parts, strict=True):
                    self.assign(element, part)
            case ast.Attribute(value=owner, attr=attribute):
                self.assign_part(owner, attribute, value, target)
            case ast.Subscript(value=owner, slice=index):
                module = namespace_prefix(self.names.path(owner))
                if module is not None:
                    self._store(f"{module}{string_name(index) or '<computed name>'}", value, target)

    def assign_part(
        self, owner: ast.expr, name: str | None, value: ast.expr | None, where: ast.AST
    ) -> None:
        """Report an assignment to an attribute if it is suspicious.

        Args:
            owner: The syntax tree of the object whose attribute is set.
            name: The name of the attribute, or None if it cannot be determined.
            value: The syntax tree of the value, or None if it cannot be determined.
            where: The syntax node whose line is reported.
        """
        while isinstance(owner, ast.Subscript) and isinstance(owner.value, ast.List | ast.Tuple):
            # The owner may be any item of a list that is written out, as in `[np][0].all = f`.
            for item in owner.value.elts[1:]:
                self.assign_part(item, name, value, where)
            if not owner.value.elts:
                break
            owner = owner.value.elts[0]
        base = self.names.path(owner)
        is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
        if name is None and base is None and not is_own:
            self.found.add("odd", where, "sets an attribute whose name is computed")
        if base:
            self._store(f"{base}.{name or '<computed name>'}", value, where)
        elif star := self.names.star_of(owner):
            self.found.add("odd", where, f"sets an attribute of a possible import from {star}")
        judge_method(name, value, where, self.names, self.found)
        if name in protected_names.SHELL_PARTS:
            self.found.add("tampering", where, f"changes how the notebook runs cells ({name})")

    def check_call(self, call: ast.Call) -> None:
        """Report a call if it writes to something that the tests or the shell rely on."""
        path, function = self.names.path(call.func) or "", call.func
        method = function.attr if isinstance(function, ast.Attribute) else None
        last = method or path.rpartition(".")[2]
        if method in _SETTERS or path in ("builtins.setattr", "builtins.delattr"):
            self._check_setter(call)
        elif last in _TAKES_DOTTED_NAME and call.args and "." in (string_name(call.args[0]) or ""):
            self._store(string_name(call.args[0]), None, call)
        elif path in _UNBOUND_DICT_METHODS and call.args:
            module = namespace_prefix(self.names.path(call.args[0]))
            if module is not None:
                rest = ast.Call(function, call.args[1:], call.keywords)
                for name, value in key_value_pairs(rest):
                    self._store(f"{module}{name}", value, call)
        elif isinstance(function, ast.Attribute) and method in _DICT_METHODS:
            module = namespace_prefix(self.names.path(function.value))
            if module is not None:
                for name, value in key_value_pairs(call):
                    self._store(f"{module}{name}", value, call)
        self._check_own_function(call)

    def check_hook(self, node: ast.Attribute) -> None:
        """Report the use of an attribute that registers a hook in the IPython shell."""
        of_events = isinstance(node.value, ast.Attribute) and node.value.attr == "events"
        if node.attr in protected_names.SHELL_HOOKS or (node.attr == "register" and of_events):
            what = f"changes how the notebook runs cells ({node.attr})"
            self.found.add("tampering", node, what)

    def _check_setter(self, call: ast.Call) -> None:
        """Check a call such as ``setattr(np, "x", 1)`` or ``np.__setattr__("x", 1)``."""
        args = [*call.args]
        function = call.func
        if isinstance(function, ast.Attribute):
            is_owner = self.names.path(function.value) not in _TAKES_OWNER
            if is_owner and not function.attr.startswith("__"):
                return
            args = [function.value] * is_owner + args
        name = string_name(args[0]) if args else None
        if name and "." in name:
            self._store(name, None, call)
        elif args and not name:
            rest: list[ast.expr | None] = [*args[1:], None, None]
            self.assign_part(args[0], string_name(rest[0]), rest[1], call)

    def _check_own_function(self, call: ast.Call) -> None:
        """Report a call that passes a protected object to a function that sets its attributes."""
        function = self.names.function(call.func)
        if function is None:
            return
        given = dict(zip(parameter_names(function), call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        paths = {name: self.names.path(value) for name, value in given.items()}
        passed = {name: path for name, path in paths.items() if path and _is_protected(path)}
        for name in self.names.changed_parameters(function) & set(passed) if passed else ():
            path = passed[name]
            # There are honest reasons to set an attribute on a function, such as counting calls.
            is_module = path in protected_names.NAMES.values() or "." not in path
            what = f"passes {path} to a function that sets attributes on it"
            self.found.add("tampering" if is_module else "odd", call, what)

    def _store(self, path: str | None, value: ast.expr | None, where: ast.AST) -> None:
        """Report an assignment to a dotted name if it is suspicious."""
        if path is None:
            return
        root, last = path.partition(".")[0], path.rpartition(".")[2]
        if root == "__main__" and path.count(".") == 1:
            judge_name(last, value, self.names.path(value), where, self.names, self.found)
        elif _is_protected(path):
            if path in protected_names.SHIMS:
                self.found.add("odd", where, f"assigns to {path}")
            else:
                self.found.add("tampering", where, f"assigns to {path}, which the tests rely on")
        elif root in sys.stdlib_module_names and "." in path:
            self.found.add("odd", where, f"assigns to {path}")
        elif root in protected_names.SHELLS and last not in protected_names.SHELL_SETTINGS:
            self.found.add("tampering", where, f"changes how the notebook runs cells ({last})")


def _is_protected(path: str | None) -> bool:
    return is_within(path) and not is_within(path, protected_names.SETTINGS)
