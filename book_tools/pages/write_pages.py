"""Generate reference pages from the catalogue, the code, and recorded runs.

    python -m book_tools pages            write all of the pages below
    python -m book_tools pages --readme   write the figure in the README

- ``reference/errors.md`` lists each error by what the reader was doing, and has a finder for pasted
  tracebacks and an index by class.
- ``reference/silent-failures.md`` lists failures that raise no error, and has a filter.
- ``reference/by-symptom.md`` leads from a symptom to a section, based on ``by-symptom.toml``.
- ``reference/glossary.md`` defines the terms in ``glossary.toml``.
- ``reference/assignments.md`` describes each assignment, based on its source.
- ``reference/syllabus.md`` describes three versions of a course, based on ``syllabus.toml``.
- ``reference/detectors.md`` describes each detector, with its scores and its cost.

Building the book does this automatically (``_ext/generated_pages.py``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from book_tools.files import write_if_changed
from book_tools.pages import assignments, detectors, glossary, syllabus, symptoms
from book_tools.pages.catalogue_pages import errors_page, silent_failures_page
from book_tools.pages.html_utils import chapter_titles
from book_tools.pages.syllabus_source import SOURCE as SYLLABUS
from book_tools.project_metadata import ROOT
from jaxbits import _catalogue


def write_pages(root: Path = ROOT) -> list[Path]:
    """Write a project's generated pages, and return the paths that changed."""
    bits, folder = _catalogue.load(), root / "reference"
    paths = symptoms.read_symptoms(folder / "by-symptom.toml")
    titles = chapter_titles(root)
    terms = glossary.read_terms(folder / "glossary.toml")
    pages = {
        folder / "errors.md": errors_page(bits.values()),
        folder / "silent-failures.md": silent_failures_page(bits.values(), titles),
        folder / "by-symptom.md": symptoms.symptoms_page(paths, bits),
        folder / "glossary.md": glossary.glossary_page(terms, bits),
    }
    if (root / "assignments").is_dir():
        pages[folder / "assignments.md"] = assignments.assignments_page(root)
    if (root / SYLLABUS).is_file():
        pages[folder / "syllabus.md"] = syllabus.syllabus_page(root)
    if (folder / "detectors" / "lock.json").is_file():
        pages |= detectors.detectors_page_and_figure(root)
    return [path for path, text in pages.items() if write_if_changed(path, text)]


def write_readme_figure(root: Path = ROOT) -> Path:
    """Draw the README's figure, which chapter 04 also shows, and return its path."""
    from jaxbits.book.figures.out_of_bounds import where_indices_land

    path = root / "_static" / "where-indices-land.svg"
    write_if_changed(path, where_indices_land().svg)
    return path


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--readme", action="store_true", help="draw the README's figure instead")
    if parser.parse_args(arguments).readme:
        print("drew", write_readme_figure().relative_to(ROOT))
    else:
        for changed in write_pages():
            print("wrote", changed.relative_to(ROOT))
    return 0
