"""Which name of a notebook stands for which module, or for which part of one."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass, field

from jaxbits_grader.checking.scan.ast_utils import Function, root, sets_parts_of, word
from jaxbits_grader.checking.scan.findings import Kind

# What calls of these give back: the running shell, and the notebook's own names.
_GIVES = {
    "get_ipython": "ipython",
    "IPython.get_ipython": "ipython",
    "IPython.core.getipython.get_ipython": "ipython",
    "builtins.globals": "__main__.__dict__",
    "builtins.locals": "__main__.__dict__",
}
# Other names of the same thing.
_SAME = {
    "ipython.user_ns": "__main__.__dict__",
    "ipython.user_global_ns": "__main__.__dict__",
    "sys.modules.__main__": "__main__",
}
_FREE = {"__builtins__": "builtins", "get_ipython": "get_ipython"}


@dataclass
class Scope:
    """The names bound in one place, and those that a function there shares with the notebook."""

    # What each stands for: a dotted name, None where it is something else.
    paths: dict[str, str | None] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()


class Names:
    """What each name stands for, at the point that reading has reached."""

    def __init__(self) -> None:
        self.notebook = Scope()
        self._scopes = [self.notebook]
        # The notebook's functions by their names.
        self.functions: dict[str, Function] = {}
        # Of each function whether it always answers the same, and the parameters that it changes:
        # found out once, for a function can be long and its calls many.
        self.answers: dict[Function, Kind | None] = {}
        self._parts_set: dict[Function, set[str]] = {}
        # Modules that tests rely on, and all names of which were imported at once.
        self.stars: list[str] = []

    def enter(self, bound: Iterable[str] = (), shared: Iterable[str] = ()) -> Scope:
        """Start a scope, in which these names are something of its own."""
        self._scopes.append(Scope(dict.fromkeys(bound), frozenset(shared)))
        return self._scopes[-1]

    def leave(self) -> None:
        """End the innermost scope."""
        self._scopes.pop()

    def leave_all(self) -> None:
        """End what scopes are left of a cell that was read in part."""
        del self._scopes[1:]

    def scope_of(self, name: str) -> Scope:
        """The scope in which a name is bound where it is given a value now."""
        innermost = self._scopes[-1]
        return self.notebook if name in innermost.shared else innermost

    def is_bound(self, name: str) -> bool:
        """Whether a name was seen to be given a value."""
        return any(name in scope.paths for scope in self._scopes)

    def function(self, value: ast.AST | None) -> Function | None:
        """The function that a value is, where it is written there or has a name."""
        if isinstance(value, ast.Name):
            is_local = any(value.id in scope.paths for scope in self._scopes[1:])
            return None if is_local else self.functions.get(value.id)
        return value if isinstance(value, Function) else None

    def parts_set_by(self, function: Function) -> set[str]:
        """The parameters of which a function sets attributes."""
        if function not in self._parts_set:
            self._parts_set[function] = sets_parts_of(function)
        return self._parts_set[function]

    def star_of(self, node: ast.expr) -> str | None:
        """The module from which an expression's first name may have come by ``import *``."""
        name = root(node)
        unknown = name and not self.is_bound(name) and not self.named(name)
        return self.stars[-1] if unknown and self.stars else None

    def named(self, name: str) -> str | None:
        """The dotted name of what a name stands for."""
        for scope in reversed(self._scopes):
            if name in scope.paths:
                return scope.paths[name]
        return _FREE.get(name, f"builtins.{name}" if hasattr(builtins, name) else None)

    def path(self, node: ast.AST | None) -> str | None:
        """The dotted name of what an expression is, None where that cannot be told."""
        found = None
        if isinstance(node, ast.Name):
            return self.named(node.id)
        if isinstance(node, ast.NamedExpr):
            return self.path(node.value)
        if isinstance(node, ast.Attribute):
            base = self.path(node.value)
            found = base and f"{base}.{node.attr}"
        elif isinstance(node, ast.Subscript) and (key := word(node.slice)):
            within = names_of(self.path(node.value))
            found = None if within is None else f"{within}{key}"
        elif isinstance(node, ast.Call):
            found = self._given_by(node)
        if found and found.startswith("__main__.") and found.count(".") == 1:
            own = found.removeprefix("__main__.")
            return found if "__" in own else self.notebook.paths.get(own, found)
        return _SAME.get(found, found) if found else None

    def _given_by(self, call: ast.Call) -> str | None:
        """What a call gives back, where it is a module or a part of one."""
        function = self.path(call.func) or ""
        if function in _GIVES or function.endswith("InteractiveShell.instance"):
            return _GIVES.get(function, "ipython")
        if not call.args:
            return "__main__.__dict__" if function == "builtins.vars" else None
        first = call.args[0]
        match function:
            case "builtins.vars":
                base = self.path(first)
                return base and f"{base}.__dict__"
            case "builtins.getattr" if len(call.args) > 1:
                base, name = self.path(first), word(call.args[1])
                return f"{base}.{name}" if base and name else None
            case "builtins.type" if len(call.args) == 1:
                base = self.path(first)
                return base and f"{base}.__class__"
            case "importlib.import_module" | "sys.modules.get":
                return word(first)
            case "builtins.__import__":
                return (word(first) or "").partition(".")[0] or None
            case "importlib.reload":
                return self.path(first)
        return None


def names_of(path: str | None) -> str | None:
    """What comes before a name in this dictionary of names; None if it is none."""
    if path == "sys.modules":
        return ""
    if path == "builtins":
        return "builtins."
    if path and path.endswith(".__globals__"):  # of a function: its module's names
        return f"{path.removesuffix('.__globals__').rpartition('.')[0]}."
    if path and path.endswith(".__dict__"):
        return f"{path.removesuffix('.__dict__')}."
    return None
