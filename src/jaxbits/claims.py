"""Statements of the text, checked where they stand.

A chapter says what it established in one cell, and the cell checks it on the machine in front of
the reader. A claim that does not hold is shown, never raised: the notebook goes on.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from jaxbits import runtime
from jaxbits.catalogue import bit as find_bit
from jaxbits.compare import same, show

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


@dataclass(frozen=True)
class Outcome:
    """What became of one claim: ``held``, ``failed`` or ``not made``."""

    bit: str
    claim: str
    outcome: str
    seen: str = ""
    expected: str = ""
    made_for: str = ""

    def __str__(self) -> str:
        if self.outcome == "held":
            return f"✓ {self.claim}"
        if self.outcome == "not made":
            return f"– {self.claim} (said of {self.made_for} only)"
        wanted = f", expected {self.expected}" if self.expected else ""
        return f"✗ {self.claim}: saw {self.seen}{wanted}. {_how_to_report()}"


def _how_to_report() -> str:
    """Return the sentence that asks the reader to report a claim that does not hold."""
    repository = runtime.repository()
    where = f": {repository}/issues" if repository else ""
    return f"Please report it with what jaxbits.runtime.report() prints{where}"


def raises(error: type[BaseException] | str, function: Callable[[], Any], text: str = "") -> Raises:
    """Claim that ``function()`` raises an error.

    Args:
        error: the class, or its name where not every supported version has the class.
        function: called without arguments when the claim is made.
        text: what the message must contain; white space counts as it stands.

    >>> claims("out-of-bounds-read", {"ten is no index": raises(IndexError, lambda: [][10])})
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
    – it is the future (said of jax>=99 only)
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
    """Check what a section states, and print one line for each statement.

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
    ✓ two and two
    ✓ more or less
    """
    find_bit(bit)
    for text, value in statements.items():
        print(settle(bit, text, value))


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


class AlsoSharp:
    """The table of a chapter's smaller sharp bits, each row with a claim that was checked."""

    def __init__(self, rows: list[tuple[str, str, Outcome]]) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        lines = []
        for code, says, outcome in self.rows:
            mark = str(outcome)[0]
            lines.append(f"{mark} {code}  {says}\n    {find_bit(outcome.bit).fix}")
            if outcome.outcome == "failed":
                lines.append(f"    saw {outcome.seen}, expected {outcome.expected}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col">{t}</th>' for t in ("Holds", "You write", "You get", "Instead")
        )
        body = []
        for code, says, outcome in self.rows:
            saw = f" Here: {outcome.seen}." if outcome.outcome == "failed" else ""
            cells = (
                f'<td title="{html.escape(outcome.outcome)}">{str(outcome)[0]}</td>',
                f"<td><code>{html.escape(code)}</code></td>",
                f"<td>{_marked_up(says + saw)}</td>",
                f"<td>{_marked_up(find_bit(outcome.bit).fix)}</td>",
            )
            body.append(f'<tr id="{outcome.bit}">{"".join(cells)}</tr>')
        return (
            f'<table class="also-sharp"><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody></table>"
        )


def _marked_up(text: str) -> str:
    """Return text as HTML, what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


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
