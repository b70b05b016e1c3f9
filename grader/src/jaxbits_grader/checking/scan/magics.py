"""Magics and lines for the shell: what is odd in them, and what code they run."""

from __future__ import annotations

import re

# What a cell's magics and its lines for the shell are turned into.
CALLS = frozenset(
    f"ipython.{name}" for name in ("run_line_magic", "run_cell_magic", "system", "getoutput")
)
# Magics whose lines are a shell's, and others that run what is not in the notebook's kernel.
_SHELLS = frozenset({"bash", "sh", "sx", "system", "!"})
_ELSEWHERE = frozenset(
    """
    script python python2 python3 pypy perl ruby run macro alias alias_magic rerun store writefile
    file recall
    """.split()  # noqa: SIM905
)
_HARMLESS = re.compile(
    r"\s*((python3? -m )?(uv )?(pip|pip3|conda|mamba) (install|list|show|freeze|check)\b"
    r"|(nvidia-smi|ls|pwd|date|free|lscpu|nproc|whoami|echo|python3? (-V|--version))(?!\S))"
    r"[^;&|`$<>\n]*"
)
_OPTIONS = re.compile(r"\A(\s*-\w+(\s*\d+)?)+\s")


def looked_at(path: str, words: list[str]) -> tuple[str | None, list[str]]:
    """Look at a call of the shell's.

    Args:
        path: which, one of ``CALLS``.
        words: the texts that it is given: a command, or a magic's name, its line and its cell.

    Returns:
        What is odd in it, if anything, and what may be code of the notebook's: the line, then what
        stands below it.
    """
    if path.endswith((".system", ".getoutput")):
        return (None if _HARMLESS.fullmatch(" ".join(words)) else "runs a command in the shell"), []
    name, line, *cell = [*words, "", ""][: max(2, len(words))]
    odd = f"uses the magic {name}"
    if name in _SHELLS:
        commands = [line, *(command for text in cell for command in text.splitlines())]
        harmless = all(_HARMLESS.fullmatch(command) for command in commands if command.strip())
        return (None if harmless else odd), []
    if name in _ELSEWHERE:
        return odd, []
    return None, [_OPTIONS.sub("", f"{line} "), *cell[:1]]
