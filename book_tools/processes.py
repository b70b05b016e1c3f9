"""Helpers for the programs that start other processes."""

from __future__ import annotations

import os
from collections.abc import Mapping

# Variables with these prefixes would change what JAX does or what a chapter prints.
JAX_SETTINGS = ("JAX_", "XLA_", "FLAX_")


def clean_environment(*prefixes: str, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables without those that configure JAX, XLA, or Flax.

    Args:
        prefixes: Prefixes of the names of other variables to omit.
        inherited: The variables to start from. By default, these are this process's variables.

    Example:
        >>> clean_environment("B_", inherited={"JAX_ENABLE_X64": "1", "A": "2", "B_C": "3"})
        {'A': '2'}
    """
    variables = os.environ if inherited is None else inherited
    dropped = (*JAX_SETTINGS, *prefixes)
    return {name: value for name, value in variables.items() if not name.startswith(dropped)}


def available_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def last_line(text: str) -> str:
    r"""Return the last line of a program's output, which usually contains the error message.

    Example:
        >>> last_line("Traceback …\nValueError: no"), last_line("")
        ('ValueError: no', 'no message')
    """
    return (text.strip().splitlines() or ["no message"])[-1].strip()
