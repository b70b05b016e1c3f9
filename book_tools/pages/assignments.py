"""Release the assignments' notebooks, and generate the page that lists the assignments.

python -m book_tools assignments              write the notebooks that students receive
python -m book_tools assignments --check      exit with 1 if a notebook does not match its source
python -m book_tools assignments --elsewhere  run the solutions on other versions of JAX
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from jaxbits_grader import cli
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import find_assignments, read_assignment
from jaxbits_grader.authoring.validation import validate_solution
from packaging.version import Version

from book_tools.environment import environments, interpreters, provision
from book_tools.files import write_if_changed
from book_tools.pages.html_utils import chapter_titles, join_phrases
from book_tools.pages.render import render_page
from book_tools.project_metadata import ROOT, colab_url, repository_url
from jaxbits.book import measurements

FOLDER = "assignments"
RECORDS = "reference/assignments"


def read_assignments(root: Path = ROOT) -> list[Assignment]:
    """Return all assignments sorted by chapter number."""
    found = [read_assignment(folder) for folder in find_assignments(root / FOLDER)]
    return sorted(found, key=lambda assignment: assignment.chapter)


def read_records(root: Path = ROOT) -> list[dict[str, Any]]:
    """Return the points that the solutions earned in each environment, oldest JAX first."""
    found = [json.loads(path.read_text("utf8")) for path in (root / RECORDS).glob("*.json")]
    return sorted(found, key=lambda record: Version(record["jax"]))


def assignments_page(root: Path = ROOT) -> str:
    """Return the page that lists the assignments, as Markdown."""
    assignments = read_assignments(root)
    repository = repository_url(root)
    names = [assignment.name for assignment in assignments]
    return render_page(
        "assignments.md",
        assignments=assignments,
        titles=chapter_titles(root),
        colab={name: colab_url(repository, f"{FOLDER}/{name}.ipynb") for name in names}
        if repository
        else None,
        records=read_records(root),
        cost=_describe_cost(),
    )


def _describe_cost() -> str:
    """Return sentences about the recorded time and memory that grading took."""
    measured = measurements.load("grading")
    seconds: dict[str, list[str]] = {}
    for name, one in measured["results"].items():
        title, _, way = name.rpartition(", ")
        way = f"this grader (`{way}`)" if way.startswith("-j") else way
        seconds.setdefault(title, []).append(f"{one['median']:.1f} s with {way}")
    times = " ".join(
        f"A solved notebook of *{title}* takes {join_phrases(each)}."
        for title, each in seconds.items()
    )
    series = measured["series"]
    growth = [
        f"{took:.0f} s and {most:.0f} MB for {count} notebooks"
        for count, took, most in zip(
            series["submissions"], series["seconds"], series["megabytes"], strict=True
        )
    ]
    return (
        f"{times} This grader runs each notebook twice, once for the marks and once for the "
        "feedback page. With small notebooks, two at a time, the total time and the peak memory "
        f"are {join_phrases(growth)} ({measurements.machine(measured)})."
    )


def record_elsewhere() -> int:
    """Run the solutions in each available environment, and record their points.

    Return the exit status, which is 1 if a solution failed in any environment and 0 otherwise.
    """
    specifications = environments.load_specifications()
    has_failed = False
    for name, specification in specifications.items():
        if specification.kind == "accelerator":
            continue
        try:
            prepared = provision.prepare(specification, ROOT, torch=True)
        except interpreters.EnvironmentUnavailable as reason:
            print(f"{name}: {reason}")
            continue
        version = interpreters.run_program(prepared.python, "import jax; print(jax.__version__)")
        points = {}
        for folder in find_assignments(ROOT / FOLDER):
            tasks = validate_solution(folder, python=str(prepared.python))
            points[folder.name] = sum(task.points for task in tasks)
            for task in tasks:
                if task.problem:
                    has_failed = True
                    print(f"{name}: {folder.name}: {task.line()}")
        record = {"title": specification.title, "jax": version, "points": points}
        path = ROOT / RECORDS / f"{name}.json"
        write_if_changed(path, json.dumps(record, indent=1) + "\n")
        print(f"{name} (jax {version}): {sum(points.values())} points")
    return int(has_failed)


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--elsewhere", action="store_true", help="record the solutions' points")
    options = parser.parse_args(arguments)
    if options.elsewhere:
        return record_elsewhere()
    check = ["--check"] if options.check else []
    return cli.main(["release", str(ROOT / FOLDER), *check])
