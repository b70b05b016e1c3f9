"""Parse the lines that mark solutions and hidden tests, and find `# variant:` comments.

nbgrader defines the marker lines:
https://nbgrader.readthedocs.io/en/stable/user_guide/creating_and_grading_assignments.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SOLUTION, HIDDEN_TESTS = "SOLUTION", "HIDDEN TESTS"
STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")

VARIANT_COMMENT = re.compile(r"[ \t]*# variant:[^\n]*")

# A line that looks like a marker must be a valid one. Otherwise, the released notebook would show
# lines that the author meant to hide.
_SIMILAR = re.compile(r"###\s*(BEGIN|END)\b")
_MARKER = re.compile(rf"([ \t]*)### (BEGIN|END) ({SOLUTION}|{HIDDEN_TESTS})")


def without_variant_comments(source: str) -> str:
    """Return the source of a cell without its `# variant:` comments.

    Example:
        >>> without_variant_comments("rows = 12  # variant: 8..20")
        'rows = 12'
    """
    return VARIANT_COMMENT.sub("", source)


class MarkerError(ValueError):
    """Raised if a marker is misspelled, misplaced, or unterminated. The message names the line."""


@dataclass(frozen=True)
class Block:
    """The lines between a BEGIN marker and its END marker.

    Attributes:
        kind: `SOLUTION` or `HIDDEN_TESTS`.
        first: The index of the line with the BEGIN marker.
        last: The index of the line with the END marker.
        indent: The whitespace before the BEGIN marker.
    """

    kind: str
    first: int
    last: int
    indent: str


def parse_blocks(source: str) -> list[Block]:
    """Return the marked blocks in a cell.

    Raises:
        MarkerError: If a marker is misspelled, nested, or lacks its counterpart.
    """
    blocks: list[Block] = []
    opened: tuple[str, int, str] | None = None
    for index, line in enumerate(source.split("\n")):
        if not _SIMILAR.search(line):
            continue
        match = _MARKER.fullmatch(line)
        if match is None or (match[2] == "BEGIN") == (opened is not None):
            raise MarkerError(f"unexpected line {line.strip()!r}")
        if opened is None:
            opened = match[3], index, match[1]
        elif opened[0] != match[3]:
            raise MarkerError(f"unexpected line {line.strip()!r}")
        else:
            blocks.append(Block(opened[0], opened[1], index, opened[2]))
            opened = None
    if opened is not None:
        raise MarkerError(f"unterminated '### BEGIN {opened[0]}' block")
    return blocks


def _replace_blocks(source: str, kind: str, *, keep: bool, stub: tuple[str, ...] = ()) -> str:
    """Replace blocks of one kind with a stub, or remove only their markers if `keep` is true."""
    lines = source.split("\n")
    for block in reversed(parse_blocks(source)):
        if block.kind == kind:
            inside = lines[block.first + 1 : block.last] if keep else []
            lines[block.first : block.last + 1] = [*(block.indent + s for s in stub), *inside]
    return "\n".join(lines).rstrip("\n")


def stub_source(source: str) -> str:
    r"""Return a solution cell as students receive it, with a stub in place of the solution.

    Example:
        >>> cell = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION"
        >>> print(stub_source(cell))
        def f():
            # YOUR CODE HERE
            raise NotImplementedError()
    """
    return _replace_blocks(source, SOLUTION, keep=False, stub=STUB)


def solution_source(source: str) -> str:
    """Return a solution cell without its markers."""
    return _replace_blocks(source, SOLUTION, keep=True)


def visible_tests(source: str) -> str:
    """Return a test cell as students receive it, without the hidden tests."""
    return _replace_blocks(source, HIDDEN_TESTS, keep=False)


def block_texts(source: str, kind: str) -> list[str]:
    """Return the text inside each block of one kind.

    Args:
        source: The source of the cell.
        kind: `SOLUTION` or `HIDDEN_TESTS`.
    """
    lines = source.split("\n")
    blocks = (block for block in parse_blocks(source) if block.kind == kind)
    return ["\n".join(lines[block.first + 1 : block.last]) for block in blocks]


def hidden_test_lines(source: str) -> set[int]:
    """Return the 1-based line numbers of the hidden tests at the top level of a cell.

    Hidden tests inside a function or loop are not included, because they may use names defined
    inside it.
    """
    return set(_top_level_lines(source))


def _top_level_lines(source: str) -> Iterator[int]:
    for block in parse_blocks(source):
        if block.kind == HIDDEN_TESTS and not block.indent:
            yield from range(block.first + 1, block.last + 1)
