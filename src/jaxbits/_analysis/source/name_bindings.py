"""Where a module's source binds names, and changes what they stand for."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

_METHODS = (
    "append extend insert pop remove clear sort reverse update setdefault popitem add discard "
    "appendleft popleft extendleft rotate fill put itemset partition move_to_end subtract "
    "difference_update intersection_update symmetric_difference_update __setitem__ __setattr__"
)
MUTATING = frozenset(_METHODS.split())
_WRITING = {"copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "heappush", "heappop"}
_MAKING = {"__init__", "__post_init__", "__new__", "__setstate__", "setup", "__init_subclass__"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Event:
    """One place at which a name is bound, or what it stands for is changed.

    Attributes:
        kind: ``bind``, ``change`` or ``attribute`` (a name after a dot is bound or changed).
        name: the name, or the attribute's.
        line: where.
        home: the first and last line of the function that the name is local to; None for a global.
        inside: the first lines of the functions it is done in, the innermost last.
        owner: for an attribute of a method's own object or class, the class; else empty.
        of: for an attribute, the name before the first dot.
        late: whether it is done in a function, and not as the module or an object is made.
    """

    kind: str
    name: str
    line: int
    home: tuple[int, int] | None
    inside: tuple[int, ...]
    owner: str = ""
    of: str = ""
    late: bool = True


@dataclass
class _Scope:
    first: int
    last: int
    locals: set[str]
    parameters: list[str]
    name: str = ""
    owner: str = ""
    outer: set[str] = field(default_factory=set)


class _Scan(ast.NodeVisitor):
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.scopes: list[_Scope] = []
        self.classes: list[tuple[str, int]] = []
        self.written: dict[str, set[int]] = {}
        self.calls: list[tuple[str, int, ast.expr, list[_Scope]]] = []
        self.literals: dict[str, ast.expr] = {}
        self.constant: set[str] = set()

    # scopes
    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.classes.append((node.name, len(self.scopes)))
        self.generic_visit(node)
        self.classes.pop()

    def _in_class(self) -> bool:
        """Whether the next statement stands in the body of a class, and in no method of it."""
        return bool(self.classes) and self.classes[-1][1] == len(self.scopes)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        for outside in getattr(node, "decorator_list", ()):
            self.visit(outside)
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        every += [a for a in (given.vararg, given.kwarg) if a]
        parameters = [a.arg for a in every]
        bound, outer = _bound(node)
        owner = self.classes[-1][0] if self._in_class() else ""
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        scope = _Scope(first, node.end_lineno or first, {*parameters, *bound} - outer, parameters)
        scope.name, scope.owner, scope.outer = getattr(node, "name", ""), owner, outer
        self.scopes.append(scope)
        for name in parameters:
            self.record("bind", name, node.lineno)
        for part in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(part)
        self.scopes.pop()

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_Lambda = visit_FunctionDef

    def _comprehension(self, node: ast.AST) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                self.call(part)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # events
    def record(self, kind: str, name: str, line: int, owner: str = "", of: str = "") -> None:
        home = next((s for s in reversed(self.scopes) if name in s.locals), None)
        making = any(s.name in _MAKING for s in self.scopes) and kind == "attribute" and owner
        late = bool(self.scopes) and not making
        span = (home.first, home.last) if home else None
        inside = tuple(s.first for s in self.scopes)
        self.events.append(Event(kind, name, line, span, inside, owner, of, late))
        if kind == "change" and home and home is self.scopes[-1] and name in home.parameters:
            index = home.parameters.index(name) - bool(home.owner)
            self.written.setdefault(home.name, set()).add(index)  # -1 is a method's own object

    def target(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self.record("bind", node.id, node.lineno)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for part in node.elts:
                self.target(part)
        elif isinstance(node, ast.Starred):
            self.target(node.value)
        else:
            self.changed(node)

    def changed(self, node: ast.AST) -> None:
        """Record that what an expression stands for is changed."""
        attributes: list[str] = []
        line = getattr(node, "lineno", 0)
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            if isinstance(node, ast.Attribute):
                attributes.append(node.attr)
            elif isinstance(node, ast.Call):
                known = isinstance(node.func, ast.Name) and node.func.id in ("vars", "type")
                if not known or not node.args:
                    return
                node = node.args[0]
                continue
            node = node.value
        if not isinstance(node, ast.Name) or "at" in attributes:
            return
        methods = (s for s in reversed(self.scopes) if s.owner)
        method = next(methods, None)
        own = method and method.parameters and node.id == method.parameters[0]
        owner = method.owner if method and own else ""
        for name in attributes:
            self.record("attribute", name, line, owner, node.id)
        if not own:
            self.record("change", node.id, line)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if not (isinstance(target, ast.Name) and self._in_class()):
                self.target(target)
            if isinstance(target, ast.Name) and not self.scopes and not self._in_class():
                self.literals.setdefault(target.id, node.value)
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if "Final" in ast.unparse(node.annotation) and isinstance(node.target, ast.Name):
            self.constant.add(node.target.id)
        if node.value is not None and not self._in_class():
            self.target(node.target)
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.target(node.target)
        if isinstance(node.target, ast.Name):
            self.changed(node.target)
            self.record("bind", node.target.id, node.lineno)
        self.visit(node.value)

    def visit_For(self, node: ast.For) -> None:
        self.target(node.target)
        self.target(node.target)  # a loop binds more than once
        self.generic_visit(node)

    def _exclusive(self, node: ast.If | ast.Try) -> None:
        """Visit branches of which one is taken: a name that each binds is bound once."""
        bodies = [node.body, node.orelse]
        if isinstance(node, ast.Try):
            bodies = [[*node.body, *node.orelse], *(h.body for h in node.handlers), node.finalbody]
        before, seen = len(self.events), set[tuple[str, str]]()
        for body in bodies:
            start = len(self.events)
            for part in body:
                self.visit(part)
            if not self.scopes:
                new = self.events[start:]
                kept = [e for e in new if e.kind != "bind" or ("bind", e.name) not in seen]
                self.events[start:] = kept
            seen |= {(e.kind, e.name) for e in self.events[before:]}
        if isinstance(node, ast.If):
            self.visit(node.test)

    visit_If = visit_Try = _exclusive

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.changed(target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.target(node.target)
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        self.call(node)
        self.generic_visit(node)

    def call(self, node: ast.Call) -> None:
        """Record what a call changes: its object, an argument, or what is given as `out`."""
        function, first = node.func, node.args[0] if node.args else None
        name = function.attr if isinstance(function, ast.Attribute) else ""
        name = function.id if isinstance(function, ast.Name) else name
        if name in ("setattr", "delattr", "__setattr__") and len(node.args) > 1:
            key = node.args[1]
            if isinstance(key, ast.Constant) and first is not None:
                made = ast.Attribute(first, str(key.value), ast.Store())
                self.changed(ast.copy_location(made, node))
            return
        if isinstance(function, ast.Attribute) and name in MUTATING:
            self.changed(function.value)
        indexed = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Attribute)
        if first is not None and (name in _WRITING or (name == "at" and indexed)):
            self.changed(first)
        for keyword in node.keywords:
            if keyword.arg == "out":
                self.changed(keyword.value)
        for index, given in enumerate(node.args):
            if isinstance(given, (ast.Name, ast.Attribute)):
                self.calls.append((name, index, given, list(self.scopes)))

    def helpers(self) -> None:
        """Record what is changed by being passed to functions that change their arguments."""
        for name, index, given, scopes in self.calls:
            if index in self.written.get(name, ()):
                self.scopes = scopes
                self.changed(given)


def _bound(function: ast.AST) -> tuple[set[str], set[str]]:
    """Return the names that a function's own lines bind, and those it declares as not its own."""
    bound, outer = set[str](), set[str]()
    body = getattr(function, "body", [])
    waiting = list(body) if isinstance(body, list) else [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            outer |= set(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            bound.add(node.name)
            continue
        elif isinstance(node, ast.Lambda):
            continue
        waiting += ast.iter_child_nodes(node)
    return bound - outer, outer


def scanned(
    sources: tuple[str, ...],
) -> tuple[tuple[Event, ...], dict[str, ast.expr], frozenset[str]]:
    """Return the events in sources, what globals are first given, and which are `Final`.

    Sources that are no Python, such as a cell with a magic, say nothing.
    """
    scan = _Scan()
    for source in sources:
        try:
            scan.visit(ast.parse(source))
        except (SyntaxError, ValueError, RecursionError):
            continue
    scan.helpers()
    return tuple(scan.events), scan.literals, frozenset(scan.constant)
