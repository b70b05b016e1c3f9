"""Check the statements of a section on the reader's machine.

Each section ends with one cell that lists the section's statements and checks them. If a statement
does not hold, the cell reports it without raising an error, so the rest of the notebook still runs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from jaxbits import runtime
from jaxbits._catalogue import find_bit
from jaxbits._claims_display import AlsoSharp, Outcome, Outcomes
from jaxbits._equality import is_equal
from jaxbits._formatting import first_line, format_line

RECORD = "JAXBITS_RECORD"
"""The environment variable that holds the path of a file to append each outcome to, as JSON."""


@dataclass(frozen=True)
class Raises:
    """The claim that a function raises an error. See `raises`."""

    error: str
    function: Callable[[], Any]
    text: str = ""


@dataclass(frozen=True)
class MadeFor:
    """A claim that applies only to certain versions or to one backend. See `made_for`."""

    value: Any
    requirements: Mapping[str, str]

    @property
    def condition(self) -> str:
        """The requirements on one line, such as ``jax>=0.8, backend cpu``."""
        return ", ".join(
            f"backend {v}" if k == "backend" else f"{k}{v}" for k, v in self.requirements.items()
        )

    def applies_here(self) -> bool:
        """Return whether this machine meets the requirements."""
        return all(_is_met(name, wanted) for name, wanted in self.requirements.items())


def claims(bit: str, statements: Mapping[str, Any]) -> None:
    """Check the statements of a section, and show how many checks passed.

    In a notebook, the output is one line that the reader can expand into the list of statements.
    If a check fails, the list is already expanded and shows the values. Outside a notebook, the
    line and the list are printed.

    Args:
        bit: The catalogue id of the sharp bit that the section explains.
        statements: A dictionary that maps each statement to its check. A check is a boolean, an
            array that contains one boolean, a pair ``(seen, expected)``, the result of `raises`, a
            function without parameters that returns one of these, or any of these wrapped in
            `made_for`. The two values of a pair must have the same shapes and the same kinds of
            numbers. 32-bit and 64-bit floats must agree to within a relative tolerance of 1e-5, and
            everything else must agree exactly. NaN equals NaN.

    Raises:
        KeyError: If no sharp bit has this id.
        TypeError: If a statement's check has none of these forms.

    >>> claims("out-of-bounds-read", {"two and two": (2 + 2, 4), "more or less": 1 < 2})
    ✓ 2 checks passed here
    ✓ two and two
    ✓ more or less
    """
    find_bit(bit)
    outcomes = [evaluate_claim(bit, text, value) for text, value in statements.items()]
    if outcomes:
        _show(Outcomes(outcomes))


def also_sharp(rows: Mapping[str, tuple[str, str, Any]]) -> AlsoSharp:
    """Check a chapter's smaller sharp bits, and return them as a table.

    Args:
        rows: A dictionary that maps the id of each sharp bit to a tuple of the code, its result,
            and a check in any form that `claims` accepts. The fix comes from the catalogue.

    Raises:
        KeyError: If one of the ids does not belong to a sharp bit.
        TypeError: If a row's check has none of the forms that `claims` accepts.

    >>> also_sharp({"float-index": ("x[1.0]", "an error", raises(IndexError, lambda: [][1]))})
    ✓ x[1.0]  an error
        Convert the index: `x[int(i)]`, or `x[i.astype(int)]` for an array.
    """
    table = []
    for bit, (code, result, value) in rows.items():
        find_bit(bit)
        table.append((code, result, evaluate_claim(bit, f"{code}: {result}", value)))
    return AlsoSharp(table)


def raises(error: type[BaseException] | str, function: Callable[[], Any], text: str = "") -> Raises:
    """Claim that a function raises an error.

    Args:
        error: The error's class, or the name of the class if a supported version of its library
            lacks it.
        function: A function without parameters, which is called when the claim is checked.
        text: A string that the error's message must contain. Whitespace must match exactly.

    >>> claims("out-of-bounds-read", {"10 is out of range": raises(IndexError, lambda: [][10])})
    ✓ 1 check passed here
    ✓ 10 is out of range
    """
    return Raises(error if isinstance(error, str) else error.__name__, function, text)


def made_for(value: Any, /, *, backend: str = "", **packages: str) -> MadeFor:
    """Limit a claim to certain versions or to one backend, so that it is not checked elsewhere.

    Args:
        value: The check, in any form that `claims` accepts.
        backend: ``"cpu"``, ``"gpu"``, or ``"tpu"``.
        packages: A version specifier for each package, such as ``jax=">=0.8"``.

    Raises:
        ValueError: If you pass neither a backend nor a package, or if a specifier is malformed.

    >>> claims("out-of-bounds-read", {"it is the future": made_for(False, jax=">=99")})
    – 1 check does not apply here
    – it is the future (applies only with jax>=99)
    """
    requirements = dict(packages) | ({"backend": backend} if backend else {})
    if not requirements:
        raise ValueError("made_for needs a backend or a package, such as jax='>=0.8'; got neither")
    for name, specifier in packages.items():
        try:
            SpecifierSet(specifier)
        except InvalidSpecifier:
            raise ValueError(
                f"{name} must be a version specifier such as '>=0.8', got {specifier!r}"
            ) from None
    return MadeFor(value, requirements)


def evaluate_claim(bit: str, text: str, value: Any) -> Outcome:
    """Check one claim and return its outcome.

    If the environment variable that `RECORD` names is set, this function also appends the outcome
    to the file that the variable specifies.

    Args:
        bit: The id of the sharp bit that the statement is about.
        text: The statement to check.
        value: The statement's check, in any form that `claims` accepts.

    Raises:
        TypeError: If `value` has none of these forms.
    """
    outcome = _evaluate(bit, text, value)
    if path := os.environ.get(RECORD):
        with Path(path).open("a", encoding="utf8") as record:
            record.write(json.dumps(vars(outcome), ensure_ascii=False) + "\n")
    return outcome


def _evaluate(bit: str, text: str, value: Any, condition: str = "") -> Outcome:
    if isinstance(value, MadeFor):
        if not value.applies_here():
            return Outcome(bit, text, "not made", made_for=value.condition)
        return _evaluate(bit, text, value.value, value.condition)
    if isinstance(value, Raises):
        return _evaluate_raises(bit, text, value, condition)
    if callable(value):
        try:
            value = value()
        except Exception as error:
            return Outcome(bit, text, "failed", _format_error(error), made_for=condition)
        return _evaluate(bit, text, value, condition)
    if isinstance(value, tuple) and len(value) == 2:
        outcome = _outcome(is_equal(*value))
        seen, expected = map(format_line, value)
        return Outcome(bit, text, outcome, seen, expected, condition)
    if not _is_boolean(value):
        raise TypeError(
            f"the check of {text!r} must be a boolean, a pair (seen, expected), raises(...), or a "
            f"function; got {value!r}"
        )
    return Outcome(bit, text, _outcome(bool(value)), str(bool(value)), made_for=condition)


def _evaluate_raises(bit: str, text: str, claim: Raises, condition: str) -> Outcome:
    expected = f"{claim.error}: …{claim.text}…" if claim.text else claim.error
    try:
        value = claim.function()
    except Exception as error:
        has_class = claim.error in {c.__name__ for c in type(error).__mro__}
        outcome = _outcome(has_class and claim.text in str(error))
        return Outcome(bit, text, outcome, _format_error(error), expected, condition)
    return Outcome(bit, text, "failed", f"no error, but {format_line(value)}", expected, condition)


def _outcome(holds: bool) -> str:
    return "held" if holds else "failed"


def _is_boolean(value: Any) -> bool:
    """Return whether a value is a bool or an array that contains one boolean."""
    return isinstance(value, bool) or (
        str(getattr(value, "dtype", "")) == "bool" and getattr(value, "size", 0) == 1
    )


def _format_error(error: BaseException) -> str:
    message = first_line(error, limit=None)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _is_met(name: str, wanted: str) -> bool:
    if name == "backend":
        return runtime.backend() == wanted
    installed = runtime.version(name)
    return installed is not None and SpecifierSet(wanted).contains(installed, prereleases=True)


def _show(outcomes: Outcomes) -> None:
    # Other code, such as a test runner, may have imported IPython without starting a shell.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython and hasattr(ipython, "get_ipython") else None
    if shell is None:
        print(outcomes)
    else:
        from IPython.display import display

        display(outcomes)
