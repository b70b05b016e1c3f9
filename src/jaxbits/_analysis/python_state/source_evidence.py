"""Find the source code behind a reference, as evidence of whether its value changes."""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import types

from jaxbits._analysis.python_state.references import Reference, is_user_object
from jaxbits._analysis.source.rebinding import Evidence, collect_evidence


def evidence_for(reference: Reference) -> Evidence:
    """Return what the source of a reference's module and classes reveals about names."""
    sources = _sources_of_scope(reference)
    holder = reference.holder
    class_ = holder if isinstance(holder, type) else type(holder)
    if reference.kind in ("attribute", "class attribute"):
        for base in class_.__mro__:
            module = sys.modules.get(base.__module__)
            text = _module_source(module) if module and is_user_object(base) else ""
            sources += (text,) * bool(text and text not in sources and len(sources) < 2)
    return collect_evidence(sources)


def _module_source(module: types.ModuleType) -> str:
    """Return the source of a module, or an empty string if it is unavailable."""
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        return ""


def _sources_of_scope(reference: Reference) -> tuple[str, ...]:
    """Return the source of the module that uses a name, or of the notebook cells run so far."""
    file = reference.location.file if reference.location else ""
    scope = reference.holder
    if not isinstance(scope, dict):
        modules = (m for m in list(sys.modules.values()) if getattr(m, "__file__", "") == file)
        scope = vars(next(modules, sys.modules["__main__"]))
    cells = scope.get("In")
    if isinstance(cells, list):
        sources = cells if any(map(str, cells)) else _cells_without_history(file)
        return tuple(dict.fromkeys(map(str, sources)))  # Rerunning a cell adds no evidence.
    module = sys.modules.get(str(scope.get("__name__")))
    source = _module_source(module) if module else ""
    return (source,) if source else ()


def _cells_without_history(file: str) -> list[str]:
    """Return the cells of a file's notebook, for front ends that do not keep a history.

    IPython puts the source of every cell into `linecache`, where tracebacks look for it:
    https://github.com/ipython/ipython/blob/9.18.1/IPython/core/compilerop.py
    """
    directory = os.path.dirname(file)
    return [
        "".join(entry[2])
        for name, entry in list(linecache.cache.items())
        if len(entry) > 2 and directory and os.path.dirname(name) == directory
    ]
