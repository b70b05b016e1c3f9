"""Run the tables of the reference part, and write their pages.

python -m book_tools tables                      run every table, write every page
python -m book_tools tables coming-from-numpy    only this one
python -m book_tools tables --elsewhere          first record JAX's side in the environments
                                            that `make versions` made (or in those in a FOLDER)

A table is ``reference/tables/NAME.toml``, its page ``reference/NAME.md``, with outcomes that a test
compares with a new run. What other versions of JAX gave is in ``reference/tables/recorded/``.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from book_tools.chapters.chapter_files import replace_file
from book_tools.chapters.execute import cores
from book_tools.chapters.kernel import environment
from book_tools.environment import environments
from book_tools.pages import run_table_rows
from book_tools.pages.table_page import Outcomes, Table, page

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "reference" / "tables"
RECORDED = FOLDER / "recorded"


def read(name: str, folder: Path = FOLDER) -> Table:
    """Return a table by its name."""
    return tomllib.loads((folder / f"{name}.toml").read_text("utf8"))


def names(folder: Path = FOLDER) -> list[str]:
    """Return the names of all tables."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def _run(name: str, python: str | Path) -> dict[str, Any]:
    """Run every row of one table in a process of its own."""
    program = Path(__file__).with_name("run_table_rows.py")
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [python, program, FOLDER / f"{name}.toml"],
            env=environment(scratch),
            stdout=subprocess.PIPE,
            check=True,
            encoding="utf8",
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(wanted: Iterable[str], python: str | Path = sys.executable) -> dict[str, Any]:
    """Run every row of some tables; return the versions, and the outcomes by their code."""
    with concurrent.futures.ThreadPoolExecutor(cores()) as pool:
        found = list(pool.map(lambda name: _run(name, python), wanted))
    shown = {code: text for each in found for code, text in each["outcomes"].items()}
    return {"versions": found[0]["versions"], "outcomes": shown}


def recorded(folder: Path = RECORDED) -> dict[str, Outcomes]:
    """Return what was recorded elsewhere, by the version of JAX, the oldest first."""
    read = [json.loads(path.read_text("utf8")) for path in folder.glob("*.json")]
    read.sort(key=lambda record: Version(record["versions"]["jax"]))
    return {record["versions"]["jax"]: record["outcomes"] for record in read}


def record(name: str, python: Path) -> Path:
    """Write down what JAX's side gives in another environment, and return the file."""
    found = run(names(), python)
    sides = [run_table_rows.rows({**read(table), "sides": ["jax"]}) for table in names()]
    wanted = [run_table_rows.key(given, code) for side in sides for given, code in side]
    shown = {code: found["outcomes"][code] for code in wanted}
    text = json.dumps(
        {"versions": found["versions"], "outcomes": shown}, ensure_ascii=False, indent=1
    )
    replace_file(RECORDED / f"{name}.json", text + "\n")
    return RECORDED / f"{name}.json"


def elsewhere(folder: Path) -> Iterator[Path]:
    """Record every environment of ``environments.toml`` that is in a folder."""
    for name in environments.load_specifications():
        for python in (folder / name / "bin" / "python", folder / name / "Scripts" / "python.exe"):
            if python.is_file():
                yield record(name, python)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--elsewhere", metavar="FOLDER", nargs="?", type=Path, const=ROOT / ".envs")
    options = parser.parse_args(arguments)
    for path in elsewhere(options.elsewhere) if options.elsewhere else ():
        print("recorded", path.relative_to(ROOT))
    wanted = options.names or names()
    shown = run(wanted)["outcomes"]
    for name in wanted:
        path = ROOT / "reference" / f"{name}.md"
        if replace_file(path, page(read(name), shown, recorded())):
            print("wrote", path.relative_to(ROOT))
    return 0
