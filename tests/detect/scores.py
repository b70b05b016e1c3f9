"""Runs detectors over labelled cases, each on a fresh import of the modules that hold them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from labelled_cases import Case, Sweep

from jaxbits import detect
from jaxbits._analysis.finding import Finding

HERE = Path(__file__).parent
FOLDERS = ("given_cases", "own_cases")


class Outcome(NamedTuple):
    """What became of a case: whether it should be reported, whether it was, and all findings."""

    case: str
    expected: bool
    reported: bool
    findings: list[Finding]


class Score(NamedTuple):
    """How many of the positives were found, and how many of the negatives were alarms."""

    found: int
    positives: int
    alarms: int
    negatives: int


def families(folder: str) -> list[str]:
    """Return the names of the modules in a folder of cases."""
    return sorted(path.stem for path in (HERE / folder).glob("*.py"))


def fresh(folder: str, family: str) -> ModuleType:
    """Import a module of cases anew: several functions keep Python state on purpose."""
    path = HERE / folder / f"{family}.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_{family}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_homes: dict[str, dict[str, list[str]]] = {}


def homes(folder: str) -> dict[str, list[str]]:
    """Return for each check the modules of a folder that have cases of it."""
    if folder not in _homes:
        found: dict[str, list[str]] = {}
        for family in families(folder):
            for check in dict.fromkeys(case.check for case in fresh(folder, family).CASES):
                found.setdefault(check, []).append(family)
        _homes[folder] = found
    return _homes[folder]


def cases(folder: str, check: str) -> Iterator[Case]:
    """Yield the cases of a check, from modules imported anew."""
    for family in homes(folder).get(check, ()):
        yield from (case for case in fresh(folder, family).CASES if case.check == check)


def called(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and the named arguments by which a detector is given a case."""
    if isinstance(case.args, Sweep):
        return (), {**case.kwargs, "calls": [tuple(given) for given in case.args]}
    return tuple(case.args), case.kwargs


def outcomes(check: str, folder: str) -> list[Outcome]:
    """Return what a detector says of each case of its check."""
    found = []
    for case in cases(folder, check):
        args, kwargs = called(case)
        findings = detect.detectors()[check](case.fn, *args, **kwargs)
        reported = any(finding.severity != "note" for finding in findings)
        found.append(Outcome(case.name, case.expected, reported, findings))
    return found


def score(seen: list[Outcome]) -> Score:
    """Count what was found and what was a false alarm."""
    return Score(
        sum(o.reported for o in seen if o.expected),
        sum(o.expected for o in seen),
        sum(o.reported for o in seen if not o.expected),
        sum(not o.expected for o in seen),
    )
