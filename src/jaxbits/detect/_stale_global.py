"""The detector `stale_global`: outdated values that a compiled program keeps using."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.python_state.changed_values import changed_values
from jaxbits._analysis.python_state.mutability import find_changeable
from jaxbits._analysis.python_state.references import Reference
from jaxbits.detect._side_effect import environment_findings

_MAX_TRIED = 24


@detector
def stale_global(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find globals and attributes whose values are baked into the compiled program.

    For each name that can change, the detector traces the function again with a different value. If
    the program differs, the value is baked in. The module's source shows what can change, namely
    names that are reassigned after the function, containers that are mutated after it, and
    attributes that are set outside `__init__`. Even without such evidence, mutable globals are
    assumed to change unless their names are in capitals. A value that could change but shows no
    sign of it, such as an attribute that is set only once, is reported as a note. The detector
    tries at most 24 names. It cannot see what another module changes. JAX has no switch for this.

    >>> from jaxbits import detect
    >>> settings = {"rate": 0.1}
    >>> print(detect.stale_global(lambda x: x * settings["rate"], 1.0)[0].message)
    global `settings` is baked into the compiled program
    >>> detect.stale_global(lambda x, rate: x * rate, 1.0, settings["rate"])
    []
    """
    yield from environment_findings(target)
    if target.trace.program is None:
        return
    original: tuple[str, ...] | None = None
    candidates = sorted(find_changeable(target.references), key=lambda pair: not pair[1])
    # Names that show no sign of changing could only be notes, so leaving them out hides nothing.
    untried = [reference for reference, is_meant in candidates[_MAX_TRIED:] if is_meant]
    if untried:
        names = ", ".join(reference.name for reference in untried)
        target.left_out.append(f"stale_global: {_MAX_TRIED} names were tried, but not {names:.200}")
    for reference, is_meant in candidates[:_MAX_TRIED]:
        value = reference.get()
        original = original or target.trace.fingerprint()
        if any(
            _changes_program(target, reference, changed, original)
            for changed in changed_values(value, is_meant)
        ):
            yield Finding(
                "warning" if is_meant else "note",
                f"{reference.kind} `{reference.name}` is baked into the compiled program",
                "traced again with another value there, the program is another; a cached call "
                "keeps the old one" + ("" if is_meant else "; nothing was seen to change it"),
                f"pass `{reference.name}` as an argument",
                reference.location,
            )


def _changes_program(
    target: FunctionUnderTest, reference: Reference, changed: Any, original: tuple[str, ...]
) -> bool:
    """Return whether the program differs if a different value replaces the current one."""
    value = reference.get()
    try:
        reference.set(changed)
        return target.retrace().fingerprint() != original
    finally:
        reference.set(value)
