"""Run the tables of the reference part, and write their pages.

python tools/tables.py                        run every table, write every page
python tools/tables.py coming-from-numpy      only this one
python tools/tables.py --record PYTHON ...    first note what all rows give in other environments, such
                                              as .envs/colab/bin/python, beside the recorded ones

A table is ``reference/tables/NAME.toml``, its page ``reference/NAME.md``, with outcomes that a test
compares with a new run. What other versions of JAX gave is in ``reference/tables/recorded/``.
"""

from __future__ import annotations

import argparse
import html
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import outcome
from kernel import environment
from packaging.version import Version
from reference import inline, link, replace

from jaxbits import catalogue

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "reference" / "tables"
RECORDED = FOLDER / "recorded"

Table = dict[str, Any]
Given = Mapping[str, str]
Outcomes = Mapping[str, str]  # by the code that gave them
There = Mapping[str, Outcomes]  # by the version of JAX
NONE: There = {}


def read(name: str, folder: Path = FOLDER) -> Table:
    """Return a table by its name."""
    return tomllib.loads((folder / f"{name}.toml").read_text("utf8"))


def names(folder: Path = FOLDER) -> list[str]:
    """Return the names of all tables."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def run(wanted: Iterable[str], python: str | Path = sys.executable) -> dict[str, Any]:
    """Run every row of some tables in one new process; return the versions and the outcomes."""
    program = Path(__file__).with_name("outcome.py")
    files = [FOLDER / f"{name}.toml" for name in wanted]
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [python, program, *files],
            env=environment(scratch),
            capture_output=True,
            check=True,
            encoding="utf8",
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def recorded(folder: Path = RECORDED) -> dict[str, Outcomes]:
    """Return what was recorded elsewhere, by the version of JAX, the oldest first."""
    read = [json.loads(path.read_text("utf8")) for path in folder.glob("jax-*.json")]
    read.sort(key=lambda record: Version(record["versions"]["jax"]))
    return {record["versions"]["jax"]: record["outcomes"] for record in read}


def differs(here: str, there: str) -> bool:
    """Whether an outcome is another one: an error of the same class is not.

    >>> differs("ValueError: no", "ValueError: not so")
    False
    >>> differs("1.0", "2.0")
    True
    """
    errors = [text.split(":")[0] for text in (here, there) if text.split(":")[0].isidentifier()]
    return here != there and (len(errors) < 2 or errors[0] != errors[1])


def outcome_box(text: str) -> str:
    """Return an outcome as HTML; the lines of errors are marked."""
    error = (text.splitlines() or [""])[-1].split(":")[0].split(".")[-1]
    kind = " error" if error.endswith(("Error", "Exception")) and error.isidentifier() else ""
    shown = html.escape(text, quote=False) or "(prints nothing)"
    return f'<pre class="outcome{kind}">{shown}</pre>'


def cell(code: str, given: str = "", shown: Outcomes | None = None, there: There = NONE) -> str:
    """Return a piece of code as Markdown, what it gives, and what other versions give instead."""
    block = f"\n```python\n{code.strip()}\n```\n\n"
    if shown is None:
        return block
    key = outcome.key(given, code)
    here = shown[key]
    others = ((version, outcomes.get(key)) for version, outcomes in there.items())
    boxes = [outcome_box(here)] + [
        f'<p class="elsewhere">On jax {version}:</p>\n{outcome_box(text)}'
        for version, text in others
        if text is not None and "No module named" not in text and differs(here, text)
    ]
    return block + "\n".join(boxes) + "\n\n"


def see(row: Mapping[str, Any]) -> str:
    """Return a link to the section that shows a row.

    Raises:
        KeyError: when the catalogue has no such entry, naming those that come closest.
    """
    bit = catalogue.bit(row["bit"])
    return f'<a href="{link(bit)}">{inline(bit.title)}</a>'


def pair(row: Mapping[str, Any], table: Table, given: Given, shown: Outcomes, there: There) -> str:
    """Return one row of a table with two sides: the codes side by side, the note below them."""
    sides = "".join(
        f'<td class="side">\n{cell(row[side], given.get(side, ""), shown, elsewhere)}</td>\n'
        for side, elsewhere in zip(table["sides"], (NONE, there), strict=True)
    )
    note = f'{inline(row["note"])} <span class="see">{see(row)}</span>'
    return f'<tbody>\n<tr>\n{sides}</tr>\n<tr class="note"><td colspan="2">{note}</td></tr>\n</tbody>\n'


def pairs(group: Mapping[str, Any], table: Table, shown: Outcomes, there: There) -> str:
    """Return a group of a table with two sides."""
    given = group.get("given", {})
    heads = "".join(f'<th scope="col">{head}</th>' for head in table["heads"])
    first = "".join(f'<td class="side">\n{cell(given[s])}</td>\n' for s in table["sides"] if given)
    before = f'<tbody class="given">\n<tr>\n{first}</tr>\n</tbody>\n' if given else ""
    body = "".join(pair(row, table, given, shown, there) for row in group["row"])
    return f'<table class="twin">\n<thead><tr>{heads}</tr></thead>\n{before}{body}</table>\n'


def claim(row: Mapping[str, Any], given: Given, shown: Outcomes, there: There) -> str:
    """Return one wrong claim: what is said and where, what is true, the code, the section."""
    where = [f'<a href="{url}">{inline(title)}</a>' for title, url in row.get("where", [])]
    lines = {
        "Said": inline(row["said"]),
        "Where": "; ".join(filter(None, (*where, inline(row.get("where_text", ""))))),
        "True": inline(row["true"]),
        "Since": inline(row.get("since", "")),
        "Section": see(row),
    }
    terms = "".join(f"<dt>{term}</dt><dd>{text}</dd>\n" for term, text in lines.items() if text)
    code = cell(row["jax"], given.get("jax", ""), shown, there)
    title = row["title"].replace("_", r"\_")
    return f'### {title}\n\n<div class="claim">\n<dl>\n{terms}</dl>\n{code}</div>\n'


def page(table: Table, shown: Outcomes, there: There = NONE) -> str:
    """Return the page of a table as Markdown."""
    parts = [f"# {table['title']}\n\n{table['about'].strip()}\n"]
    for group in table["group"]:
        about = group.get("about", "").strip()
        parts.append(f"## {group['title']}\n" + (f"\n{about}\n" if about else ""))
        if len(table["sides"]) == 2:
            parts.append(pairs(group, table, shown, there))
        else:
            given = group.get("given", {})
            parts += [claim(row, given, shown, there) for row in group["row"]]
    return "\n".join(parts)


def record(python: str) -> Path:
    """Write down what all rows give in another environment, and return the file."""
    found = run(names(), python)
    path = RECORDED / f"jax-{found['versions']['jax']}.json"
    replace(path, json.dumps(found, ensure_ascii=False, indent=1) + "\n")
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--record", metavar="PYTHON", nargs="+", default=[])
    options = parser.parse_args(arguments)
    for python in options.record:
        print("recorded", record(python).relative_to(ROOT))
    wanted = options.names or names()
    shown = run(wanted)["outcomes"]
    for name in wanted:
        path = ROOT / "reference" / f"{name}.md"
        if replace(path, page(read(name), shown, recorded())):
            print("wrote", path.relative_to(ROOT))


if __name__ == "__main__":
    main()
