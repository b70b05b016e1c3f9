"""Run the rows of the reference tables, and write their pages.

    python -m book_tools tables                      run every table and write every page
    python -m book_tools tables coming-from-numpy    run only this table
    python -m book_tools tables --elsewhere          first record JAX's results in environments
                                                     that `make versions` created (or in a FOLDER)

The table ``reference/tables/NAME.toml`` becomes the page ``reference/NAME.md``. A test compares the
outcomes on the page with those of a new run. ``reference/tables/recorded/`` contains the
outcomes on other versions of JAX.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from book_tools.chapters.kernel import kernel_environment
from book_tools.environment import environments
from book_tools.files import write_if_changed
from book_tools.pages import run_table_rows
from book_tools.pages.table_page import Outcomes, Table, table_page
from book_tools.project_metadata import ROOT

FOLDER = ROOT / "reference" / "tables"
RECORDED = FOLDER / "recorded"


def read_table(name: str, folder: Path = FOLDER) -> Table:
    """Read a table from its TOML file.

    Args:
        name: The table's name, such as ``coming-from-numpy``.
        folder: The folder that contains the tables.
    """
    return tomllib.loads((folder / f"{name}.toml").read_text("utf8"))


def table_names(folder: Path = FOLDER) -> list[str]:
    """Return the names of all tables in a folder."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def run_tables(names: Iterable[str], python: str | Path = sys.executable) -> dict[str, Any]:
    """Run every row of the given tables in a separate process.

    Args:
        names: The names of the tables.
        python: The interpreter to use.

    Returns:
        The package versions, and the outcomes, keyed by `run_table_rows.row_key`.
    """
    return _run_program([FOLDER / f"{name}.toml" for name in names], python)


def run_bare(codes: Iterable[str]) -> list[str]:
    """Run programs that import what they use, each in an empty namespace.

    Args:
        codes: The programs.

    Returns:
        The outcome of each program.
    """
    codes = list(codes)
    # A JSON string is a TOML string, too.
    rows = "".join(f"[[group.row]]\njax = {json.dumps(code)}\n" for code in codes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bare.toml"
        path.write_text(f'sides = ["jax"]\n[[group]]\n{rows}', "utf8")
        outcomes = _run_program(["--bare", path], sys.executable)["outcomes"]
    return [outcomes[run_table_rows.row_key("", code)] for code in codes]


def _run_program(arguments: Sequence[str | Path], python: str | Path) -> dict[str, Any]:
    program = Path(__file__).with_name("run_table_rows.py")
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [python, program, *arguments],
            env=kernel_environment(scratch),
            stdout=subprocess.PIPE,
            check=True,
            encoding="utf8",
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _records(folder: Path) -> list[dict[str, Any]]:
    records = [json.loads(path.read_text("utf8")) for path in folder.glob("*.json")]
    return sorted(records, key=lambda record: Version(record["versions"]["jax"]))


def read_recorded(folder: Path = RECORDED) -> dict[str, Outcomes]:
    """Return the outcomes recorded in other environments, keyed by JAX version, oldest first."""
    return {record["versions"]["jax"]: record["outcomes"] for record in _records(folder)}


def read_recorded_versions(folder: Path = RECORDED) -> dict[str, dict[str, str]]:
    """Return the package versions of other environments, keyed by JAX version, oldest first."""
    return {record["versions"]["jax"]: record["versions"] for record in _records(folder)}


def record_environment(name: str, python: Path) -> Path:
    """Run JAX's side of the tables in a different environment, and record the outcomes.

    If the environment lacks a package, the rows that use it keep their recorded outcomes.

    Args:
        name: The name of the environment.
        python: The environment's interpreter.

    Returns:
        The path of the file with the recorded outcomes.
    """
    names = table_names()
    found = run_tables(names, python)
    sides = [run_table_rows.code_of_rows({**read_table(one), "sides": ["jax"]}) for one in names]
    keys = [run_table_rows.row_key(given, code) for side in sides for given, code in side]
    outcomes = {key: found["outcomes"][key] for key in keys}
    path = RECORDED / f"{name}.json"
    before = json.loads(path.read_text("utf8")) if path.is_file() else {}
    record = keep_recorded({"versions": found["versions"], "outcomes": outcomes}, before)
    write_if_changed(path, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    return path


def keep_recorded(record: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return a record in which rows that lacked a package have their earlier outcomes.

    Args:
        record: The versions and outcomes of a new run.
        before: Those of an earlier run, or an empty dict. They count only if the versions of the
            packages that both runs found are the same.
    """
    installed, recorded = record["versions"], before.get("versions", {})
    if installed != {name: recorded.get(name) for name in installed}:
        return record
    kept = {
        key: before["outcomes"].get(key, text) if "No module named" in text else text
        for key, text in record["outcomes"].items()
    }
    return {"versions": recorded, "outcomes": kept}


def record_elsewhere(folder: Path) -> Iterator[Path]:
    """Record the outcomes in each environment in a folder, and yield the files written."""
    for name in environments.load_specifications():
        for python in (folder / name / "bin" / "python", folder / name / "Scripts" / "python.exe"):
            if python.is_file():
                yield record_environment(name, python)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as coming-from-numpy")
    parser.add_argument("--elsewhere", metavar="FOLDER", nargs="?", type=Path, const=ROOT / ".envs",
                        help="first record the outcomes in other environments")  # fmt: skip
    options = parser.parse_args(arguments)
    for path in record_elsewhere(options.elsewhere) if options.elsewhere else ():
        print("recorded", path.relative_to(ROOT))
    names = options.names or table_names()
    outcomes = run_tables(names)["outcomes"]
    for name in names:
        path = ROOT / "reference" / f"{name}.md"
        page = table_page(read_table(name), outcomes, read_recorded(), read_recorded_versions())
        if write_if_changed(path, page):
            print("wrote", path.relative_to(ROOT))
    return 0
