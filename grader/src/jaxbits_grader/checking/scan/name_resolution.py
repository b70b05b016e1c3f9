"""Resolve the names in a notebook to the modules or module members that they refer to."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass, field

from jaxbits_grader.cell_names import Function
from jaxbits_grader.checking.scan.ast_utils import base_name, changed_parameters, string_name
from jaxbits_grader.checking.scan.findings import Kind

# These functions return the running shell or the dictionary of the notebook's global names.
_RETURNS = {
    "get_ipython": "ipython",
    "IPython.get_ipython": "ipython",
    "IPython.core.getipython.get_ipython": "ipython",
    "builtins.globals": "__main__.__dict__",
    "builtins.locals": "__main__.__dict__",
}
_ALIASES = {
    "ipython.user_ns": "__main__.__dict__",
    "ipython.user_global_ns": "__main__.__dict__",
    "sys.modules.__main__": "__main__",
}
_PREDEFINED = {"__builtins__": "builtins", "get_ipython": "get_ipython"}


@dataclass
class Scope:
    """The names in one scope, each with the dotted name of the object that it refers to.

    The names in `shared` belong to the notebook's global scope instead.
    """

    # The value is None if a name refers to something without a dotted name.
    paths: dict[str, str | None] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()


class NameResolver:
    """Keeps track of what each name refers to as the scan moves through the notebook."""

    def __init__(self) -> None:
        self.notebook = Scope()
        self._scopes = [self.notebook]
        # The functions that the notebook defines, keyed by name.
        self.functions: dict[str, Function] = {}
        # The names of all functions so far, including those inside other functions.
        self.function_names: set[str] = set()
        # Cache these results, because functions can be long and the notebook can call them often.
        self.constant_kinds: dict[Function, Kind | None] = {}
        self._changed_parameters: dict[Function, set[str]] = {}
        # The names that given cells bind, with the dotted names of what they import.
        self.given: dict[str, str | None] = {}
        # Variables of loops over literals, whose values the scan sees.
        self.literal_names: set[str] = set()
        # The names of classes and of their methods that set attributes of `self`.
        self.setters: set[tuple[str, str]] = set()
        # The modules from which the notebook has imported `*`.
        self.star_imports: list[str] = []
        # The functions that only cells call, so that no answer does while a test runs.
        self.only_called_by_cells: frozenset[str] = frozenset()
        # Whether functions of the notebook may read what they print.
        self.can_read_output = True

    def enter(self, bound: Iterable[str] = (), shared: Iterable[str] = ()) -> Scope:
        """Enter a scope and return it.

        Args:
            bound: The names that the scope itself binds.
            shared: The names that the scope declares `global`.
        """
        self._scopes.append(Scope(dict.fromkeys(bound), frozenset(shared)))
        return self._scopes[-1]

    def leave(self) -> None:
        """Leave the innermost scope."""
        self._scopes.pop()

    @property
    def is_in_function(self) -> bool:
        """Whether the scan is inside a function, a class, or a comprehension."""
        return len(self._scopes) > 1

    def leave_all(self) -> None:
        """Leave all scopes of a cell whose scan was aborted."""
        del self._scopes[1:]

    def scope_of(self, name: str) -> Scope:
        """Return the scope in which an assignment at this point would bind a name."""
        innermost = self._scopes[-1]
        return self.notebook if name in innermost.shared else innermost

    def is_local(self, name: str) -> bool:
        """Return whether a function or comprehension around this point binds a name."""
        return any(name in scope.paths for scope in self._scopes[1:])

    def is_bound(self, name: str) -> bool:
        """Return whether a name has been bound in any of the current scopes."""
        return any(name in scope.paths for scope in self._scopes)

    def function(self, value: ast.AST | None) -> Function | None:
        """Return the function that a node defines or refers to, or None if it does neither."""
        if isinstance(value, ast.Name):
            is_local = any(value.id in scope.paths for scope in self._scopes[1:])
            return None if is_local else self.functions.get(value.id)
        return value if isinstance(value, Function) else None

    def is_function(self, value: ast.AST | None) -> bool:
        """Return whether a node is a function or the name of one that the notebook defines."""
        is_name = isinstance(value, ast.Name) and value.id in self.function_names
        return is_name or isinstance(value, Function)

    def changed_parameters(self, function: Function) -> set[str]:
        """Return the names of the parameters whose attributes a function sets or deletes."""
        if function not in self._changed_parameters:
            self._changed_parameters[function] = changed_parameters(function)
        return self._changed_parameters[function]

    def star_of(self, node: ast.expr) -> str | None:
        """Return the module from which ``import *`` may have imported an expression's base name.

        The result is None if the name is known or there was no ``import *``.
        """
        name = base_name(node)
        unknown = name and not self.is_bound(name) and not self.resolve(name)
        return self.star_imports[-1] if unknown and self.star_imports else None

    def resolve(self, name: str) -> str | None:
        """Return the dotted name of the object that a name refers to, or None if it has none."""
        for scope in reversed(self._scopes):
            if name in scope.paths:
                return scope.paths[name]
        return _PREDEFINED.get(name, f"builtins.{name}" if hasattr(builtins, name) else None)

    def path(self, node: ast.AST | None) -> str | None:
        """Return the dotted name of an expression's value, or None if it cannot be determined."""
        found = None
        if isinstance(node, ast.Name):
            return self.resolve(node.id)
        if isinstance(node, ast.NamedExpr):
            return self.path(node.value)
        if isinstance(node, ast.Attribute):
            base = self.path(node.value)
            found = base and f"{base}.{node.attr}"
        elif isinstance(node, ast.Subscript) and (key := string_name(node.slice)):
            prefix = namespace_prefix(self.path(node.value))
            found = None if prefix is None else f"{prefix}{key}"
        elif isinstance(node, ast.Call):
            found = self._returned_by(node)
        if found and found.startswith("__main__.") and found.count(".") == 1:
            own = found.removeprefix("__main__.")
            return found if "__" in own else self.notebook.paths.get(own, found)
        return _ALIASES.get(found, found) if found else None

    def _returned_by(self, call: ast.Call) -> str | None:
        """Return the dotted name of a call's result, or None if it cannot be determined."""
        function = self.path(call.func) or ""
        if function in _RETURNS or function.endswith("InteractiveShell.instance"):
            return _RETURNS.get(function, "ipython")
        if not call.args:
            return "__main__.__dict__" if function == "builtins.vars" else None
        first = call.args[0]
        match function:
            case "builtins.vars":
                base = self.path(first)
                return base and f"{base}.__dict__"
            case "builtins.getattr" if len(call.args) > 1:
                base, name = self.path(first), string_name(call.args[1])
                return f"{base}.{name}" if base and name else None
            case "builtins.type" if len(call.args) == 1:
                base = self.path(first)
                return base and f"{base}.__class__"
            case "importlib.import_module" | "sys.modules.get":
                return string_name(first)
            case "builtins.__import__":
                return (string_name(first) or "").partition(".")[0] or None
            case "importlib.reload":
                return self.path(first)
        return None


def namespace_prefix(path: str | None) -> str | None:
    """Return the prefix that turns a key of a namespace dictionary into a dotted name.

    A namespace dictionary holds the names in a module or an object, as the result of ``vars`` does.

    Args:
        path: The dotted name of the dictionary, or None if it has none.

    Returns:
        The prefix, or None if the path is not the name of a namespace dictionary.
    """
    if path == "sys.modules":
        return ""
    if path == "builtins":
        return "builtins."
    if path and path.endswith(".__globals__"):  # These are the names in the function's module.
        return f"{path.removesuffix('.__globals__').rpartition('.')[0]}."
    if path and path.endswith(".__dict__"):
        return f"{path.removesuffix('.__dict__')}."
    return None
