"""Read the texts on which both matchers must agree, and damage them as mail and terminals do."""

from __future__ import annotations

import random
import textwrap
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "match_vectors"


@dataclass(frozen=True)
class Vector:
    """A pasted text and the sharp bit that must come first.

    Attributes:
        name: A description that is unique in its file.
        why: Why the vector is there.
        wanted: The id of the sharp bit, or "nothing".
        text: What somebody pastes.
    """

    name: str
    why: str
    wanted: str
    text: str


def read_vectors() -> dict[str, Vector]:
    """Return all vectors, keyed by file and name."""
    found = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for values in tomllib.loads(path.read_text("utf8"))["vector"]:
            vector = Vector(**values)
            key = f"{path.stem}: {vector.name}"
            assert key not in found, f"the names of vectors must be unique, got {key!r} twice"
            found[key] = vector
    return found


def _wrap(text: str, chance: random.Random) -> str:
    return "\n".join(textwrap.wrap(text, chance.randint(20, 70)))


def _quote(text: str, chance: random.Random) -> str:
    mark = chance.choice(["> ", ">> ", "│ ", "E   ", "E       ", "# ", "    "])
    return "\n".join(mark + line for line in text.split("\n"))


def _prefix(text: str, chance: random.Random) -> str:
    prefixes = [
        "2024-03-01 10:22:33,456 - ERROR - ",
        "2024-03-01T10:22:33.456789Z ",
        "E0312 10:21:33.123456 139872 main.cc:77] ",
        "2024-08-20 16:26:58.037892: W external/xla/xla/main.cc:439] ",
        "ERROR:root:",
        "[rank3]: ",
        "3: ",
        "(worker pid=77, ip=10.0.0.1) ",
        "/srv/my code/a.py:12: ",
    ]
    chosen = chance.choice(prefixes)
    lines = text.split("\n")
    if chance.random() < 0.5:
        return chosen + text
    return "\n".join(chosen + line for line in lines)


def _cut(text: str, chance: random.Random) -> str:
    end = chance.randint(0, len(text))
    return text[:end] + chance.choice(["", "...", "…", "\n"])


def _behead(text: str, chance: random.Random) -> str:
    return text[chance.randint(0, len(text)) :]


def _sprinkle(text: str, chance: random.Random) -> str:
    unusual = "\u00a0\u2003\u200b\ufeff\u2019\u201c…é😀\x1b\x85\u2028\r\t\x0c|│>*`\\'\"[31m"
    return "".join(chance.choice(unusual) if chance.random() < 0.03 else letter for letter in text)


def _join(text: str, chance: random.Random) -> str:
    between = chance.choice(["", "ValueError: zork", "KeyboardInterrupt", "..."])
    return f"{text}\n{between}\n{text[::-1]}"


Change = Callable[[str, random.Random], str]
LAYOUT: tuple[Change, ...] = (_wrap, _quote, _prefix)
"""Changes that keep every word of a text."""
ALL_CHANGES: tuple[Change, ...] = (*LAYOUT, _cut, _behead, _sprinkle, _join)


def damage(text: str, chance: random.Random, changes: Sequence[Change] = ALL_CHANGES) -> str:
    """Return a text as it may look after one to three programs have changed it.

    Args:
        text: The text.
        chance: What chooses the changes.
        changes: The changes to choose from.
    """
    for change in chance.sample(changes, chance.randint(1, 3)):
        text = change(text, chance)
    return text
