"""Remove from recorded text what differs between any two runs and says nothing about the version.

IPython's name for a cell, the notation of a tracer, the address of an object, the depth of a
traceback, and a duration differ although the program does the same. A reader who compares versions
does not want to see them.
"""

from __future__ import annotations

import re

_NOISE = (
    # IPython calls a cell In[7] or by a temporary file, as 968754234.py, depending on its version.
    (re.compile(r"(?:\bIn\[\d+\]|\b\d{5,}\.py|<cell>)(?=:\d)"), "<cell>"),
    # JAX 0.7 prints JitTracer<float32[]>, and newer versions print JitTracer(float32[]).
    (re.compile(r"\b(\w*Tracer)<([^<>]*)>"), r"\1(\2)"),
    (re.compile(r"\b0x(?:[0-9a-f]+|…)", re.IGNORECASE), "0x…"),
    # The number of frames in a traceback counts JAX's own functions.
    (re.compile(r"\b\d+ frames\b"), "… frames"),
    (re.compile(r"(?<![\w.])\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|seconds?|minutes?)\b"), "… s"),
)
# A line of a traceback inside a message, such as “<cell>:3:22 (Net.loss)”.
_LOCATION = re.compile(r"^\s*(?:<cell>|\S+\.py):\d+(?::\d+)? \(.*\)$")


def without_noise(line: str) -> str:
    """Return a line without cell names, addresses, and durations, with tracers in one notation.

    Example:
        >>> without_noise("In[7]:3  if value > 1.0:"), without_noise("96875423.py:3  if x:")
        ('<cell>:3  if value > 1.0:', '<cell>:3  if x:')
        >>> without_noise("JitTracer<float32[]> at 0x7f01, after 1.5 s")
        'JitTracer(float32[]) at 0x…, after … s'
    """
    for pattern, replacement in _NOISE:
        line = pattern.sub(replacement, line)
    return line


def message_without_noise(message: str) -> str:
    r"""Return an error's message without noise and without the lines that name code locations.

    Example:
        >>> message_without_noise("leaked:\n<cell>:3:22 (Net.loss)\nsee JitTracer<int32[]>")
        'leaked:\nsee JitTracer(int32[])'
    """
    lines = (without_noise(line) for line in message.splitlines())
    return "\n".join(line for line in lines if not _LOCATION.match(line))
