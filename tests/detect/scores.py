"""Run detectors on labeled cases, importing the modules with the cases anew for each run."""

from __future__ import annotations

import functools
import importlib.util
import sys
import warnings
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
    """The outcome of a case: whether it must be reported, whether it was, and the findings."""

    case: str
    expected: bool
    reported: bool
    findings: list[Finding]


class Score(NamedTuple):
    """How many positive cases were found, and how many negative cases caused a false alarm."""

    found: int
    positives: int
    alarms: int
    negatives: int


def families(folder: str) -> list[str]:
    """Return the names of the modules in a folder with cases."""
    return sorted(path.stem for path in (HERE / folder).glob("*.py"))


def import_cases(folder: str, family: str) -> ModuleType:
    """Import a module of cases again, because several functions keep Python state on purpose."""
    path = HERE / folder / f"{family}.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_{family}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@functools.cache
def families_by_check(folder: str) -> dict[str, list[str]]:
    """Return, for each check, the names of the modules in a folder that mention it.

    This reads the sources, because importing all modules compiles their arrays, which takes 10 s.
    """
    found: dict[str, list[str]] = {}
    for family in families(folder):
        source = (HERE / folder / f"{family}.py").read_text("utf8")
        for check in detect.detectors():
            if f'"{check}"' in source:
                found.setdefault(check, []).append(family)
    return found


def cases(folder: str, check: str) -> Iterator[Case]:
    """Yield the cases for a check from newly imported modules."""
    for family in families_by_check(folder).get(check, ()):
        yield from (case for case in import_cases(folder, family).CASES if case.check == check)


def detector_arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and keyword arguments that a detector needs for a case."""
    if isinstance(case.args, Sweep):
        return (), {**case.kwargs, "calls": [tuple(given) for given in case.args]}
    return tuple(case.args), case.kwargs


def outcomes(check: str, folder: str) -> list[Outcome]:
    """Run a detector on each of its cases in a folder, and return the outcomes."""
    found = []
    for case in cases(folder, check):
        args, kwargs = detector_arguments(case)
        with warnings.catch_warnings():  # In some cases, the function cannot be traced on purpose.
            warnings.filterwarnings("ignore", r".* may have missed something", UserWarning)
            findings = detect.detectors()[check](case.fn, *args, **kwargs)
        reported = any(finding.severity != "note" for finding in findings)
        found.append(Outcome(case.name, case.expected, reported, findings))
    return found


def score(seen: list[Outcome]) -> Score:
    """Count the positive cases, those found, the negative cases, and the false alarms."""
    return Score(
        sum(o.reported for o in seen if o.expected),
        sum(o.expected for o in seen),
        sum(o.reported for o in seen if not o.expected),
        sum(not o.expected for o in seen),
    )
