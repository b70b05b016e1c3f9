"""Find where source code binds names, and where it mutates their values."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from jaxbits._analysis.source.guards import leaves_function, unset_names
from jaxbits._analysis.source.import_time import lines_run_on_import
from jaxbits._analysis.source.scopes import Function, Scope, scope_of_function
from jaxbits._analysis.source.single_runs import functions_run_once

_METHODS = (
    "append extend insert pop remove clear sort reverse update setdefault popitem add discard "
    "appendleft popleft extendleft rotate fill put itemset partition move_to_end subtract "
    "difference_update intersection_update symmetric_difference_update __setitem__ __setattr__"
)
MUTATING_METHODS = frozenset(_METHODS.split())
"""The names of methods that mutate Python's and NumPy's containers."""
_FUNCTIONS = "copyto put place putmask fill_diagonal shuffle heappush heappop"
_MUTATING_FUNCTIONS = frozenset(_FUNCTIONS.split())
_CONSTRUCTION_WORDS = "__init__ __post_init__ __new__ __setstate__ setup __init_subclass__"
_CONSTRUCTION = frozenset(_CONSTRUCTION_WORDS.split())
ITEM = "[]"
"""Stands for a subscript in the path to an object."""


@dataclass(frozen=True)
class BindingEvent:
    """A line that binds a name or mutates its value.

    Attributes:
        kind: ``bind`` (the name is bound), ``change`` (its value is mutated), or ``attribute`` (an
            attribute is bound or mutated).
        name: The name of the variable or attribute.
        line: The number of the line.
        scope: The first and last line of the function that the name is local to, or None for a
            global.
        functions: The first lines of the functions that contain the event, innermost last.
        class_name: For an attribute of `self` or `cls` in a method, the name of the method's class.
            Otherwise, an empty string.
        base: For an attribute, the name before the first dot, such as ``self``.
        is_late: Whether the event happens in a function that is not a constructor.
        is_in_setter: Whether the event happens in the method `__setattr__` of a class, which runs
            when an attribute is set.
        is_lazy: Whether the event happens in a function, and only if there is no value yet.
        is_repeated: Whether the event happens in a loop of its function or module.
        call: For a binding, the name of the function whose result is bound, if it is a call.
        method: For a mutation by a method call, the name of the method, such as ``update``. Whether
            the method mutates its object depends on the object.
        path: The attributes that lead from the name to the object of this method, with `ITEM` for
            a subscript.
    """

    kind: str
    name: str
    line: int
    scope: tuple[int, int] | None
    functions: tuple[int, ...]
    class_name: str = ""
    base: str = ""
    is_late: bool = True
    is_in_setter: bool = False
    is_lazy: bool = False
    is_repeated: bool = False
    call: str = ""
    method: str = ""
    path: tuple[str, ...] = ()


class _BindingVisitor(ast.NodeVisitor):
    """A visitor that collects the binding events in source code.

    Attributes:
        events: The events found so far.
        literals: The first expression assigned to each global.
        final_names: The names annotated as `Final`.
    """

    def __init__(self) -> None:
        self.events: list[BindingEvent] = []
        self.literals: dict[str, ast.expr] = {}
        self.final_names: set[str] = set()
        self._scopes: list[Scope] = []
        self._classes: list[tuple[str, int]] = []
        # The names that have no value yet where the current statement runs, and how many loops of
        # the current function contain it.
        self._unset: set[str] = set()
        self._loops = 0
        # The parameters that each function mutates, with the method and the path to its object,
        # keyed by the function's name, and the calls that pass a name. Both are kept until the end,
        # because a helper may be defined after it is called.
        self._mutated_parameters: dict[str, set[tuple[int, str, tuple[str, ...]]]] = {}
        self._calls: list[tuple[str, int, ast.expr, list[Scope]]] = []

    # Scopes

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._classes.append((node.name, len(self._scopes)))
        self.generic_visit(node)
        self._classes.pop()

    def _is_in_class_body(self) -> bool:
        """Return whether the current statement is in the body of a class but not in a method."""
        return bool(self._classes) and self._classes[-1][1] == len(self._scopes)

    def visit_FunctionDef(self, node: Function) -> None:
        for decorator in getattr(node, "decorator_list", ()):
            self.visit(decorator)
        class_name = self._classes[-1][0] if self._is_in_class_body() else ""
        scope = scope_of_function(node, class_name)
        self._scopes.append(scope)
        outer, self._unset, self._loops = (self._unset, self._loops), set(), 0
        for name in scope.parameters:
            self._record("bind", name, node.lineno)
        for child in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(child)
        self._unset, self._loops = outer
        self._scopes.pop()

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_Lambda = visit_FunctionDef

    def _visit_comprehension(self, node: ast.AST) -> None:
        for child in ast.walk(node):
            if isinstance(child, ast.Call):
                self._record_call(child)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    # Events

    def _record(self, kind: str, name: str, line: int, **details: Any) -> None:
        owner = next((s for s in reversed(self._scopes) if name in s.locals), None)
        constructs = any(s.name in _CONSTRUCTION for s in self._scopes)
        is_construction = constructs and kind == "attribute" and details.get("class_name")
        is_late = bool(self._scopes) and not is_construction
        is_in_setter = any(s.name == "__setattr__" and s.class_name for s in self._scopes)
        span = (owner.first, owner.last) if owner else None
        functions = tuple(s.first for s in self._scopes)
        target = f"{details['base']}.{name}" if kind == "attribute" else name
        is_lazy = bool(self._scopes) and target in self._unset
        details |= {"is_late": is_late, "is_lazy": is_lazy, "is_repeated": self._loops > 0}
        details["is_in_setter"] = is_in_setter
        event = BindingEvent(kind, name, line, span, functions, **details)
        self.events.append(event)
        is_own = owner is not None and owner is self._scopes[-1] and name in owner.parameters
        if kind == "change" and owner and is_own:
            # Position -1 stands for the object that a method is called on.
            position = owner.parameters.index(name) - bool(owner.class_name)
            mutated = self._mutated_parameters.setdefault(owner.name, set())
            mutated.add((position, event.method, event.path))

    def _record_target(self, node: ast.AST, call: str = "") -> None:
        """Record an assignment to a target, which may be a name, a sequence, or an expression."""
        if isinstance(node, ast.Name):
            self._record("bind", node.id, node.lineno, call=call)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for element in node.elts:
                self._record_target(element, call)
        elif isinstance(node, ast.Starred):
            self._record_target(node.value)
        else:
            self._record_mutation(node)

    def _record_mutation(
        self, node: ast.AST, method: str = "", inner_path: tuple[str, ...] = ()
    ) -> None:
        """Record that the source mutates the value of an expression, or calls a method on it."""
        steps = list(reversed(inner_path))
        line = getattr(node, "lineno", 0)
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            if isinstance(node, ast.Attribute):
                steps.append(node.attr)
            elif isinstance(node, ast.Subscript):
                steps.append(ITEM)
            else:
                is_known = isinstance(node.func, ast.Name) and node.func.id in ("vars", "type")
                if not is_known or not node.args:
                    return
                node, method = node.args[0], ""
                continue
            node = node.value
        if not isinstance(node, ast.Name) or "at" in steps:
            return
        path = tuple(reversed(steps))
        scope = next((s for s in reversed(self._scopes) if s.class_name), None)
        is_self = scope and scope.parameters and node.id == scope.parameters[0]
        class_name = scope.class_name if scope and is_self else ""
        for depth, name in enumerate(path[: len(path) - len(inner_path)], 1):
            if name != ITEM:
                rest = path[depth:] if method else ()
                details = {"class_name": class_name, "base": node.id}
                self._record("attribute", name, line, method=method, path=rest, **details)
        if not is_self:
            self._record("change", node.id, line, method=method, path=path if method else ())

    def visit_Assign(self, node: ast.Assign) -> None:
        is_in_class = self._is_in_class_body()
        for target in node.targets:
            if not (isinstance(target, ast.Name) and is_in_class):
                self._record_target(target, _called_name(node.value))
            if isinstance(target, ast.Name) and not self._scopes and not is_in_class:
                self.literals.setdefault(target.id, node.value)
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if "Final" in ast.unparse(node.annotation) and isinstance(node.target, ast.Name):
            self.final_names.add(node.target.id)
        if node.value is not None and not self._is_in_class_body():
            self._record_target(node.target, _called_name(node.value))
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._record_target(node.target)
        if isinstance(node.target, ast.Name):
            self._record_mutation(node.target)
            self._record("bind", node.target.id, node.lineno)
        self.visit(node.value)

    def visit_For(self, node: ast.For) -> None:
        self._record_target(node.target)
        self._record_target(node.target)  # Record it twice, because a loop rebinds it.
        self._visit_loop(node)

    def _visit_loop(self, node: ast.For | ast.While) -> None:
        self._loops += 1
        self.generic_visit(node)
        self._loops -= 1

    visit_While = _visit_loop

    def _visit_branches(self, node: ast.If | ast.Try) -> None:
        """Visit branches, and record only one binding for a name that several of them bind.

        Only one of the branches runs.
        """
        bodies = [node.body, node.orelse]
        if isinstance(node, ast.Try):
            bodies = [[*node.body, *node.orelse], *(h.body for h in node.handlers), node.finalbody]
        before, seen, unset = len(self.events), set[tuple[Any, ...]](), self._unset
        for index, body in enumerate(bodies):
            start = len(self.events)
            if isinstance(node, ast.If):
                self._unset = unset | unset_names(node.test, holds=index == 0)
            for statement in body:
                self.visit(statement)
            new = self.events[start:]
            self.events[start:] = [e for e in new if e.kind != "bind" or _place(e) not in seen]
            seen |= {_place(event) for event in self.events[before:] if event.kind == "bind"}
        self._unset = unset
        if isinstance(node, ast.If):
            self.visit(node.test)
            if leaves_function(node.body):  # The rest of the function runs only otherwise.
                self._unset = unset | unset_names(node.test, holds=False)

    visit_If = visit_Try = _visit_branches

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self._record_mutation(target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._record_target(node.target)
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        self._record_call(node)
        self.generic_visit(node)

    def _record_call(self, node: ast.Call) -> None:
        """Record what a call mutates, which can be its object, an argument, or an `out=` array."""
        function, first = node.func, node.args[0] if node.args else None
        name = function.attr if isinstance(function, ast.Attribute) else ""
        name = function.id if isinstance(function, ast.Name) else name
        if name in ("setattr", "delattr", "__setattr__") and len(node.args) > 1:
            key = node.args[1]
            if isinstance(key, ast.Constant) and first is not None:
                attribute = ast.Attribute(first, str(key.value), ast.Store())
                self._record_mutation(ast.copy_location(attribute, node))
            return
        if isinstance(function, ast.Attribute) and name in MUTATING_METHODS:
            self._record_mutation(function.value, name)
        # `np.add.at(a, i, v)` writes to its first argument.
        is_method_of_attribute = isinstance(function, ast.Attribute) and isinstance(
            function.value, ast.Attribute
        )
        is_ufunc_at = name == "at" and is_method_of_attribute
        if first is not None and (name in _MUTATING_FUNCTIONS or is_ufunc_at):
            self._record_mutation(first)
        for keyword in node.keywords:
            if keyword.arg == "out":
                self._record_mutation(keyword.value)
        for position, argument in enumerate(node.args):
            if isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript)):
                self._calls.append((name, position, argument, list(self._scopes)))

    def record_mutations_by_helpers(self) -> None:
        """Record a mutation of each name passed as an argument that the called function mutates."""
        for name, position, argument, scopes in self._calls:
            for mutated, method, path in sorted(self._mutated_parameters.get(name, ())):
                if mutated == position:
                    self._scopes = scopes
                    self._record_mutation(argument, method, path)


def _place(event: BindingEvent) -> tuple[Any, ...]:
    """Return what two bindings of the same variable by the same function have in common."""
    return event.name, event.scope, event.functions


def _called_name(node: ast.expr) -> str:
    """Return the name of the function whose result an expression is, or an empty string.

    The expression may select an item of the result.
    """
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else "a call"


def scan_sources(
    sources: tuple[str, ...],
) -> tuple[
    tuple[BindingEvent, ...],
    dict[str, ast.expr],
    frozenset[str],
    frozenset[int],
    frozenset[int],
]:
    """Return the binding events in sources, the first value of each global, and the `Final` names.

    If there is only one source, the last items hold the first lines of the functions that it runs
    only once, and of those that it runs only while it is imported. Otherwise, they are empty,
    because notebook cells may run several times.

    Sources that are not valid Python, such as notebook cells with an IPython magic, are skipped.
    """
    visitor, run_once, on_import = _BindingVisitor(), frozenset[int](), frozenset[int]()
    for source in sources:
        try:
            module = ast.parse(source)
            visitor.visit(module)
            if len(sources) == 1:
                run_once, on_import = functions_run_once(module), lines_run_on_import(module)
        except (SyntaxError, ValueError, RecursionError):
            continue
    visitor.record_mutations_by_helpers()
    return (
        tuple(visitor.events),
        visitor.literals,
        frozenset(visitor.final_names),
        run_once,
        on_import,
    )
