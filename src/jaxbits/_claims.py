"""Check what the text says on the machine in front of the reader.

Each section ends with one cell that lists what the section says and checks it. A claim that does
not hold is shown, never raised, so the notebook goes on.
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
from jaxbits._catalogue import bit as find_bit
from jaxbits._claims_display import AlsoSharp, Outcome, Outcomes
from jaxbits._equality import same, show

RECORD = "JAXBITS_RECORD"
"""Environment variable: the file to which every claim's outcome is appended, a JSON line each."""


@dataclass(frozen=True)
class Raises:
    """The claim that calling `function` raises `error` with `text` in its message."""

    error: str
    function: Callable[[], Any]
    text: str = ""


@dataclass(frozen=True)
class MadeFor:
    """A claim and where it is made: elsewhere it is neither checked nor denied."""

    value: Any
    needs: Mapping[str, str]

    @property
    def where(self) -> str:
        """The condition in words, such as ``jax>=0.8, backend cpu``."""
        return ", ".join(
            f"backend {v}" if k == "backend" else f"{k}{v}" for k, v in self.needs.items()
        )

    def here(self) -> bool:
        """Tell whether this machine is one for which the claim is made."""
        return all(_meets(name, wanted) for name, wanted in self.needs.items())


def raises(error: type[BaseException] | str, function: Callable[[], Any], text: str = "") -> Raises:
    """Claim that ``function()`` raises an error.

    Args:
        error: the class, or its name where not every supported version has the class.
        function: called without arguments when the claim is made.
        text: what the message must contain; white space counts as it stands.

    >>> claims("out-of-bounds-read", {"ten is no index": raises(IndexError, lambda: [][10])})
    ✓ 1 check passed here
    ✓ ten is no index
    """
    return Raises(error if isinstance(error, str) else error.__name__, function, text)


def made_for(value: Any, /, *, backend: str = "", **packages: str) -> MadeFor:
    """Limit a claim to the versions or the backend it is made for.

    Args:
        value: the claim, in any form that `claims` takes.
        backend: ``"cpu"``, ``"gpu"`` or ``"tpu"``.
        packages: a version specifier for each package, such as ``jax=">=0.8"``.

    Raises:
        ValueError: when nothing limits the claim, or a specifier is malformed.

    >>> claims("out-of-bounds-read", {"it is the future": made_for(False, jax=">=99")})
    – 1 check does not apply here
    – it is the future (applies only with jax>=99)
    """
    needs = dict(packages) | ({"backend": backend} if backend else {})
    if not needs:
        raise ValueError("made_for needs a backend or a package, such as jax='>=0.8'; got none")
    for name, wanted in packages.items():
        try:
            SpecifierSet(wanted)
        except InvalidSpecifier:
            raise ValueError(
                f"made_for({name}={wanted!r}): should be a version specifier such as '>=0.8'"
            ) from None
    return MadeFor(value, needs)


def claims(bit: str, statements: Mapping[str, Any]) -> None:
    """Check what a section says, and show how many checks passed.

    A notebook shows one line that opens into the list of statements. If a check failed, the list
    is open and says what was seen. Elsewhere the line and the list are printed.

    Args:
        bit: the sharp bit's id in the catalogue.
        statements: what is said, with its check: a boolean (an array of one will do), a pair
            ``(seen, expected)``, the result of `raises`, a function of no arguments that returns
            one of these, or any of them wrapped by `made_for`. In a pair, shapes and dtypes'
            kinds must agree, numbers of 32 and 64 bits to a relative 1e-5 (NaN equals NaN), all
            else exactly.

    Raises:
        KeyError: when no sharp bit has that id.
        TypeError: when a statement comes with nothing that can be checked.

    >>> claims("out-of-bounds-read", {"two and two": (2 + 2, 4), "more or less": 1 < 2})
    ✓ 2 checks passed here
    ✓ two and two
    ✓ more or less
    """
    find_bit(bit)
    outcomes = [settle(bit, text, value) for text, value in statements.items()]
    if outcomes:
        _show(Outcomes(outcomes))


def _show(outcomes: Outcomes) -> None:
    # IPython may be loaded, by a test runner for example, with no notebook or terminal of it open.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython and hasattr(ipython, "get_ipython") else None
    if shell is None:
        print(outcomes)
    else:
        from IPython.display import display

        display(outcomes)


def settle(bit: str, text: str, value: Any) -> Outcome:
    """Check one claim, record it where that is asked for, and return what became of it."""
    outcome = _settle(bit, text, value)
    if path := os.environ.get(RECORD):
        with Path(path).open("a", encoding="utf8") as record:
            record.write(json.dumps(vars(outcome), ensure_ascii=False) + "\n")
    return outcome


def _settle(bit: str, text: str, value: Any, where: str = "") -> Outcome:
    if isinstance(value, MadeFor):
        if not value.here():
            return Outcome(bit, text, "not made", made_for=value.where)
        return _settle(bit, text, value.value, value.where)
    if isinstance(value, Raises):
        return _settle_error(bit, text, value, where)
    if callable(value):
        try:
            value = value()
        except Exception as error:  # a claim that cannot be computed is a claim that failed
            return Outcome(bit, text, "failed", _one_line(error), made_for=where)
        return _settle(bit, text, value, where)
    if isinstance(value, tuple) and len(value) == 2:
        held = same(*value)
        return Outcome(bit, text, _word(held), show(value[0]), show(value[1]), where)
    if not _is_boolean(value):
        raise TypeError(
            f"claims({bit!r}): {text!r} should come with a boolean, a pair (seen, expected), "
            f"raises(...) or a function, was {value!r}"
        )
    return Outcome(bit, text, _word(bool(value)), str(bool(value)), made_for=where)


def _is_boolean(value: Any) -> bool:
    """A bool, or an array of one boolean; a number by itself is no statement."""
    return isinstance(value, bool) or (
        str(getattr(value, "dtype", "")) == "bool" and getattr(value, "size", 0) == 1
    )


def _settle_error(bit: str, text: str, claim: Raises, where: str) -> Outcome:
    wanted = f"{claim.error}: …{claim.text}…" if claim.text else claim.error
    try:
        value = claim.function()
    except Exception as error:
        named = claim.error in {c.__name__ for c in type(error).__mro__}
        held = named and claim.text in str(error)
        return Outcome(bit, text, _word(held), _one_line(error), wanted, where)
    return Outcome(bit, text, "failed", f"no error, but {show(value)}", wanted, where)


def _word(held: bool) -> str:
    return "held" if held else "failed"


def _one_line(error: BaseException) -> str:
    message = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _meets(name: str, wanted: str) -> bool:
    if name == "backend":
        return runtime.backend() == wanted
    found = runtime.version(name)
    return found is not None and SpecifierSet(wanted).contains(found, prereleases=True)


def also_sharp(rows: Mapping[str, tuple[str, str, Any]]) -> AlsoSharp:
    """Check the smaller sharp bits of a chapter, and return them as a table.

    Args:
        rows: for each sharp bit's id the code one writes, what one gets, and the check, in any
            form that `claims` takes. What to do instead comes from the catalogue.

    Raises:
        KeyError: when no sharp bit has one of the ids.

    >>> also_sharp({"float-index": ("x[1.0]", "an error", raises(IndexError, lambda: [][1]))})
    ✓ x[1.0]  an error
        Convert the index: `x[int(i)]`, or `x[i.astype(int)]` for an array.
    """
    table = []
    for bit, (code, says, value) in rows.items():
        find_bit(bit)
        table.append((code, says, settle(bit, f"{code}: {says}", value)))
    return AlsoSharp(table)
