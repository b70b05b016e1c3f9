"""Run the rows of tables of the reference part, and say what each gives.

python tools/outcome.py reference/tables/*.toml

Prints JSON: the versions, and each outcome by its code (that of its group's ``given`` before it).
Needs nothing but what the rows need, so that it also runs in the other environments.
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
# Two devices to cut arrays over. What LLVM would polish takes seconds, and changes no outcome.
FLAGS = (
    "--xla_force_host_platform_device_count=2",
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
)
PACKAGES = ("jax", "numpy", "torch", "flax", "optax")
WIDTH = 120
"""The letters of an error or a warning that are shown."""

# A warning for developers counts where the row itself is what it is about.
_ANYWHERE = (UserWarning, FutureWarning, RuntimeWarning)


def names(code: str) -> dict[str, Any]:
    """Return the names that some code needs and finds there, without those of missing packages.

    >>> sorted(names("np.ones(3)"))
    ['jax', 'np']
    """
    words = {"jax", *re.findall(r"\w+", code)}
    found: dict[str, Any] = {}
    for name in sorted(words & set(IMPORTS)):
        with contextlib.suppress(ImportError):
            found[name] = importlib.import_module(IMPORTS[name])
    return found


def shortened(text: str, width: int = WIDTH) -> str:
    """Return the first line of a text, cut between words where it is too long.

    >>> shortened("one two three", 9)
    'one two …'
    """
    line = re.sub(r"\bat 0x[0-9a-f]+", "at 0x…", (text.strip().splitlines() or [""])[0])
    return line if len(line) <= width else line[: width - 1].rsplit(" ", 1)[0] + " …"


def _labelled(problem: BaseException | Warning) -> str:
    """The class of an error or a warning, and what it says."""
    return shortened(f"{type(problem).__name__}: {problem}".rstrip(": "))


def _run(code: str, namespace: dict[str, Any]) -> None:
    """Execute code, and print the value of its last line as a shell would."""
    tree = ast.parse(code)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "<row>", "exec"), namespace)
        return
    exec(compile(ast.Module(tree.body[:-1], []), "<row>", "exec"), namespace)
    value = eval(compile(ast.Expression(last.value), "<row>", "eval"), namespace)
    if value is not None:
        print(repr(value))


def outcome(code: str, given: str = "") -> str:
    r"""Return what code prints, its last value, its warnings and the error that ended it.

    >>> outcome("x + 1", "x = 1")
    '2'
    >>> outcome("print('so'); [][3]")
    'so\nIndexError: list index out of range'
    """
    namespace = {"__name__": "__main__", **names(given + code)}
    settled: Callable[[], object] = getattr(namespace.get("jax"), "effects_barrier", lambda: None)
    printed = io.StringIO()
    problem = ""
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        exec(compile(given, "<given>", "exec"), namespace)
        warnings.simplefilter("always")
        try:
            _run(code, namespace)
        except Exception as error:
            problem = _labelled(error)
        settled()
    told = (w for w in caught if w.filename == "<row>" or issubclass(w.category, _ANYWHERE))
    warned = [_labelled(w.message) for w in told if isinstance(w.message, Warning)]
    lines = [*dict.fromkeys(warned), printed.getvalue().rstrip(), problem]
    return "\n".join(filter(None, lines))


def rows(table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return every piece of code of a table: what is given before it, and itself."""
    for group in table["group"]:
        given = group.get("given", {})
        for row in group["row"]:
            for side in table["sides"]:
                if row.get(side):
                    yield given.get(side, ""), row[side]


def key(given: str, code: str) -> str:
    """Return the name that an outcome goes by: the code itself, so that an edit is noticed."""
    return "\n".join(filter(None, (given.strip(), code.strip())))


def run(tables: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the outcomes of tables by the code that gave them, each run on its own."""
    return {key(given, code): outcome(code, given) for t in tables for given, code in rows(t)}


def versions() -> dict[str, str]:
    """Return the versions of what the rows are made with, as far as it is there."""
    found = {}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def main(paths: Sequence[str]) -> None:
    """Print the outcomes of some tables, run in an empty folder."""
    tables = [tomllib.loads(Path(path).read_text("utf8")) for path in paths]
    os.environ["XLA_FLAGS"] = " ".join(FLAGS)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        found = {"versions": versions(), "outcomes": run(tables)}
    json.dump(found, sys.stdout, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
