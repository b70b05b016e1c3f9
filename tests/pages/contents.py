"""What the tests look at: the pages of the book, the errors it stores, and what readers paste."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))
PAGES = [TOC["root"], *(entry["file"] for part in TOC["parts"] for entry in part["chapters"])]
CHAPTERS = [page for page in PAGES if page.startswith("chapters/")]


def stored_errors() -> list[tuple[str, str, str]]:
    """Every error of the JAX stack stored in a chapter: the chapter, the class, the message."""
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


# A few messages to rank, and tracebacks as readers paste them, each under a line that names the
# message it should lead to. They are real: copied from jax 0.10.2, with the names changed.
ENTRIES = [
    {**entry, "title": entry["id"], "fix": "", "href": f"#{entry['id']}"}
    for entry in json.loads((HERE / "entries.json").read_text("utf8"))
]


def pasted() -> dict[str, tuple[str, str]]:
    """Return what readers paste, by the name of the file: the text, and the entry it is about."""
    found = {}
    for path in sorted((HERE / "pasted_tracebacks").glob("*.txt")):
        first, _, text = path.read_text("utf8").partition("\n")
        found[path.stem] = (text, first.removeprefix("wanted: "))
    return found
