"""Test whether JAX obeys settings made before its import, before the first array, and after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

_ENV_X64, _XLA_FLAGS, _NUM_DEVICES, _X64, _PLATFORMS = SETTINGS
# Each program changes settings at some of the moments. To need few processes, a program changes
# several settings, but no two of them have the same effect at the same moment.
_PROGRAMS: tuple[Mapping[int, Sequence[str]], ...] = (
    {0: (_ENV_X64, _XLA_FLAGS)},
    {1: (_XLA_FLAGS, _X64)},
    {1: (_ENV_X64, _NUM_DEVICES)},
    {1: (_PLATFORMS,), 2: (_ENV_X64, _XLA_FLAGS, _NUM_DEVICES, _PLATFORMS, _X64)},
)
_FLAGS = '"--xla_force_host_platform_device_count=2"'
_BEGIN = """
import os

def can_start():
    try:
        return bool(jax.devices())
    except RuntimeError:
        return False

refused = set()

def change(line):
    refused.discard(line)
    try:
        exec(line)
    except RuntimeError:
        refused.add(line)

def outcome(line, condition):
    print("refused" if line in refused else "obeyed" if eval(condition) else "ignored")

"""
_IMPORT = "import jax\nimport jax.numpy as jnp\n"
# JAX can start after a failed attempt, so one program can test `jax_platforms` at two moments.
_FIRST_ARRAY = 'jax.config.update("jax_platforms", "cpu")\njnp.ones(1).block_until_ready()\n'


def _program(changes: Mapping[int, Sequence[str]]) -> str:
    """Return a program that changes settings at the given `MOMENTS` and prints each outcome."""
    change, outcome = {}, {}
    for line, condition in SETTINGS.items():
        real = line.replace('"…device_count=2"', _FLAGS)
        change[line] = f"change({real!r})\n"
        outcome[line] = f"outcome({real!r}, {condition!r})\n"
    before, between, after = (changes.get(moment, ()) for moment in range(3))
    parts = [_BEGIN, *(change[line] for line in before), _IMPORT]
    parts += [change[line] for line in between]
    parts += [outcome[line] for line in (*before, *between)]
    if after:
        parts += [_FIRST_ARRAY, *(change[line] + outcome[line] for line in after)]
    return "".join(parts)


def config_timing_table() -> Mapping[str, tuple[str, ...]]:
    """Change each setting at each moment in a fresh interpreter, and return the outcomes.

    Returns:
        For each setting, the outcomes at the three `MOMENTS`: ``obeyed``, ``ignored``, or
        ``refused``. The outcome is ``""`` if the line cannot run at that moment.
    """
    with ThreadPoolExecutor(2) as pool:
        printed = list(pool.map(lambda changes: run_in_subprocess(_program(changes)), _PROGRAMS))
    table = {line: ["", "", ""] for line in SETTINGS}
    for changes, output in zip(_PROGRAMS, printed, strict=True):
        made = [(line, moment) for moment in sorted(changes) for line in changes[moment]]
        for (line, moment), word in zip(made, output.split(), strict=True):
            table[line][moment] = word
    return {line: tuple(words) for line, words in table.items()}
