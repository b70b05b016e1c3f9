"""What the source of a module says on which of its names and attributes change."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from jaxbits._analysis.source.name_bindings import Event, scanned


@dataclass(frozen=True)
class Evidence:
    """What the sources of a module, or of a notebook's cells, say."""

    events: tuple[Event, ...]
    literals: dict[str, ast.expr]
    constant: frozenset[str]
    ordered: bool

    def _about(self, kind: str, name: str) -> Iterator[Event]:
        return (e for e in self.events if e.kind == kind and e.name == name)

    def is_rebound(self, name: str, line: int) -> bool:
        """Whether a global is bound anew after a function at a line was defined."""
        events = [e for e in self._about("bind", name) if e.home is None]
        top = [e for e in events if not e.inside]
        late = any(e.line > line for e in top) or not self.ordered
        return any(e.inside for e in events) or (len(top) > 1 and late)

    def is_changed(self, name: str, line: int) -> bool:
        """Whether what a global stands for is changed after a function at a line was defined."""
        events = (e for e in self._about("change", name) if e.home is None)
        return any(e.inside or e.line > line or not self.ordered for e in events)

    def is_local_changed(self, name: str, line: int) -> tuple[bool, bool]:
        """Whether a local that a function at a line sees is bound anew, and whether changed."""
        events = [e for e in self.events if e.name == name and e.home]
        homes = {e.home for e in events if e.home and e.home[0] < line <= e.home[1]}
        home = max((h for h in homes if h), default=None)
        mine = [e for e in events if e.home == home and home]
        binds = [e for e in mine if e.kind == "bind"]
        own = [e for e in binds if home and e.inside[-1:] == (home[0],)]
        inner = len(own) < len(binds)
        rebound = inner or (len(own) > 1 and own[-1].line >= line) or _loops(own)
        changed = any(e.kind == "change" and (len(e.inside) > 1 or e.line > line) for e in mine)
        return rebound, changed

    def is_parameter(self, name: str, line: int) -> bool:
        """Whether the local that a function at a line sees is a parameter of one around it."""
        events = [e for e in self._about("bind", name) if e.home and e.home[0] < line <= e.home[1]]
        return any(e.home and e.line == e.home[0] for e in events)

    def is_attribute_changed(self, name: str, owners: set[str], line: int) -> bool:
        """Whether an attribute of a class's objects is set or changed once they are made."""
        for event in self._about("attribute", name):
            if event.owner and event.owner not in owners:
                continue
            if event.late or (not event.inside and (event.line > line or not self.ordered)):
                return True
        return False

    def is_class_set_up(self, owners: set[str], line: int) -> bool:
        """Whether an attribute is set on the class itself, after a function at a line."""
        events = (e for e in self.events if e.kind == "attribute" and e.of in owners)
        return any(e.inside or e.line > line or not self.ordered for e in events)


def _loops(events: list[Event]) -> bool:
    return any(a.line == b.line for a, b in itertools.pairwise(events))


@functools.lru_cache(maxsize=32)
def evidence(sources: tuple[str, ...]) -> Evidence:
    r"""Return what sources say.

    >>> said = evidence(("RATE = 1.0\ndef f():\n    global RATE\n    RATE = 2.0\n",))
    >>> said.is_rebound("RATE", 0), said.is_changed("RATE", 0)
    (True, False)
    """
    return Evidence(*scanned(sources), len(sources) < 2)
