"""Code in a fresh interpreter: for what has to be said before JAX starts."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

_ENVIRONMENT = ("TF_CPP_MIN_LOG_LEVEL", "3"), ("JAX_PLATFORMS", "cpu")


def fresh(code: str, **variables: str) -> str:
    """Run code in a fresh interpreter, on the CPU, and return what it prints.

    Args:
        code: the program; its indentation is taken off.
        variables: environment variables it begins with. Those of JAX and XLA are not inherited.

    Raises:
        Exception: what the code raised, when it is one of Python's own; RuntimeError otherwise.

    >>> fresh("import os; print(os.environ['JAX_ENABLE_X64'])", JAX_ENABLE_X64="1")
    '1'
    >>> fresh("1 / 0")
    Traceback (most recent call last):
    ZeroDivisionError: division by zero
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**kept, **dict(_ENVIRONMENT), **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["RuntimeError: it stopped without a word"]
        told = [line for line in lines if not line.startswith((" ", "-", "For simplicity"))]
        name, _, message = (told or lines)[-1].partition(": ")
        kind = getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            raise kind(message)
        raise RuntimeError((told or lines)[-1])
    return done.stdout.strip()


SETTINGS = {
    'os.environ["JAX_ENABLE_X64"] = "1"': "jnp.ones(1).dtype == jnp.float64",
    'os.environ["XLA_FLAGS"] = "…device_count=2"': "len(jax.devices()) == 2",
    'jax.config.update("jax_num_cpu_devices", 2)': "len(jax.devices()) == 2",
    'jax.config.update("jax_enable_x64", True)': "jnp.ones(1).dtype == jnp.float64",
    'jax.config.update("jax_platforms", "abacus")': "not starts()",
}
"""Settings by the line that makes them, and what holds where they are obeyed."""

MOMENTS = ("before `import jax`", "before the first array", "after the first array")
"""The moments at which a setting may be made."""

_TOGETHER = (slice(0, 2), slice(2, 4), slice(4, 5))
_FLAGS = '"--xla_force_host_platform_device_count=2"'
_BEGIN = """
import os

def starts():
    try:
        return bool(jax.devices())
    except RuntimeError:
        return False
"""
_STARTED = "jnp.ones(1).block_until_ready()\n"
_MADE = """
try:
    {line}
    refused = set()
except RuntimeError:
    refused = {{{number}}}
all_refused = globals().get("all_refused", set()) | refused
"""
_SEEN = 'print("refused" if {number} in all_refused else "obeyed" if {holds} else "ignored")\n'


def _program(lines: list[str], moment: int) -> str:
    made = "".join(
        _MADE.format(line=line.replace('"…device_count=2"', _FLAGS), number=number)
        for number, line in enumerate(lines)
    )
    parts = [_BEGIN, "import jax\nimport jax.numpy as jnp\n", _STARTED]
    parts.insert(moment + 1, made)
    if moment < 2:
        parts.remove(_STARTED)
    return "".join(parts) + "".join(
        _SEEN.format(number=number, holds=SETTINGS[line]) for number, line in enumerate(lines)
    )


def when_settings_count() -> Mapping[str, tuple[str, ...]]:
    """Make every setting at every moment, in fresh interpreters, and see what comes of it.

    Returns:
        For each setting what happens at the three `MOMENTS`: ``obeyed``, ``ignored``, ``refused``,
        or ``""`` where the line cannot stand.
    """
    groups = [list(SETTINGS)[part] for part in _TOGETHER]
    runs = [(g, m) for g in groups for m in range(3) if m or not g[0].startswith("jax.")]
    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda run: fresh(_program(*run)).split(), runs))
    found = {line: ["", "", ""] for line in SETTINGS}
    for (lines, moment), words in zip(runs, told, strict=True):
        for line, word in zip(lines, words, strict=True):
            found[line][moment] = word
    return {line: tuple(words) for line, words in found.items()}
