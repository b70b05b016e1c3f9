"""Judge IPython magics and shell commands, and find the code that they run."""

from __future__ import annotations

import re

# IPython's input transformer turns magics and shell commands into calls to these functions.
IPYTHON_CALLS = frozenset(
    f"ipython.{name}" for name in ("run_line_magic", "run_cell_magic", "system", "getoutput")
)
# The first group of magics runs shell commands. The second group runs or stores code outside the
# kernel.
_SHELL_MAGICS = frozenset({"bash", "sh", "sx", "system", "!"})
_OTHER_ODD_MAGICS = frozenset(
    """
    script python python2 python3 pypy perl ruby run macro alias alias_magic rerun store writefile
    file recall
    """.split()  # noqa: SIM905
)
_HARMLESS_COMMAND = re.compile(
    r"\s*((python3? -m )?(uv )?(pip|pip3|conda|mamba) (install|list|show|freeze|check)\b"
    r"|(nvidia-smi|ls|pwd|date|free|lscpu|nproc|whoami|echo|python3? (-V|--version))(?!\S))"
    r"[^;&|`$<>\n]*"
)
_OPTIONS = re.compile(r"\A(\s*-\w+(\s*\d+)?)+\s")


def judge_magic(path: str, words: list[str]) -> tuple[str | None, list[str]]:
    """Judge the call into which IPython translates a magic or a shell command.

    Args:
        path: The dotted name of the function, which is one of `IPYTHON_CALLS`.
        words: The arguments of the call. They are either a shell command, or the name of a magic
            followed by the rest of its line and the rest of its cell.

    Returns:
        A pair. The first element describes what is suspicious about the call, or is None if nothing
        is. The second element lists the pieces of code that the call may run in the notebook, which
        are the magic's line and the rest of its cell.
    """
    if path.endswith((".system", ".getoutput")):
        return (
            None if _HARMLESS_COMMAND.fullmatch(" ".join(words)) else "runs a command in the shell"
        ), []
    name, line, *cell = [*words, "", ""][: max(2, len(words))]
    odd = f"uses the magic {name}"
    if name in _SHELL_MAGICS:
        commands = [line, *(command for text in cell for command in text.splitlines())]
        harmless = all(
            _HARMLESS_COMMAND.fullmatch(command) for command in commands if command.strip()
        )
        return (None if harmless else odd), []
    if name in _OTHER_ODD_MAGICS:
        return odd, []
    return None, [_OPTIONS.sub("", f"{line} "), *cell[:1]]
