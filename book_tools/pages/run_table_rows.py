"""Run the rows of reference tables, and print their outcomes as JSON.

    python book_tools/pages/run_table_rows.py reference/tables/*.toml
    python book_tools/pages/run_table_rows.py --bare TABLE.toml    the code has its own imports

The program needs only the packages that the rows use and imports nothing from this project, because
it also runs in environments in which the project is not installed.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.metadata
import io
import json
import os
import re
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

IMPORTS = {
    "np": "numpy",
    "jax": "jax",
    "jnp": "jax.numpy",
    "lax": "jax.lax",
    "torch": "torch",
    "F": "torch.nn.functional",
    "nn": "flax.linen",
    "nnx": "flax.nnx",
    "optax": "optax",
}
# The rows need devices to shard arrays over, and one row needs eight. Optimization is off, because
# it takes seconds and changes no outcome.
FLAGS = (
    "--xla_force_host_platform_device_count=8",
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
)
PACKAGES = ("jax", "numpy", "torch", "flax", "optax")
WIDTH = 120
"""The maximum number of characters in an error or warning on the page."""

# Warnings in these categories always count. Others count only if the row's code causes them.
_ANYWHERE = (UserWarning, FutureWarning, RuntimeWarning)


def imports_for(code: str) -> dict[str, Any]:
    """Return the modules that code uses, keyed by name. Modules of missing packages are omitted.

    Example:
        >>> sorted(imports_for("np.ones(3)"))
        ['jax', 'np']
    """
    words = {"jax", *re.findall(r"\w+", code)}
    found: dict[str, Any] = {}
    for name in sorted(words & set(IMPORTS)):
        with contextlib.suppress(ImportError):
            found[name] = importlib.import_module(IMPORTS[name])
    return found


def missing_module(code: str, imported: Iterable[str]) -> str:
    """Return the module that code uses and that is not installed, or an empty string.

    Args:
        code: The code of a row.
        imported: The names that `imports_for` found.

    Example:
        >>> missing_module("torch.ones(3)", ["jax"])
        'torch'
        >>> missing_module("F = 1; F + 1", ["jax"])
        ''
    """
    names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    defined = {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(imported)
    missing = {node.id for node in names if node.id in IMPORTS} - defined
    return IMPORTS[min(missing)] if missing else ""


def shorten(text: str, width: int = WIDTH) -> str:
    """Return the first line of a string, truncated between words.

    Args:
        text: The string to shorten.
        width: The maximum number of characters.

    Example:
        >>> shorten("one two three", 9)
        'one two …'
    """
    line = re.sub(r"\bat 0x[0-9a-f]+", "at 0x…", (text.strip().splitlines() or [""])[0])
    return line if len(line) <= width else line[: width - 1].rsplit(" ", 1)[0] + " …"


def _describe(problem: BaseException | Warning) -> str:
    """Return the class and message of an error or warning on one line."""
    return shorten(f"{type(problem).__name__}: {problem}".rstrip(": "))


def _run(code: str, namespace: dict[str, Any]) -> None:
    """Execute code, and print the value of its last expression as a shell would."""
    tree = ast.parse(code)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "<row>", "exec"), namespace)
        return
    exec(compile(ast.Module(tree.body[:-1], []), "<row>", "exec"), namespace)
    value = eval(compile(ast.Expression(last.value), "<row>", "eval"), namespace)
    if value is not None:
        print(repr(value))


def run_row(code: str, given: str = "", *, is_bare: bool = False) -> str:
    r"""Run code, and return its output, its last value, its warnings, and the error that ends it.

    Args:
        code: The row's code.
        given: Code that runs first and whose output is not part of the outcome.
        is_bare: Whether the code must import what it uses. Otherwise it finds `IMPORTS`.

    Example:
        >>> run_row("x + 1", "x = 1")
        '2'
        >>> run_row("print('so'); [][3]")
        'so\nIndexError: list index out of range'
    """
    imported = imports_for(given + code)
    if missing := "" if is_bare else missing_module(f"{given}\n{code}", imported):
        return f"ModuleNotFoundError: No module named {missing!r}"
    namespace = {"__name__": "__main__", **({} if is_bare else imported)}
    wait: Callable[[], object] = getattr(imported.get("jax"), "effects_barrier", lambda: None)
    printed = io.StringIO()
    problem = ""
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        exec(compile(given, "<given>", "exec"), namespace)
        warnings.simplefilter("always")
        try:
            _run(code, namespace)
        except Exception as error:
            problem = _describe(error)
        wait()
    relevant = (w for w in caught if w.filename == "<row>" or issubclass(w.category, _ANYWHERE))
    warned = [_describe(w.message) for w in relevant if isinstance(w.message, Warning)]
    lines = [*dict.fromkeys(warned), printed.getvalue().rstrip(), problem]
    return "\n".join(filter(None, lines))


def code_of_rows(table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each piece of code in the table, paired with the code that its group runs first."""
    for group in table["group"]:
        given = group.get("given", {})
        for row in group["row"]:
            for side in table["sides"]:
                if row.get(side):
                    yield given.get(side, ""), row[side]


def row_key(given: str, code: str) -> str:
    """Return the key of an outcome.

    The key is the code itself, so editing the code changes the key.

    Args:
        given: The code that runs before the row.
        code: The row's code.
    """
    return "\n".join(filter(None, (given.strip(), code.strip())))


def run_rows(tables: Iterable[dict[str, Any]], *, is_bare: bool = False) -> dict[str, str]:
    """Run each row of the tables separately, and return the outcomes, keyed by `row_key`.

    Args:
        tables: The contents of the tables' files.
        is_bare: Whether the rows must import what they use.
    """
    return {
        row_key(given, code): run_row(code, given, is_bare=is_bare)
        for table in tables
        for given, code in code_of_rows(table)
    }


def installed_versions() -> dict[str, str]:
    """Return the versions of the installed packages that the rows use."""
    found = {}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def main(paths: Sequence[str]) -> None:
    """Run the tables in an empty folder, and print the versions and outcomes as JSON."""
    is_bare = "--bare" in paths
    paths = [path for path in paths if path != "--bare"]
    tables = [tomllib.loads(Path(path).read_text("utf8")) for path in paths]
    os.environ["XLA_FLAGS"] = " ".join(FLAGS)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        found = {"versions": installed_versions(), "outcomes": run_rows(tables, is_bare=is_bare)}
    json.dump(found, sys.stdout, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
