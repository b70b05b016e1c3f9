"""List the book's pages, the errors stored in its chapters, and errors that readers might paste."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))
PAGES = [TOC["root"], *(entry["file"] for part in TOC["parts"] for entry in part["chapters"])]
CHAPTERS = [page for page in PAGES if page.startswith("chapters/")]
# One page of each kind: prose, a chapter, a list, a table of code, and a list of terms.
KINDS = [
    TOC["root"],
    CHAPTERS[0],
    "reference/errors",
    "reference/coming-from-numpy",
    "reference/glossary",
]


def stored_errors() -> list[tuple[str, str, str]]:
    """Return the chapter, class, and message of each stored error not tagged as a comparison."""
    found = []
    for chapter in CHAPTERS:
        notebook = json.loads((ROOT / f"{chapter}.ipynb").read_text("utf8"))
        for cell in notebook["cells"]:
            if "comparison" in cell["metadata"].get("tags", []):
                continue
            for output in cell.get("outputs", []):
                if output["output_type"] == "error":
                    found.append((chapter, output["ename"], output["evalue"]))
    return found


# The entries to rank and the tracebacks in pasted_tracebacks come from jax 0.10.2, with the names
# changed. The first line of each traceback file gives the id of the entry that must rank first.
ENTRIES = [
    {**entry, "title": entry["id"], "fix": "", "href": f"#{entry['id']}"}
    for entry in json.loads((HERE / "entries.json").read_text("utf8"))
]


def read_pasted_tracebacks() -> dict[str, tuple[str, str]]:
    """Return each pasted text and the id of the entry that must rank first, keyed by file name."""
    found = {}
    for path in sorted((HERE / "pasted_tracebacks").glob("*.txt")):
        first, _, text = path.read_text("utf8").partition("\n")
        found[path.stem] = (text, first.removeprefix("wanted: "))
    return found
