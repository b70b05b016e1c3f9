"""The released notebooks of the assignments, and the page of the book that lists them.

python tools/assignments.py            write the notebooks that students get
python tools/assignments.py --check    exit 1 if one is not as its source says
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from project import ROOT, address, version

from jaxbits.classroom import command, source
from jaxbits.classroom.source import Assignment
from reference import chapter_titles, inline

FOLDER = "assignments"

PAGE = """\
# Assignments

Notebooks to hand in, {count} of them, in the order of the chapters they belong to: each can be \
done once its chapter has been read. They run in Colab with what is there, or on a laptop with \
`jax` and this book's library. Every task shows some of its tests; others, of the same properties, \
run when a notebook is graded. [For teachers](for-teachers.md) says how to hand them out and grade \
them.

{assignments}
"""

ONE = """\
## {title}

**Belongs to** [{chapter}](../chapters/{stem}.ipynb). **Points** {points}. \
**Time** about {minutes} minutes. \
[Open it in Colab]({colab}) or [see the file]({file}).

When they are through, students can

{goals}

| task | points | full marks |
|---:|---:|:---|
{tasks}
"""


def in_order(root: Path = ROOT) -> list[Assignment]:
    """The assignments by their chapters."""
    found = [source.read(folder) for folder in source.find(root / FOLDER)]
    return sorted(found, key=lambda assignment: assignment.chapter)


def page(root: Path = ROOT) -> str:
    """The page that lists the assignments, as Markdown."""
    titles = chapter_titles(root)
    assignments = in_order(root)
    repository, tag = address(root), f"v{version(root)}"
    slug = re.sub("^https://github.com/", "", repository)
    parts = []
    for one in assignments:
        path = f"blob/{tag}/{FOLDER}/{one.name}/{one.name}.ipynb"
        rows = "\n".join(
            f"| {number} | {task.total} | {inline(task.rubric)} |"
            for number, task in enumerate(one.tasks, 1)
        )
        parts.append(
            ONE.format(
                title=one.title,
                chapter=titles[one.chapter],
                stem=one.chapter,
                points=one.points,
                minutes=one.minutes,
                colab=f"https://colab.research.google.com/github/{slug}/{path}",
                file=f"{repository}/{path}",
                goals="\n".join(f"- {inline(goal)}" for goal in one.goals),
                tasks=rows,
            )
        )
    return PAGE.format(count=len(assignments), assignments="\n".join(parts))


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    check = ["--check"] if options.check else []
    return command.main(["release", str(ROOT / FOLDER), *check])


if __name__ == "__main__":
    sys.exit(main())
