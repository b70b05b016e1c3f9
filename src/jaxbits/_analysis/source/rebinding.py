"""Collect evidence from source code about which names and attributes change."""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator

from jaxbits._analysis.source.name_bindings import BindingEvent, scan_sources


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What the source of a module or notebook reveals about its names.

    Attributes:
        events: The bindings and mutations of names.
        literals: The first value that the source assigns to each global.
        final_names: The names annotated as `Final`.
        run_once: The first lines of the functions that run only once.
        run_on_import: The first lines of the functions that run only while the module is imported.
        is_ordered: Whether the code runs from top to bottom. Notebook cells may run in any order.
    """

    events: tuple[BindingEvent, ...]
    literals: dict[str, ast.expr]
    final_names: frozenset[str]
    run_once: frozenset[int]
    run_on_import: frozenset[int]
    is_ordered: bool

    def keep_mutations(
        self, names: tuple[str, ...], is_mutation: Callable[[BindingEvent], bool]
    ) -> Evidence:
        """Return the evidence on some names without method calls that do not mutate their object.

        Args:
            names: The names to examine. The events on other names are kept.
            is_mutation: Whether an event with a method mutates the object of the method.
        """
        events = (e for e in self.events if not e.method or e.name not in names or is_mutation(e))
        return dataclasses.replace(self, events=tuple(events))

    def _events_on(self, kind: str, name: str) -> Iterator[BindingEvent]:
        return (e for e in self.events if e.kind == kind and e.name == name)

    def is_rebound(self, name: str, line: int) -> bool:
        """Return whether a global is assigned again after a function is defined.

        Args:
            name: The name of the global.
            line: The first line of the function.
        """
        events = [e for e in self._events_on("bind", name) if e.scope is None and not e.is_lazy]
        if self._is_set_up_once(name, events):
            return False
        module_level = [e for e in events if not e.functions]
        is_later = any(e.line > line for e in module_level) or not self.is_ordered
        return self.is_assigned_in_function(name) or (len(module_level) > 1 and is_later)

    def is_assigned_in_function(self, name: str) -> bool:
        """Return whether any function assigns a global that may already have a value."""
        events = (e for e in self._events_on("bind", name) if e.scope is None)
        return any(e.functions and not e.is_lazy for e in events)

    def _is_set_up_once(self, name: str, events: list[BindingEvent]) -> bool:
        """Return whether the only value that a global gets comes from a function that runs once.

        The value None, which stands for no value, does not count.

        Args:
            name: The name of the global.
            events: The assignments to it.
        """
        first = self.literals.get(name)
        if isinstance(first, ast.Constant) and first.value is None:
            events = events[1:]
        if len(events) != 1 or events[0].is_repeated:
            return False
        return len(events[0].functions) == 1 and events[0].functions[0] in self.run_once

    def is_changed(self, name: str, line: int) -> bool:
        """Return whether the value of a global is mutated after a function is defined.

        Args:
            name: The name of the global.
            line: The first line of the function.
        """
        events = (e for e in self._events_on("change", name) if e.scope is None)
        events = (e for e in events if not self._happens_on_import(e))
        return any(e.functions or e.line > line or not self.is_ordered for e in events)

    def is_filled_on_import(self, name: str) -> bool:
        """Return whether functions that run only while the module is imported fill a global.

        An example is a registry, to which a decorator adds functions.
        """
        events = (e for e in self._events_on("change", name) if e.scope is None)
        return any(map(self._happens_on_import, events))

    def _happens_on_import(self, event: BindingEvent) -> bool:
        return not self.run_on_import.isdisjoint(event.functions)

    def is_table(self, name: str) -> bool:
        """Return whether a global is a dictionary of dictionaries that no line of its module edits.

        Such a table of settings is complete where it is written down, whereas a program may fill a
        flat dictionary later. Notebook cells do not count, because the next cell may edit it.
        """
        literal = self.literals.get(name)
        is_edited = any(e.scope is None for e in self._events_on("change", name))
        if literal is None or is_edited or not self.is_ordered:
            return False
        return any(map(_values_of_dict, _values_of_dict(literal)))

    def is_local_changed(self, name: str, line: int) -> tuple[bool, bool]:
        """Return whether a closure variable is assigned again, and whether its value is mutated.

        Args:
            name: The name of the variable.
            line: The first line of the function that closes over it.
        """
        events = [e for e in self.events if e.name == name and e.scope]
        scopes = {e.scope for e in events if e.scope and e.scope[0] < line <= e.scope[1]}
        scope = max((h for h in scopes if h), default=None)
        in_scope = [e for e in events if e.scope == scope and scope]
        bindings = [e for e in in_scope if e.kind == "bind" and not e.is_lazy]
        direct = [e for e in bindings if scope and e.functions[-1:] == (scope[0],)]
        is_bound_inside = len(direct) < len(bindings)
        rebound = (
            is_bound_inside
            or (len(direct) > 1 and direct[-1].line >= line)
            or _is_bound_in_loop(direct)
        )
        changed = any(
            e.kind == "change" and (len(e.functions) > 1 or e.line > line) for e in in_scope
        )
        return rebound, changed

    def bound_call(self, name: str, line: int) -> str:
        """Return the function whose result is the only value bound to a name, or an empty string.

        Args:
            name: The name of the variable.
            line: The first line of the function that uses it.
        """
        events = list(self._events_on("bind", name))
        scopes = {e.scope for e in events if e.scope and e.scope[0] < line <= e.scope[1]}
        scope = max(scopes, default=None)
        bindings = [e for e in events if e.scope == scope]
        return bindings[0].call if len(bindings) == 1 else ""

    def is_parameter(self, name: str, line: int) -> bool:
        """Return whether a closure variable is a parameter of the enclosing function.

        Args:
            name: The name of the variable.
            line: The first line of the function that closes over it.
        """
        events = [
            e for e in self._events_on("bind", name) if e.scope and e.scope[0] < line <= e.scope[1]
        ]
        return any(e.scope and e.line == e.scope[0] for e in events)

    def is_attribute_changed(self, name: str, class_names: set[str], line: int) -> bool:
        """Return whether an attribute is set or mutated after its object is created.

        Args:
            name: The name of the attribute.
            class_names: The names of the object's classes.
            line: The first line of the function that reads it.
        """
        events = list(self._late_events(class_names, line))
        # `__setattr__` changes what it writes only if something sets an attribute later.
        is_set = any(not event.method and not event.is_in_setter for event in events)
        return any(e.name == name and (is_set or not e.is_in_setter) for e in events)

    def _late_events(self, class_names: set[str], line: int) -> Iterator[BindingEvent]:
        """Yield the events that change attributes after their objects are created."""
        for event in self.events:
            if event.kind != "attribute" or event.is_lazy:
                continue
            if event.class_name and event.class_name not in class_names:
                continue
            is_after = not event.functions and (event.line > line or not self.is_ordered)
            if event.is_late or is_after:
                yield event

    def is_class_set_up(self, class_names: set[str], line: int) -> bool:
        """Return whether an attribute of a class itself is set after a function is defined.

        Args:
            class_names: The names of the classes.
            line: The first line of the function.
        """
        events = (e for e in self.events if e.kind == "attribute" and e.base in class_names)
        events = (e for e in events if not e.method)
        return any(e.functions or e.line > line or not self.is_ordered for e in events)


def _values_of_dict(node: ast.expr) -> list[ast.expr]:
    """Return the values in a dictionary display or in a call such as ``dict(a=1)``."""
    if isinstance(node, ast.Dict):
        return node.values
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func) == "dict"
    return [k.value for k in node.keywords] if is_call else []  # type: ignore[attr-defined]


def _is_bound_in_loop(events: list[BindingEvent]) -> bool:
    """Return whether a loop binds a name, which is recorded as two bindings on the same line."""
    return any(a.line == b.line for a, b in itertools.pairwise(events))


@functools.lru_cache(maxsize=32)
def collect_evidence(sources: tuple[str, ...]) -> Evidence:
    r"""Return what source code reveals about its names.

    >>> evidence = collect_evidence(("RATE = 1.0\ndef f():\n    global RATE\n    RATE = 2.0\n",))
    >>> evidence.is_rebound("RATE", 0), evidence.is_changed("RATE", 0)
    (True, False)
    """
    return Evidence(*scan_sources(sources), is_ordered=len(sources) < 2)
