"""Check that the API page documents the public names, and nothing internal."""

from __future__ import annotations

import html
import re
from pathlib import Path

import jaxbits
from _ext.public_names import hide_private_modules
from jaxbits import detect

FIRST = ("audit", "assert_clean", "explain", "claims", "check")


def _page(built: Path) -> str:
    return (built / "reference" / "api.html").read_text("utf8")


def _signatures(built: Path) -> list[str]:
    found = re.findall(r'<dt class="sig[^>]*>(.*?)</dt>', _page(built), re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", one)) for one in found]


def test_api_page_documents_every_public_name_and_detector(built: Path) -> None:
    ids = set(re.findall(r'id="(jaxbits[\w.]+)"', _page(built)))
    modules = {"detect", "optim", "runtime", "testing", "xor"}
    names = {name for name in jaxbits.__all__ if not name.startswith("__")} - modules
    assert {f"jaxbits.{name}" for name in names} <= ids
    assert {f"jaxbits.detect.{name}" for name in detect.detectors()} <= ids


def test_api_page_starts_with_the_five_main_functions(built: Path) -> None:
    opening = _page(built).partition('id="audit"')[0]
    places = [opening.index(f"jaxbits.{name}(") for name in FIRST]
    assert places == sorted(places)


def test_api_page_shows_types_and_links_to_the_source(built: Path) -> None:
    functions = [s for s in _signatures(built) if s.strip().startswith("jaxbits.detect.")]
    assert len(functions) > len(detect.detectors())
    assert all("→ list[Finding]" in s or s.strip().startswith("jaxbits.detect.detectors")
               for s in functions)  # fmt: skip
    assert all("[source]" in s for s in functions)


def test_api_page_hides_private_modules_and_field_aliases(built: Path) -> None:
    assert [s for s in _signatures(built) if re.search(r"\._[a-z]|_Sentinel", s)] == []
    assert "Alias for field number" not in _page(built)
    text = html.unescape(re.sub(r"<[^>]+>", "", _page(built)))
    assert re.findall(r"jaxbits\._\w+", text) == []


def test_hide_private_modules_keeps_public_names() -> None:
    assert hide_private_modules("jax.jaxlib._jax.Array") == "Array"
    assert hide_private_modules("optax.GradientTransformation") == "optax.GradientTransformation"
