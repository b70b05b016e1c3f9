"""Load the rules by which Python and JavaScript look up a pasted error."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@functools.cache
def compile_shared(pattern: str) -> re.Pattern[str]:
    r"""Compile a regular expression that JavaScript also understands, with the same meaning.

    Raises:
        re.error: If the expression is invalid.

    >>> bool(compile_shared(r"\w").match("é"))  # as in JavaScript
    False
    """
    return re.compile(pattern, re.ASCII)


def read_rules() -> dict[str, Any]:
    """Return the contents of ``matching.toml``, which a page passes to its JavaScript as JSON."""
    return tomllib.loads(files("jaxbits").joinpath("matching.toml").read_text("utf8"))


@dataclass(frozen=True)
class Rules:
    """The rules in ``matching.toml``, ready for use. That file explains each of them."""

    clean: tuple[tuple[re.Pattern[str], str], ...]
    lists: Mapping[str, tuple[re.Pattern[str], ...]]
    patterns: Mapping[str, re.Pattern[str]]
    families: Mapping[str, frozenset[str]]
    telling: frozenset[str]
    common: frozenset[str]
    scores: Mapping[str, float]

    def find(self, name: str, text: str) -> re.Match[str] | None:
        """Return the first match of a rule, which is one pattern or the first of several.

        Args:
            name: The name of the rule.
            text: Where to search.
        """
        if name in self.patterns:
            return self.patterns[name].search(text)
        matches = (pattern.search(text) for pattern in self.lists[name])
        return next((match for match in matches if match), None)

    def is_same_class(self, one: str, other: str) -> bool:
        """Return whether two classes of errors are the same or belong to one family.

        >>> load_rules().is_same_class("XlaRuntimeError", "JaxRuntimeError")
        True
        """
        return one == other or other in self.families.get(one, frozenset())


@functools.cache
def load_rules() -> Rules:
    """Return the rules."""
    data = read_rules()
    families: dict[str, set[str]] = {}
    for family in data["families"]:
        for name in family:
            families.setdefault(name, set()).update(family)
    regular = {
        key: value for key, value in data.items() if key not in {"clean", "common", "scores"}
    }
    lists = ("prefixes", "suffixes", "breaks", "frames", "arrows")
    return Rules(
        clean=tuple((compile_shared(rule["find"]), rule["put"]) for rule in data["clean"]),
        lists={key: tuple(map(compile_shared, regular[key])) for key in lists},
        patterns={
            key: compile_shared(value) for key, value in regular.items() if isinstance(value, str)
        },
        families={name: frozenset(family) for name, family in families.items()},
        telling=frozenset(data["telling"]),
        common=frozenset(data["common"].split()),
        scores=data["scores"],
    )
