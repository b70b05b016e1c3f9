"""Write the text that a reader can send to the authors of a page with a wrong statement."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from book_tools.environment import pins
from book_tools.pages.html_utils import join_phrases
from book_tools.pages.run_table_rows import IMPORTS


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


_DEVICES = "--xla_force_host_platform_device_count=8"
_NEEDS_DEVICES = re.compile(r"\b(make_mesh|pmap|Mesh)\(")


def _loaded_names(code: str) -> set[str]:
    """Return the variables that code reads. Names in strings and attributes do not count."""
    nodes = ast.walk(ast.parse(code))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _import_statement(name: str, module: str) -> str:
    package, _, last = module.rpartition(".")
    if name == module:
        return f"import {module}"
    return f"from {package} import {last}" if name == last else f"import {module} as {name}"


def runnable_code(code: str) -> str:
    r"""Return a row's code as a program of its own.

    The program starts with the imports that the page leaves out. If the code needs more than one
    device, the program first tells JAX to simulate eight of them on the CPU.

    Args:
        code: The row's code, as the page shows it.

    Example:
        >>> print(runnable_code("lax.add(1, np.int32(2))"))
        import numpy as np
        from jax import lax
        <BLANKLINE>
        lax.add(1, np.int32(2))
    """
    names = _loaded_names(code)
    imported = [
        _import_statement(name, module) for name, module in IMPORTS.items() if name in names
    ]
    imported = [line for line in imported if line not in code.splitlines()]
    parts = ["\n".join(imported), code]
    if _NEEDS_DEVICES.search(code):
        flag = f'os.environ["XLA_FLAGS"] = "{_DEVICES}"  # before the first use of JAX'
        parts = [f"import os\n\n{flag}", *parts]
    return "\n\n".join(filter(None, parts))


def _packages(code: str) -> list[str]:
    """Return the packages of which the text must name the version."""
    names = _loaded_names(code)
    uses_flax = names & {"nn", "nnx"} or re.search(r"^\s*(import|from) flax\b", code, re.MULTILINE)
    packages = ["jax"]
    packages += ["flax"] if uses_flax else []
    packages += ["optax"] if "optax" in names else []
    packages += ["torch"] if "torch" in names else []
    return packages


def _versions(code: str) -> str:
    """Return the versions on which the code ran, as a phrase such as ``jax 0.10.2``."""
    versions = pins.read_pins()
    return join_phrases([f"{name} {versions[name].partition('+')[0]}" for name in _packages(code)])


def _other_versions(code: str, version: str, installed: Mapping[str, str]) -> str:
    """Return other versions on which the code ran, such as ``jax 0.7.2 (flax 0.11.2)``."""
    found = [
        f"{name} {installed[name].partition('+')[0]}"
        for name in _packages(code)[1:]
        if name in installed
    ]
    return f"jax {version}" + (f" ({join_phrases(found)})" if found else "")


def _statement(row: Mapping[str, Any]) -> str:
    """Return the statement with its source, or with a gap for the source if the row has none."""
    links = [url for _, url in row["where"]]
    if not links:
        # The row sums up what many pages say, so the sender must name the page.
        opening = "This page says, in these or similar words:"
        links = ["(Put the address of the page here.)"]
    elif all("/issues/" in url for url in links):
        opening = "This issue says:"
    else:
        pages = {url.partition("#")[0] for url in links}
        opening = "These pages say:" if len(pages) > 1 else "This page says:"
    return "\n\n".join([opening, f"> {row['said']}", "\n".join(links)])


def upstream_text(
    row: Mapping[str, Any],
    code: str,
    outcomes: Sequence[Mapping[str, Any]],
    versions: Mapping[str, Mapping[str, str]],
    *,
    has_other_wording: bool = False,
) -> str:
    """Return the text of an issue or a pull request in Markdown.

    Args:
        row: A row of the table *Wrong in circulation*.
        code: The row's code, as the page shows it.
        outcomes: The outcome in this environment, and then those that differ on other versions.
        versions: For each other version of JAX on which the code ran, the versions of the packages
            that were installed next to it.
        has_other_wording: Whether the message of the error differs on any of the versions whose
            outcome counts as the same.
    """
    here, *changed = outcomes
    differing = [outcome["version"] for outcome in changed]
    same = [
        _other_versions(code, version, installed)
        for version, installed in versions.items()
        if version not in differing
    ]
    parts = [
        f"Title: {row['title'].replace('`', '')}",
        _statement(row),
        f"I tried this with {_versions(code)} on a CPU. {row['true']}",
        f"```python\n{runnable_code(code)}\n```",
        f"This gives:\n\n```\n{here['text'] or '(nothing)'}\n```",
    ]
    if same:
        wording = ", except for the wording of the error" if has_other_wording else ""
        parts.append(f"The result is the same with {join_phrases(same)}{wording}.")
    for outcome in changed:
        text = outcome["text"] or "(nothing)"
        there = outcome["version"]
        version = _other_versions(code, there, versions.get(there, {}))
        parts.append(f"With {version}, the code gives:\n\n```\n{text}\n```")
    if row.get("related"):
        parts.append("See also:\n\n" + "\n".join(url for _, url in row["related"]))
    heading = "Suggested fix" if row.get("is_bug") else "Proposed text"
    parts.append(f"{heading}:\n\n> {row['proposal']}")
    return "\n\n".join(parts)
