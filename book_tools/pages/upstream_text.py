"""Write the text that a reader can send to the authors of a page with a wrong statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from book_tools.environment import pins


def theirs(row: Mapping[str, Any]) -> list[str]:
    """Return the pieces of a row's code that its source prints, without blank lines around them."""
    pieces = row.get("theirs", "")
    pieces = [pieces] if isinstance(pieces, str) else pieces
    return [piece.strip("\n") for piece in pieces if piece.strip()]


def find_lines(code: str, piece: str) -> list[int]:
    r"""Return the line numbers, counted from 1, of the first place where a piece is in the code.

    Indentation does not count, and a piece of one line may be a part of a longer line.

    Args:
        code: The row's code.
        piece: Lines that the code must contain one after another.

    Raises:
        ValueError: If the code does not contain the piece.

    Example:
        >>> find_lines("x = 1\nfor i in x:\n    print(i)", "print(i)")
        [3]
    """
    lines = code.splitlines()
    wanted = [line.strip() for line in piece.splitlines()]
    for start in range(len(lines) - len(wanted) + 1):
        if all(part in line for part, line in zip(wanted, lines[start:], strict=False)):
            numbers = range(start, start + len(wanted))
            return [number + 1 for number in numbers if lines[number].strip()]
    raise ValueError(f"the code must contain the lines that it quotes, got {piece!r}")


def quoted_lines(row: Mapping[str, Any], code: str) -> list[int]:
    """Return the line numbers of the code that is quoted from the row's source.

    Args:
        row: A row of the table *Wrong in circulation*.
        code: The row's code, as the page shows it.

    Raises:
        ValueError: If the code does not contain a quoted piece.
    """
    return sorted({number for piece in theirs(row) for number in find_lines(code, piece)})


def _version(name: str) -> str:
    return pins.read_pins()[name]


def _versions(row: Mapping[str, Any]) -> str:
    """Return the versions on which the code ran, as a phrase such as ``jax 0.10.2``."""
    code = row["jax"]
    packages = ["jax"]
    packages += ["flax"] if any(name in code for name in ("nnx.", "nn.", "flax")) else []
    packages += ["optax"] if "optax." in code else []
    return " and ".join(f"{name} {_version(name)}" for name in packages)


def upstream_text(
    row: Mapping[str, Any],
    code: str,
    outcomes: Sequence[Mapping[str, Any]],
    versions: Sequence[str],
) -> str:
    """Return the text of an issue or a pull request in Markdown.

    Args:
        row: A row of the table *Wrong in circulation*.
        code: The row's code, as the page shows it.
        outcomes: The outcome in this environment, and then those that differ on other versions.
        versions: The other versions of JAX on which the code ran.
    """
    here, *changed = outcomes
    differing = [outcome["version"] for outcome in changed]
    same = [version for version in versions if version not in differing]
    links = [url for _, url in row["where"] if "/issues/" not in url]
    page = "This page says" if links else "The page says"
    parts = [
        f"Title: {row['title'].replace('`', '')}",
        f"{page}:\n\n> {row['said']}" + "".join(f"\n\n{url}" for url in links),
        f"I tried this with {_versions(row)} on a CPU. {row['true']}",
        f"```python\n{code}\n```",
        f"This gives:\n\n```\n{here['text'] or '(nothing)'}\n```",
    ]
    if same:
        wording = ", except possibly for the wording of the error" if here.get("is_error") else ""
        parts.append(f"The result is the same with jax {' and jax '.join(same)}{wording}.")
    for outcome in changed:
        text = outcome["text"] or "(nothing)"
        parts.append(f"With jax {outcome['version']}, the code gives:\n\n```\n{text}\n```")
    parts.append(f"Proposed text:\n\n> {row['proposal']}")
    return "\n\n".join(parts)
