"""What a guard of the catalogue says that a detector finds, it finds."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import jax.numpy as jnp
import pytest
from jax import lax

from jaxbits import catalogue, detect
from jaxbits.detect.finding import Finding

GUARDS = Path(__file__).parent / "guards"
EXAMPLES = [
    example
    for module in sorted(GUARDS.glob("*.py"))
    for example in importlib.import_module(f"guards.{module.stem}").EXAMPLES
]
x, far = jnp.arange(10.0), jnp.int32(12)


@pytest.mark.parametrize(
    ("bit", "check", "fn", "args", "kwargs"), EXAMPLES, ids=[f"{b}-{c}" for b, c, *_ in EXAMPLES]
)
def test_the_detector_that_a_guard_names_finds_it(bit, check, fn, args, kwargs):
    found = getattr(detect, check)(fn, *args, **kwargs)
    assert [f for f in found if f.severity != "note"], bit
    assert f"`jaxbits.detect.{check}`" in catalogue.bit(bit).guard


def test_every_detector_that_a_guard_names_has_a_program_here():
    named = {
        (bit.id, check)
        for bit in catalogue.load().values()
        for check in re.findall(r"`jaxbits\.detect\.(\w+)`", bit.guard)
    }
    shown = {(bit, check) for bit, check, *_ in EXAMPLES}
    assert named == shown


@pytest.mark.parametrize(
    ("bit", "fn"),
    [
        ("out-of-bounds-read", lambda a, i: a[i]),
        ("take-fills", lambda a, i: jnp.take(a, i)),
        ("out-of-bounds-write", lambda a, i: a.at[i].set(1.0)),
        ("dynamic-slice-shifts", lambda a, i: lax.dynamic_slice(a, (i,), (3,))),
    ],
)
def test_a_finding_links_to_the_closest_section(bit, fn):
    (found,) = detect.out_of_bounds(fn, x, far)
    assert found.link == catalogue.bit(bit).link


def test_without_a_bit_the_link_is_to_what_is_most_about_the_check():
    assert Finding("no_such_check", "error", "m", "e", "f").link == ""
    assert Finding("leak", "error", "m", "e", "f").link.endswith("a-traced-value-kept-for-later")
