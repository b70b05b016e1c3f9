"""Read environments.toml, which lists the environments in which `make versions` runs the book."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book_tools.chapters.kernel import kernel_environment

SPECIFICATIONS = Path(__file__).with_name("environments.toml")
KINDS = ("lock", "venv", "accelerator")


@dataclass(frozen=True)
class Specification:
    """One table in environments.toml. That file explains the fields."""

    name: str
    kind: str
    title: str
    about: str
    python: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    torch: str = ""
    max_age_days: int = 0

    def requirements(self, torch: bool) -> list[str]:
        """Return the packages to install, with PyTorch if `torch` is true."""
        return [*self.packages, *([self.torch] if torch and self.torch else [])]


@dataclass(frozen=True)
class Environment:
    """An environment that is ready to use.

    Attributes:
        specification: The environment's table in environments.toml.
        python: The path of its interpreter.
        variables: The environment variables for programs that run in this environment.
    """

    specification: Specification
    python: Path
    variables: dict[str, str]


def load_specifications() -> dict[str, Specification]:
    """Return the specifications in environments.toml, keyed by name."""
    return parse_specifications(SPECIFICATIONS.read_text("utf8"))


def parse_specifications(text: str) -> dict[str, Specification]:
    """Parse the text of a file such as environments.toml, and return its specifications by name.

    Raises:
        ValueError: If a table is invalid. The message names the table and the key.
    """
    specifications = {}
    known = [key for key in Specification.__dataclass_fields__ if key != "name"]
    for name, table in tomllib.loads(text).items():
        if unknown := sorted(set(table) - set(known)):
            choices = ", ".join(map(repr, known))
            raise ValueError(f"[{name}]: key must be one of {choices}; got {unknown[0]!r}")
        if missing := sorted({"kind", "title", "about"} - set(table)):
            raise ValueError(f"[{name}]: key {missing[0]!r} is missing")
        if table["kind"] not in KINDS:
            choices = ", ".join(map(repr, KINDS))
            raise ValueError(f"[{name}]: kind must be one of {choices}; got {table['kind']!r}")
        if table["kind"] == "venv" and not (table.get("python") and table.get("packages")):
            raise ValueError(f"[{name}]: python and packages must not be empty for kind 'venv'")
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
        }
        specifications[name] = Specification(name=name, **values)
    return specifications


def child_variables(on_accelerator: bool) -> dict[str, str]:
    """Return the environment variables for programs that run in an environment.

    Args:
        on_accelerator: Whether the programs use a GPU or TPU instead of the CPU.
    """
    variables = {
        key: value
        for key, value in kernel_environment("").items()
        if not key.startswith(("JAXBITS_", "VIRTUAL_ENV"))
    }
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR"):  # Each run sets its own folders.
        variables.pop(name, None)
    if on_accelerator:
        del variables["JAX_PLATFORMS"]
        # The kernel of the previous chapter may still hold arrays when the next one starts.
        variables["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    return variables
