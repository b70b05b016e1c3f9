"""Judge IPython magics and shell commands, and find the code that they run."""

from __future__ import annotations

import re

# IPython's input transformer turns magics and shell commands into calls to these functions.
IPYTHON_CALLS = frozenset(
    f"ipython.{name}" for name in ("run_line_magic", "run_cell_magic", "system", "getoutput")
)
# These magics run shell commands.
_SHELL_MAGICS = frozenset({"bash", "sh", "sx", "system", "!"})
# No assignment needs these magics, which run or store code, change how the shell runs cells, or
# show the text of other cells. IPython rejects a name that is not a magic's.
_ODD_MAGICS = frozenset(
    """
    aimport alias alias_magic autoawait autocall automagic code_wrap connect_info debug dhist
    edit file gui hist history killbgscripts load loadpy logoff logon logstart logstate logstop
    macro notebook page pastebin pdb perl pfile psource pycat pylab pypy python python2 python3
    qtconsole recall rehashx rerun reset reset_selective ruby run save script store subshell tb
    unalias unload_ext writefile xdel
    """.split()  # noqa: SIM905
)
_USUAL_EXTENSIONS = ("autoreload", "jaxbits", "tensorboard", "line_profiler", "memory_profiler")
_SETTING = re.compile(r"\s*(\w+(\.\w+\s*=\s*[\w'\"., ()]+)?)?\s*")  # As in `A.b = 'c'`.
# IPython runs these parts of a magic's line and of a shell command, and inserts their values.
_INSERTED = re.compile(r"\{([^{}]*)\}|\$([A-Za-z_]\w*)")
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
    inserted = ["".join(found) for found in _INSERTED.findall(" ".join(words[:2]))]
    if path.endswith((".system", ".getoutput")):
        return (
            None if _HARMLESS_COMMAND.fullmatch(" ".join(words)) else "runs a shell command"
        ), inserted
    name, line, *cell = [*words, "", ""][: max(2, len(words))]
    odd = f"uses the magic {name}"
    if name in _SHELL_MAGICS:
        commands = [line, *(command for text in cell for command in text.splitlines())]
        harmless = all(
            _HARMLESS_COMMAND.fullmatch(command) for command in commands if command.strip()
        )
        return (None if harmless else odd), inserted
    if name in _ODD_MAGICS:
        return odd, inserted
    code = [_OPTIONS.sub("", f"{line} "), *inserted, *cell[:1]]
    if name == "config" and not _SETTING.fullmatch(line):
        return odd, code
    if name.endswith("load_ext") and line.strip() not in _USUAL_EXTENSIONS:
        return f"{odd} {line.strip()[:40]}", code
    runs_line = name in ("time", "timeit", "prun", "memit", "lprun", "mprun")
    return (odd if runs_line and inserted else None), code
