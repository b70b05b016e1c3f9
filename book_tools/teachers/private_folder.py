"""Write the teachers' folder: private variants, solutions, wrong answers, and exercises.

    python -m book_tools teachers                  write or update the folder teachers/
    python -m book_tools teachers --to ~/course    write to a folder outside the project

The folder ``assignments`` in it contains a variant with different numbers, which only its owner
knows. A second run keeps the variant, even if it was edited, and writes everything else again. Git
ignores the folder, and building the book does not read it.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

from jaxbits_grader.authoring.assignment_source import (
    SOURCE_FILE,
    SourceError,
    find_assignments,
    read_assignment,
)
from jaxbits_grader.authoring.notebook_versions import solution_notebook
from jaxbits_grader.authoring.variants import write_variants
from jaxbits_grader.files import notebook_text

from book_tools.files import write_if_changed
from book_tools.project_metadata import ROOT
from book_tools.teachers.assignment_discussions import discuss_assignment
from book_tools.teachers.exercise_discussions import discuss_exercises
from book_tools.teachers.markdown_files import render_file

FOLDER = "teachers"


class TeachersError(ValueError):
    """Raised if the teachers' folder cannot be written. The message says why."""


def check_target(to: Path, root: Path = ROOT) -> None:
    """Raise an error if what is in a folder could be published or committed.

    Args:
        to: The folder to write to.
        root: The project's folder.

    Raises:
        TeachersError: If the folder is in the project and is not the one that Git ignores.
    """
    to, root = to.resolve(), root.resolve()
    own = root / FOLDER
    if (to == root or root in to.parents) and to != own and own not in to.parents:
        raise TeachersError(
            f"--to must be outside {root.name} or inside its folder {FOLDER}, which Git ignores; "
            f"got {to}"
        )


def write_folder(to: Path, root: Path = ROOT, seed: str = "") -> list[Path]:
    """Write the teachers' folder, and return the paths that changed.

    Args:
        to: The folder to write to.
        root: The project's folder.
        seed: The seed of the variant, or an empty string for a random one. It has no effect on
            assignments that already have a variant.

    Raises:
        TeachersError: If the folder could be published.
        SourceError: If an assignment breaks a rule.
    """
    check_target(to, root)
    variants = to / "assignments"
    seed = seed or secrets.token_hex(8)
    for folder in find_assignments(root / "assignments"):
        if not (variants / folder.name / SOURCE_FILE).exists():
            write_variants(folder, variants, seed)
    texts: dict[Path, str] = {}
    names = []
    for folder in find_assignments(variants):
        assignment = read_assignment(folder)
        names.append(assignment.name)
        solved = notebook_text(solution_notebook(assignment))
        texts[to / "solutions" / f"{assignment.name}.ipynb"] = solved
        texts[to / "wrong-answers" / f"{assignment.name}.md"] = discuss_assignment(folder)
    stems = sorted(path.stem for path in root.glob("chapters/*.md"))
    for stem in stems:
        texts[to / "exercises" / f"{stem}.md"] = discuss_exercises(stem, root)
    texts[to / "README.md"] = render_file("readme.md", names=names, stems=stems)
    return [path for path, text in texts.items() if write_if_changed(path, text)]


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--to", type=Path, default=ROOT / FOLDER, help="the folder to write to")
    parser.add_argument("--seed", default="", help="draw the same numbers again")
    options = parser.parse_args(arguments)
    try:
        changed = write_folder(options.to.expanduser(), seed=options.seed)
    except (TeachersError, SourceError, OSError) as error:
        print(f"The folder was not written: {error}", file=sys.stderr)
        return 1
    print(
        f"{options.to} is up to date ({len(changed)} files changed); README.md in it says what is"
    )
    print("in it. Keep the folder private, and check its assignments with: jaxbits-grader prove")
    return 0
