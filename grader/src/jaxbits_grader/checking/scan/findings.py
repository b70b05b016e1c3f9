"""Collect what the scan finds in one cell."""

from __future__ import annotations

import ast
from typing import Literal

Kind = Literal["tampering", "odd"]


class Findings:
    """The findings in one cell, each with the first line on which it occurs."""

    def __init__(self) -> None:
        # The number of lines above the scanned code, if that code is a string inside the cell.
        self.offset = 0
        self._lines: dict[tuple[Kind, str], int] = {}

    def add(self, kind: Kind, where: ast.AST | int, what: str) -> None:
        """Add a finding.

        Args:
            kind: How serious the finding is.
            where: The syntax node that the finding is about, or its line number.
            what: A description of what the code does.
        """
        line = where if isinstance(where, int) else getattr(where, "lineno", 1)
        line += self.offset
        self._lines[kind, what] = min(line, self._lines.get((kind, what), line))

    def has_tampering(self, where: ast.AST) -> bool:
        """Return whether tampering was found on the first line of a syntax node."""
        line = getattr(where, "lineno", 1) + self.offset
        return any(kind == "tampering" and at == line for (kind, _), at in self._lines.items())

    def messages(self, kind: Kind, cell: str) -> list[str]:
        """Return messages about the findings of one kind, sorted by line.

        Args:
            kind: The kind of findings to return.
            cell: The name of the cell, with which each message begins.
        """
        by_line = sorted(self._lines.items(), key=lambda item: item[1])
        return [f"{cell}, line {line}: {what}" for (k, what), line in by_line if k == kind]
