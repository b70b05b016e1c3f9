"""The released notebooks of the assignments, and the page of the book that lists them.

python tools/assignments.py            write the notebooks that students get
python tools/assignments.py --check    exit 1 if one is not as its source says
python tools/assignments.py --elsewhere    try the solutions in the environments of make versions
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import environments
import interpreters
import provision
from jaxbits_grader import cli
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import find_assignments, read_assignment
from jaxbits_grader.authoring.validation import validate_solution
from pairs import replace_file
from project import ROOT, address, colab

from jaxbits import recorded
from reference import chapter_titles, inline

FOLDER = "assignments"
RECORDS = "reference/assignments"

PAGE = """\
# Assignments

Notebooks to hand in, {count} of them, in the order of the chapters they belong to: each can be \
done once its chapter has been read. They run in Colab with what is there, or on a laptop with \
`jax` and this book's library; the last one also needs Flax, Optax and PyTorch. \
Every task shows some of its tests; others, of the same properties, \
run when a notebook is graded. [For teachers](for-teachers.md) says how to hand them out and grade \
them.

{assignments}

## Where they were tried

The points that each solution gets, by every test, hidden ones included:

{tried}

## What grading costs

{cost}
"""

ONE = """\
## {title}

**Belongs to** [{chapter}](../chapters/{stem}.ipynb). **Points** {points}. \
**Time** about {minutes} minutes. \
{links}

When they are through, students can

{goals}

| task | points | full marks |
|---:|---:|:---|
{tasks}
"""


def in_order(root: Path = ROOT) -> list[Assignment]:
    """The assignments by their chapters."""
    found = [read_assignment(folder) for folder in find_assignments(root / FOLDER)]
    return sorted(found, key=lambda assignment: assignment.chapter)


def page(root: Path = ROOT) -> str:
    """The page that lists the assignments, as Markdown."""
    titles = chapter_titles(root)
    assignments = in_order(root)
    repository = address(root)
    parts = []
    for one in assignments:
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
                links=_links(one.name, repository),
                goals="\n".join(f"- {inline(goal)}" for goal in one.goals),
                tasks=rows,
            )
        )
    return PAGE.format(
        count=len(assignments),
        assignments="\n".join(parts),
        tried=_tried(records(root), assignments),
        cost=_cost(),
    )


def _links(name: str, repository: str | None) -> str:
    """The ways to an assignment's notebook: to its copy in the built book, and to Colab."""
    path = f"{FOLDER}/{name}.ipynb"
    download = f'<a href="../{path}" download>download the notebook</a>'
    return (
        f"[Open it in Colab]({colab(repository, path)}) or {download}."
        if repository
        else f"{download}."
    )


def records(root: Path = ROOT) -> list[dict[str, Any]]:
    """What was recorded of the solutions in each environment, the oldest JAX first."""
    found = [json.loads(p.read_text("utf8")) for p in (root / RECORDS).glob("*.json")]
    return sorted(found, key=lambda record: [int(n) for n in record["jax"].split(".")])


def _tried(found: list[dict[str, Any]], assignments: list[Assignment]) -> str:
    head = [f"{record['title']}, jax {record['jax']}" for record in found]
    lines = [["assignment", *head], [":---", *["---:"] * len(head)]]
    for one in assignments:
        points = [str(record["points"].get(one.name, "not tried")) for record in found]
        lines.append([one.title, *(f"{p} of {one.points}" for p in points)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cost() -> str:
    measured = recorded.load("grading")
    seconds = {
        name.removeprefix("a submission, "): f"{one['median']:.1f} s"
        for name, one in measured["results"].items()
    }
    ways = ", ".join(f"{time} with {name}" for name, time in seconds.items())
    series = measured["series"]
    growth = "; ".join(
        f"{count} in {took:.0f} s with {most:.0f} MB"
        for count, took, most in zip(
            series["submissions"], series["seconds"], series["megabytes"], strict=True
        )
    )
    return (
        "A solved notebook of *Pure functions*, measured in one run "
        f"({recorded.machine(measured)}): {ways}. We run each twice, "
        "once for the marks and once for what its author may see."
        f" Small ones, two at a time: {growth} of memory at the most."
    )


def elsewhere() -> int:
    """Try the solutions in each environment that is here, and record their points."""
    specifications = environments.read((ROOT / "tools" / "environments.toml").read_text("utf8"))
    wrong = 0
    for name, specification in specifications.items():
        if specification.kind == "accelerator":
            continue
        try:
            there = provision.prepare(specification, ROOT, torch=True)
        except interpreters.NotHere as reason:
            print(f"{name}: {reason}")
            continue
        version = interpreters.answer(there.python, "import jax; print(jax.__version__)")
        points = {}
        for folder in find_assignments(ROOT / FOLDER):
            solved = validate_solution(folder, python=str(there.python))
            points[folder.name] = sum(one.points for one in solved)
            for one in solved:
                if one.problem:
                    wrong += 1
                    print(f"{name}: {folder.name}: {one.line()}")
        record = {"title": specification.title, "jax": version, "points": points}
        text = json.dumps(record, indent=1) + "\n"
        (ROOT / RECORDS).mkdir(exist_ok=True)
        replace_file(ROOT / RECORDS / f"{name}.json", text)
        print(f"{name} (jax {version}): {sum(points.values())} points")
    return int(bool(wrong))


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--elsewhere", action="store_true", help="record solutions' points")
    options = parser.parse_args(arguments)
    if options.elsewhere:
        return elsewhere()
    check = ["--check"] if options.check else []
    return cli.main(["release", str(ROOT / FOLDER), *check])


if __name__ == "__main__":
    sys.exit(main())
