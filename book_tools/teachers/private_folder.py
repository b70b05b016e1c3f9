"""Write the teachers' folder: private variants, solutions, wrong answers, and exercises.

    python -m book_tools teachers                  write or update the folder teachers/
    python -m book_tools teachers --to ~/course    write to a folder outside the project
    python -m book_tools teachers --from ~/jax-private    use a variant that already exists

The folder ``assignments`` in it contains a variant with different numbers, which only its owner
knows. A second run keeps the variant, even if it was edited, and writes everything else again. With
``--from``, the solutions and wrong answers are those of a variant in another folder, and the folder
``assignments`` is not written. Only the owner of the teachers' folder can read it. Git ignores the
folder, and building the book does not read it.
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
from book_tools.pages.html_utils import count_noun
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


def write_folder(
    to: Path, root: Path = ROOT, seed: str = "", variant: Path | None = None
) -> list[Path]:
    """Write the teachers' folder, and return the paths that changed.

    Args:
        to: The folder to write to. Afterward, only its owner can read it.
        root: The project's folder.
        seed: The seed of the variant, or an empty string for a random one. It has no effect on
            assignments that already have a variant.
        variant: The folder of an existing variant, which is only read. By default, this function
            writes a variant to the folder `assignments` in `to`.

    Raises:
        TeachersError: If the folder could be published, or if `variant` contains no assignment.
        SourceError: If an assignment breaks a rule.
    """
    check_target(to, root)
    if variant is not None and not find_assignments(variant):
        raise TeachersError(f"--from must contain assignments ({SOURCE_FILE}), got {variant}")
    to.mkdir(mode=0o700, parents=True, exist_ok=True)
    to.chmod(0o700)  # `mkdir` does not change the mode of an existing folder.
    folders = find_assignments(variant or _write_missing_variants(to / "assignments", root, seed))
    texts: dict[Path, str] = {}
    names = []
    for folder in folders:
        assignment = read_assignment(folder)
        names.append(assignment.name)
        solved = notebook_text(solution_notebook(assignment))
        texts[to / "solutions" / f"{assignment.name}.ipynb"] = solved
        texts[to / "wrong-answers" / f"{assignment.name}.md"] = discuss_assignment(folder)
    stems = sorted(path.stem for path in root.glob("chapters/*.md"))
    for stem in stems:
        texts[to / "exercises" / f"{stem}.md"] = discuss_exercises(stem, root)
    texts[to / "README.md"] = render_file(
        "readme.md", names=names, stems=stems, has_variant=variant is None
    )
    return [path for path, text in texts.items() if write_if_changed(path, text)]


def _write_missing_variants(variants: Path, root: Path, seed: str) -> Path:
    """Write a variant of each assignment that has none yet, and return the folder of variants."""
    seed = seed or secrets.token_hex(8)
    for folder in find_assignments(root / "assignments"):
        if not (variants / folder.name / SOURCE_FILE).exists():
            write_variants(folder, variants, seed)
    return variants


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--to", type=Path, default=ROOT / FOLDER, help="the folder to write to")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--seed", default="", help="draw the same numbers again")
    choice.add_argument(
        "--from",
        type=lambda text: Path(text).expanduser(),
        dest="variant",
        metavar="FOLDER",
        help="use the variant in this folder instead of writing one",
    )
    options = parser.parse_args(arguments)
    try:
        changed = write_folder(options.to.expanduser(), seed=options.seed, variant=options.variant)
    except (TeachersError, SourceError, OSError) as error:
        print(f"The folder was not written: {error}", file=sys.stderr)
        return 1
    files = count_noun(len(changed), "file")
    print(f"{options.to} is up to date ({files} changed). Its README.md says what it contains.")
    check = options.variant or options.to / "assignments"
    print(f"Keep the folder private. Check the assignments with: jaxbits-grader prove {check}")
    return 0
