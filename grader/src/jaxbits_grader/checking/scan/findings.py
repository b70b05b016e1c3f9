"""What is found while one cell is read."""

from __future__ import annotations

import ast
from typing import Literal

Kind = Literal["tampered", "odd"]


class Findings:
    """Collects what is found, each with the line it is on."""

    def __init__(self) -> None:
        # Lines above the code that is read: more than none where a line holds code as a text.
        self.offset = 0
        # Each thing once, where it comes first.
        self.lines: dict[tuple[Kind, str], int] = {}

    def add(self, kind: Kind, where: ast.AST | int, what: str) -> None:
        """Keep what was found at a part of the syntax or in a line."""
        line = where if isinstance(where, int) else getattr(where, "lineno", 1)
        line += self.offset
        self.lines[kind, what] = min(line, self.lines.get((kind, what), line))

    def said(self, kind: Kind, cell: str) -> list[str]:
        """The findings of one kind, a sentence each, as they follow in the cell."""
        first = sorted(self.lines.items(), key=lambda item: item[1])
        return [f"{cell}, line {line}: {what}" for (k, what), line in first if k == kind]
