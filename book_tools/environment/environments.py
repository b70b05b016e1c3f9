"""What ``environments.toml`` says, and the variables that an environment's programs run with."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book_tools.chapters.kernel import kernel_environment

SPECIFICATIONS = Path(__file__).with_name("environments.toml")
KINDS = ("lock", "made", "accelerator")


@dataclass(frozen=True)
class Specification:
    """One table of ``environments.toml``."""

    name: str
    kind: str
    title: str
    about: str
    python: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    torch: str = ""
    max_age_days: int = 0

    def wanted(self, torch: bool) -> list[str]:
        """Return what to install, with torch where it is asked for."""
        return [*self.packages, *([self.torch] if torch and self.torch else [])]


@dataclass(frozen=True)
class Environment:
    """An environment that is ready: its interpreter, and the variables its programs get."""

    specification: Specification
    python: Path
    variables: dict[str, str]


def read(text: str) -> dict[str, Specification]:
    """Read the text of ``environments.toml``.

    Raises:
        ValueError: naming the environment and the key that are wrong.
    """
    found = {}
    for name, table in tomllib.loads(text).items():
        keys = set(Specification.__dataclass_fields__) - {"name"}
        if unknown := sorted(set(table) - keys):
            raise ValueError(f"[{name}] has a key {unknown[0]!r} that is none of {sorted(keys)}")
        if missing := sorted({"kind", "title", "about"} - set(table)):
            raise ValueError(f"[{name}] lacks the key {missing[0]!r}")
        if table["kind"] not in KINDS:
            raise ValueError(f"[{name}] kind should be one of {KINDS}, was {table['kind']!r}")
        if table["kind"] == "made" and not (table.get("python") and table.get("packages")):
            raise ValueError(f"[{name}] should list python and packages, as its kind is made")
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in table.items()
        }
        found[name] = Specification(name=name, **values)
    return found


def variables(on_accelerator: bool) -> dict[str, str]:
    """Return the variables that chapters are executed with, for a CPU or for an accelerator."""
    kept = {
        k: v
        for k, v in kernel_environment("").items()
        if not k.startswith(("JAXBITS_", "VIRTUAL_ENV"))
    }
    for own in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR"):  # every run has its own
        kept.pop(own, None)
    if on_accelerator:
        del kept["JAX_PLATFORMS"]
        # A chapter's kernel may still hold arrays when the next one starts.
        kept["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    return kept
