"""Runs detectors over labelled cases, each on a fresh import of the module that holds them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from jaxbits import detect

HERE = Path(__file__).parent


def fresh(name: str, path: Path | None = None) -> Any:
    """Import a module of cases anew, under a name that nothing else has."""
    spec = importlib.util.spec_from_file_location(f"cases_of_{name}", path or HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def outcomes(check: str, module: Any) -> list[tuple[str, bool, bool, Any]]:
    """Return (case, expected, reported, findings) for each case of a check."""
    found = []
    for case in module.CASES:
        if case[1] != check:
            continue
        name, _, fn, args, expected = case
        sweep = type(args).__name__ == "Sweep"
        # A case names its function's arguments only; `calls` is the sweep.
        given = {"calls": [tuple(a) for a in args]} if sweep else {}
        findings = detect.detectors()[check](fn, *(() if sweep else args), **given)
        reported = any(f.severity != "note" for f in findings)
        found.append((name, expected, reported, findings))
    return found
