"""Parts of modules, classes and the shell that are given a value, in whatever way."""

from __future__ import annotations

import ast

from jaxbits_grader.checking.scan import protected_names as relied_on
from jaxbits_grader.checking.scan.assignment_rules import bind, judge, judge_method
from jaxbits_grader.checking.scan.ast_utils import pairs, parameters, word
from jaxbits_grader.checking.scan.findings import Findings
from jaxbits_grader.checking.scan.name_resolution import Names, names_of
from jaxbits_grader.checking.scan.protected_names import within

_SETTERS = ("setattr", "delattr", "__setattr__", "__delattr__", "object")
# Where these come from, the setter's first argument is what gets the part.
_GIVEN_AN_OWNER = (None, "builtins", "builtins.object", "builtins.type", "unittest.mock.patch")
_BY_DOTTED_NAME = ("patch", "setattr", "delattr")
_OF_DICTIONARIES = ("update", "__setitem__", "setdefault")
# The same, called by what it is a method of; the dictionary is the first argument.
_UNBOUND = ("operator.setitem", *(f"builtins.dict.{name}" for name in _OF_DICTIONARIES))


class Changes:
    """Reports what is changed that the tests, or the run of the cells, rely on."""

    def __init__(self, names: Names, found: Findings) -> None:
        self.names = names
        self.found = found

    def assign(self, target: ast.expr, value: ast.expr | None) -> None:
        """Give a target a value, None for one that cannot be told."""
        match target:
            case ast.Name(id=name):
                bind(name, value, self.names.path(value), target, self.names, self.found)
            case ast.Starred(value=inner):
                self.assign(inner, None)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                parts: list[ast.expr | None] = [None] * len(elements)
                if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts):
                    parts = [*value.elts]
                for element, part in zip(elements, parts, strict=True):
                    self.assign(element, part)
            case ast.Attribute(value=owner, attr=attribute):
                self.part(owner, attribute, value, target)
            case ast.Subscript(value=owner, slice=index):
                module = names_of(self.names.path(owner))
                if module is not None:
                    self._store(f"{module}{word(index) or 'its parts'}", value, target)

    def part(
        self, owner: ast.expr, name: str | None, value: ast.expr | None, where: ast.AST
    ) -> None:
        """Give a part of something a value; its name is None where it cannot be told."""
        base = self.names.path(owner)
        if base:
            self._store(f"{base}.{name or 'its parts'}", value, where)
        elif star := self.names.star_of(owner):
            self.found.add("odd", where, f"sets a part of what may come from {star}")
        judge_method(name, value, where, self.names, self.found)
        if name in relied_on.SHELL_PARTS:
            self.found.add("tampered", where, f"changes how the notebook runs cells ({name})")

    def by_call(self, call: ast.Call) -> None:
        """Look at a call that may set parts of what it is given."""
        path, function = self.names.path(call.func) or "", call.func
        method = function.attr if isinstance(function, ast.Attribute) else None
        last = method or path.rpartition(".")[2]
        if method in _SETTERS or path in ("builtins.setattr", "builtins.delattr"):
            self._by_setter(call)
        elif last in _BY_DOTTED_NAME and call.args and "." in (word(call.args[0]) or ""):
            self._store(word(call.args[0]), None, call)
        elif path in _UNBOUND and call.args:
            module = names_of(self.names.path(call.args[0]))
            if module is not None:
                rest = ast.Call(function, call.args[1:], call.keywords)
                for name, value in pairs(rest):
                    self._store(f"{module}{name}", value, call)
        elif isinstance(function, ast.Attribute) and method in _OF_DICTIONARIES:
            module = names_of(self.names.path(function.value))
            if module is not None:
                for name, value in pairs(call):
                    self._store(f"{module}{name}", value, call)
        self._by_own_function(call)

    def by_hook(self, node: ast.Attribute) -> None:
        """Look at an attribute that is used: there are some whose use is a change."""
        of_events = isinstance(node.value, ast.Attribute) and node.value.attr == "events"
        if node.attr in relied_on.SHELL_HOOKS or (node.attr == "register" and of_events):
            what = f"changes how the notebook runs cells ({node.attr})"
            self.found.add("tampered", node, what)

    def _by_setter(self, call: ast.Call) -> None:
        """Look at ``setattr(np, "x", 1)``, ``np.__setattr__("x", 1)``, and their like."""
        args = [*call.args]
        function = call.func
        if isinstance(function, ast.Attribute):
            is_owner = self.names.path(function.value) not in _GIVEN_AN_OWNER
            if is_owner and not function.attr.startswith("__"):
                return
            args = [function.value] * is_owner + args
        name = word(args[0]) if args else None
        if name and "." in name:
            self._store(name, None, call)
        elif args and not name:
            rest: list[ast.expr | None] = [*args[1:], None, None]
            self.part(args[0], word(rest[0]), rest[1], call)

    def _by_own_function(self, call: ast.Call) -> None:
        """A module is handed to a function of the notebook's that sets parts of its parameter."""
        function = self.names.function(call.func)
        if function is None:
            return
        given = dict(zip(parameters(function), call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        paths = {name: self.names.path(value) for name, value in given.items()}
        handed = {name: path for name, path in paths.items() if path and _is_relied_on(path)}
        for name in self.names.parts_set_by(function) & set(handed) if handed else ():
            path = handed[name]
            # It may be a function that has its calls counted.
            module = path in relied_on.NAMES.values() or "." not in path
            what = f"hands {path} to a function that sets its parts"
            self.found.add("tampered" if module else "odd", call, what)

    def _store(self, path: str | None, value: ast.expr | None, where: ast.AST) -> None:
        """Something with a dotted name is given another value."""
        if path is None:
            return
        root, last = path.partition(".")[0], path.rpartition(".")[2]
        if root == "__main__" and path.count(".") == 1:
            judge(last, value, self.names.path(value), where, self.names, self.found)
        elif _is_relied_on(path):
            if path in relied_on.SHIMS:
                self.found.add("odd", where, f"assigns to {path}")
            else:
                self.found.add("tampered", where, f"assigns to {path}, which the tests rely on")
        elif root in relied_on.SHELLS and last not in relied_on.SHELL_SETTINGS:
            self.found.add("tampered", where, f"changes how the notebook runs cells ({last})")


def _is_relied_on(path: str | None) -> bool:
    return within(path) and not within(path, relied_on.SETTINGS)
