"""Write the reference pages that come from the catalogue, the code and recorded runs.

``reference/errors.md``: every error by its class, with a finder that takes a pasted traceback.
``reference/silent-failures.md``: everything that goes wrong without an error, by chapter.
``reference/by-symptom.md``: from what a reader notices to the section, by ``by-symptom.toml``.
``reference/glossary.md``: the field's words, by ``glossary.toml``.
``reference/assignments.md``: every assignment, from its source.
``reference/detectors.md``: every detector, with its scores on the labelled cases and its cost.
Building the book does this by itself (``_ext/generated.py``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from book_tools.chapters.chapter_files import replace_file
from book_tools.pages import assignments, detectors, glossary, symptoms
from book_tools.pages.catalogue_pages import errors_page, silent_page
from book_tools.pages.html_utils import chapter_titles
from book_tools.project_metadata import ROOT
from jaxbits import _catalogue


def write(root: Path = ROOT) -> list[Path]:
    """Write the pages under `root` and return those that changed."""
    known, folder = _catalogue.load(), root / "reference"
    bits = known.values()
    pages = {
        folder / "errors.md": errors_page(bits),
        folder / "silent-failures.md": silent_page(bits, chapter_titles(root)),
        folder / "by-symptom.md": symptoms.page(symptoms.read(folder / "by-symptom.toml"), known),
        folder / "glossary.md": glossary.page(glossary.read(folder / "glossary.toml"), known),
    }
    if (root / "assignments").is_dir():
        pages[folder / "assignments.md"] = assignments.page(root)
    if (root / "reference" / "detectors" / "lock.json").is_file():
        pages |= detectors.pages(root)
    return [path for path, text in pages.items() if replace_file(path, text)]


def write_readme_figure(root: Path = ROOT) -> Path:
    """Draw the figure of the README again, which is one of chapter 04."""
    from jaxbits.book.figures.out_of_bounds import where_indices_land

    path = root / "_static" / "where-indices-land.svg"
    replace_file(path, where_indices_land().svg)
    return path


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--readme", action="store_true", help="draw the README's figure instead")
    if parser.parse_args(arguments).readme:
        print("drew", write_readme_figure().relative_to(ROOT))
    else:
        for changed in write():
            print("wrote", changed.relative_to(ROOT))
    return 0
