"""Collect what is found in one cell."""

from __future__ import annotations

import ast
from typing import Literal

Kind = Literal["tampering", "odd"]


class Findings:
    """The findings in one cell, each with its first line."""

    def __init__(self) -> None:
        # Lines above the code that is scanned, if it is a string inside the cell.
        self.offset = 0
        self._lines: dict[tuple[Kind, str], int] = {}

    def add(self, kind: Kind, where: ast.AST | int, what: str) -> None:
        """Add a finding.

        Args:
            kind: How serious it is.
            where: The syntax node or line number.
            what: What the code does.
        """
        line = where if isinstance(where, int) else getattr(where, "lineno", 1)
        line += self.offset
        self._lines[kind, what] = min(line, self._lines.get((kind, what), line))

    def messages(self, kind: Kind, cell: str) -> list[str]:
        """Return the findings of one kind, sorted by line.

        Args:
            kind: How serious they are.
            cell: The name of the cell.
        """
        by_line = sorted(self._lines.items(), key=lambda item: item[1])
        return [f"{cell}, line {line}: {what}" for (k, what), line in by_line if k == kind]
