"""Test whether JAX obeys settings made before its import, before the first array, and after it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from jaxbits.book.subprocesses import run_in_subprocess

SETTINGS = {
    'os.environ["JAX_ENABLE_X64"] = "1"': "jnp.ones(1).dtype == jnp.float64",
    'os.environ["XLA_FLAGS"] = "…device_count=2"': "len(jax.devices()) == 2",
    'jax.config.update("jax_num_cpu_devices", 2)': "len(jax.devices()) == 2",
    'jax.config.update("jax_enable_x64", True)': "jnp.ones(1).dtype == jnp.float64",
    'jax.config.update("jax_platforms", "abacus")': "not can_start()",
}
"""Lines that change a setting, each with an expression that is true if JAX obeys the line."""

MOMENTS = ("before `import jax`", "before the first array", "after the first array")
"""The moments at which the experiment changes each setting."""

# The settings in a group do not affect each other, so they can share a subprocess.
_GROUPS = (slice(0, 2), slice(2, 4), slice(4, 5))
_FLAGS = '"--xla_force_host_platform_device_count=2"'
_BEGIN = """
import os

def can_start():
    try:
        return bool(jax.devices())
    except RuntimeError:
        return False
"""
_FIRST_ARRAY = "jnp.ones(1).block_until_ready()\n"
_SETTING = """
try:
    {line}
    refused = set()
except RuntimeError:
    refused = {{{number}}}
all_refused = globals().get("all_refused", set()) | refused
"""
_OUTCOME = 'print("refused" if {number} in all_refused else "obeyed" if {holds} else "ignored")\n'


def _program(lines: list[str], moment: int) -> str:
    """Return a program that changes settings at one of the `MOMENTS` and prints each outcome."""
    settings = "".join(
        _SETTING.format(line=line.replace('"…device_count=2"', _FLAGS), number=number)
        for number, line in enumerate(lines)
    )
    parts = [_BEGIN, "import jax\nimport jax.numpy as jnp\n", _FIRST_ARRAY]
    parts.insert(moment + 1, settings)
    if moment < 2:
        parts.remove(_FIRST_ARRAY)
    return "".join(parts) + "".join(
        _OUTCOME.format(number=number, holds=SETTINGS[line]) for number, line in enumerate(lines)
    )


def config_timing_table() -> Mapping[str, tuple[str, ...]]:
    """Change each setting at each moment in a fresh interpreter, and return the outcomes.

    Returns:
        For each setting, the outcomes at the three `MOMENTS`: ``obeyed``, ``ignored``, or
        ``refused``. The outcome is ``""`` if the line cannot run at that moment.
    """
    groups = [list(SETTINGS)[part] for part in _GROUPS]
    runs = [(g, m) for g in groups for m in range(3) if m or not g[0].startswith("jax.")]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda run: run_in_subprocess(_program(*run)).split(), runs))
    table = {line: ["", "", ""] for line in SETTINGS}
    for (lines, moment), words in zip(runs, outcomes, strict=True):
        for line, word in zip(lines, words, strict=True):
            table[line][moment] = word
    return {line: tuple(words) for line, words in table.items()}
