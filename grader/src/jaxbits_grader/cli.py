"""Define the grader's command-line interface."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxbits_grader.authoring.validation import Attempt

# Each command imports only what it needs, because importing nbgrader alone takes a second.


def _release(options: argparse.Namespace) -> int:
    from jaxbits_grader.authoring.assignment_source import read_assignment
    from jaxbits_grader.authoring.notebook_versions import student_notebook
    from jaxbits_grader.files import notebook_text, write_atomically

    outdated = False
    for folder in _find(options.folder):
        assignment = read_assignment(folder)
        text = notebook_text(student_notebook(assignment))
        path = folder / f"{assignment.name}.ipynb"
        if options.check:
            is_current = path.exists() and path.read_text(encoding="utf-8") == text
            outdated |= not is_current
            print(f"{assignment.name}: {'up to date' if is_current else 'outdated'}")
        else:
            print(f"{path} {'written' if write_atomically(path, text) else 'unchanged'}")
    return int(outdated)


def _variant(options: argparse.Namespace) -> int:
    import secrets

    from jaxbits_grader.authoring.variants import write_variants

    seed = options.seed or secrets.token_hex(8)
    for name in write_variants(options.folder, options.to, seed, options.wheel):
        print(f"{options.to / name} written")
    print(f"To draw the same numbers again, use --seed {seed}. Keep it secret.")
    return 0


def _prove(options: argparse.Namespace) -> int:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from tempfile import TemporaryDirectory

    if options.workers < 1:
        raise ValueError(f"-j must be at least 1, got {options.workers}")
    folders = _find(options.folder)
    has_problems = False
    # In Python 3.11, threads that parse code at the same time can get a SystemError:
    # https://github.com/python/cpython/issues/106905
    context = multiprocessing.get_context("forkserver")
    with TemporaryDirectory() as cache, ProcessPoolExecutor(options.workers, context) as pool:
        # Some mistakes are found within seconds, so report these before the long part.
        checks = {folder: pool.submit(_check_source, folder, options) for folder in folders}
        mistakes = {folder: check.exception() for folder, check in checks.items()}
        for folder, error in mistakes.items():
            if error is not None:
                has_problems = True
                _report_mistake(folder, error, is_only_one=len(folders) == 1)
        # If the longest one came last, it would keep only one worker busy.
        futures = {
            folder: pool.submit(_try_assignment, folder, options, Path(cache))
            for folder in sorted(folders, key=_source_bytes, reverse=True)
            if mistakes[folder] is None
        }
        try:
            for folder in (folder for folder in folders if folder in futures):
                if (error := futures[folder].exception()) is not None:
                    has_problems = True
                    _report_mistake(folder, error, is_only_one=len(folders) == 1)
                    continue
                attempts, notes = futures[folder].result()
                problems = sum(attempt.problem is not None for attempt in attempts) + len(notes)
                has_problems |= bool(problems)
                print(f"{folder.resolve().name}:")
                for attempt in attempts:
                    if attempt.problem or not options.quiet:
                        print(f"  {attempt.line()}")
                for note in notes:
                    print(f"  ✗ {note}")
                print(f"  {len(attempts)} answers tried, {problems} problems", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    return int(has_problems)


def _report_mistake(folder: Path, error: BaseException, *, is_only_one: bool) -> None:
    """Print why an assignment could not be checked, or raise the error if there are no others."""
    if is_only_one or not isinstance(error, ValueError):
        raise error
    print(f"{folder.resolve().name}:\n  ✗ {error}\n  not checked", flush=True)


def _source_bytes(folder: Path) -> int:
    """Return the size of an assignment's source and answers, which predicts how long they take."""
    return sum(path.stat().st_size for path in folder.glob("*.*") if path.suffix in (".md", ".py"))


def _check_source(folder: Path, options: argparse.Namespace) -> None:
    """Check what can be checked without running answers."""
    from jaxbits_grader.authoring.reference_answers import read_answers
    from jaxbits_grader.authoring.validation import read_variant
    from jaxbits_grader.checking.solution_check import check_forbidden_names, check_messages

    assignment = read_variant(folder, options.variant)
    check_messages(assignment)
    check_forbidden_names(assignment, read_answers(folder, assignment))


def _try_assignment(
    folder: Path, options: argparse.Namespace, cache: Path
) -> tuple[list[Attempt], list[str]]:
    """Try an assignment's answers, and return the attempts and what the grader notes."""
    from jaxbits_grader.authoring.validation import read_variant, validate
    from jaxbits_grader.checking.solution_check import find_solution_problems
    from jaxbits_grader.running.sandbox import SandboxUnavailable

    assignment = read_variant(folder, options.variant)
    python = options.python or sys.executable
    attempts = validate(
        folder, seed=options.variant, python=python, cache=cache, quick=not options.all
    )
    # The grader runs submissions with its own Python.
    if options.python or any(attempt.problem for attempt in attempts):
        return attempts, []
    try:
        return attempts, find_solution_problems(assignment, cache / "judges")
    except SandboxUnavailable as reason:
        print(f"Not tried with the grader: {reason}", file=sys.stderr)
        return attempts, []


def _course(options: argparse.Namespace) -> int:
    from jaxbits_grader.gradebook.course import set_up_course

    course = set_up_course(options.folder, options.sources, name=options.name, db=options.db)
    print(f"The course {course.name!r} is in {options.folder}. Notebooks to hand out:")
    for path in sorted((course.root / "release").glob("*/*.ipynb")):
        print(f"  {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    return 0


def _collect(options: argparse.Namespace) -> int:
    from jaxbits_grader.intake.lms_import import import_download

    imported = import_download(options.download, options.to)
    print(f"{options.to} has the folders of {len(imported.students)} students.")
    if imported.late:
        print(f"Late: {', '.join(imported.late)}")
    for name in imported.unknown:
        print(f"  Not copied, because the name shows no student: {name}", file=sys.stderr)
    return int(bool(imported.unknown))


def _grade(options: argparse.Namespace) -> int:
    from jaxbits_grader.grade_command import grade_folder

    return grade_folder(options)


def _results(options: argparse.Namespace) -> int:
    from jaxbits_grader.grade_command import write_results

    print(write_results(options))
    return 0


def _mark(options: argparse.Namespace) -> int:
    from jaxbits_grader.gradebook.course import open_course
    from jaxbits_grader.gradebook.manual_points import set_manual_points
    from jaxbits_grader.intake.submissions import Submission

    course = open_course(options.course)
    student = Submission(options.student, None).id
    assignment = course.assignment(options.assignment)
    graded = sorted(path.stem for path in course.results(assignment.name).glob("*.json"))
    if not graded:
        raise ValueError(f"nothing has been graded for {assignment.name} yet; run 'grade' first")
    if student not in graded:
        raise ValueError(
            f"student must have a result for {assignment.name} "
            f"({', '.join(graded)}), got {options.student!r}"
        )
    tests = list(assignment.test_points) if options.test == "all" else [options.test]
    set_manual_points(course, assignment, student, tests, options.points)
    points = "no points" if options.points is None else f"{options.points:g} points"
    points = "1 point" if options.points == 1 else points
    print(
        f"{options.student} has {points} entered by hand for {', '.join(tests)}. Now run 'results'."
    )
    return 0


def _canvas(options: argparse.Namespace) -> int:
    from jaxbits_grader.files import write_atomically
    from jaxbits_grader.grade_command import load_results
    from jaxbits_grader.reporting.canvas_export import fill_in_scores

    _, records = load_results(options)
    text, unknown = fill_in_scores(options.export, records, options.column)
    write_atomically(options.to, text)
    print(f"{options.to} written")
    for student in unknown:
        print(f"  Canvas does not know {student}", file=sys.stderr)
    return int(bool(unknown))


def _probe(options: argparse.Namespace) -> int:
    from jaxbits_grader.running.sandbox_check import check_sandbox

    check_sandbox()
    print("The sandbox works: a program inside it could not access the rest of this machine.")
    return 0


def _find(folder: Path) -> list[Path]:
    from jaxbits_grader.authoring.assignment_source import (
        SOURCE_FILE,
        SourceError,
        find_assignments,
    )

    found = find_assignments(folder)
    if not found:
        raise SourceError(f"folder: must be or contain an assignment ({SOURCE_FILE}), got {folder}")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jaxbits-grader", description="Make, hand out, collect, and grade assignments."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    sources = "the folder of an assignment, or one that contains several"

    command = commands.add_parser("release", help="write the students' notebooks")
    command.add_argument("folder", type=Path, help=sources)
    command.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a notebook is outdated"
    )
    command.set_defaults(run=_release)

    command = commands.add_parser("variant", help="copy assignments with different numbers")
    command.add_argument("folder", type=Path, help=sources)
    command.add_argument("--to", type=Path, required=True, help="a private folder")
    command.add_argument("--seed", help="draw the same numbers again")
    command.add_argument("--wheel", default="", help="the address of jaxbits, for Colab")
    command.set_defaults(run=_variant)

    command = commands.add_parser("prove", help="check that tests accept only right answers")
    command.add_argument("folder", type=Path, help=sources)
    command.add_argument("--variant", metavar="SEED", help="try a variant with different numbers")
    command.add_argument("--python", help="a different Python interpreter")
    command.add_argument("-j", dest="workers", type=int, default=1, help="how many at a time")
    command.add_argument(
        "--all",
        action="store_true",
        help="try all wrong answers, and not only three to each task",
    )
    command.add_argument("--quiet", action="store_true", help="print only problems")
    command.set_defaults(run=_prove)

    command = commands.add_parser("course", help="create or update a course")
    command.add_argument("folder", type=Path, help="the course folder")
    command.add_argument("--from", dest="sources", type=Path, required=True, help=sources)
    command.add_argument("--name", default="", help="the name of the course in nbgrader")
    command.add_argument("--db", default="", help="the gradebook, postgresql://user:word@host/name")
    command.set_defaults(run=_course)

    command = commands.add_parser("collect", help="sort a Canvas or Moodle download by student")
    command.add_argument("download", type=Path, help="the zip file, or the unpacked folder")
    command.add_argument("--to", type=Path, required=True, help="a folder for the submissions")
    command.set_defaults(run=_collect)

    command = commands.add_parser("grade", help="grade a folder of submissions")
    _add_assignment_arguments(command)
    command.add_argument("-j", dest="workers", type=int, default=1, help="how many at a time")
    command.add_argument("--student", action="append", help="grade only this one (can be repeated)")
    command.add_argument("--again", action="store_true", help="also grade unchanged submissions")
    command.add_argument("--unsafe", action="store_true", help="grade without the sandbox")
    command.add_argument("--quiet", action="store_true", help="show no progress bar")
    limits = command.add_argument_group("limits on each submission")
    for name, (default, kind) in _limits().items():
        flag = f"--{name.replace('_', '-')}"
        limits.add_argument(flag, type=kind, default=default, help=f"(default: {default:g})")
    command.set_defaults(run=_grade)

    command = commands.add_parser("results", help="write the results table again")
    _add_assignment_arguments(command)
    command.set_defaults(run=_results)

    command = commands.add_parser("mark", help="enter points by hand; regrading keeps them")
    command.add_argument("assignment")
    command.add_argument("student")
    command.add_argument("test", help="the grade_id of a test cell, or 'all'")
    command.add_argument("points", type=_points, help="a number, or 'none' to remove points")
    command.add_argument("--course", type=Path, required=True)
    command.set_defaults(run=_mark)

    command = commands.add_parser("canvas", help="enter the scores in Canvas's export")
    _add_assignment_arguments(command)
    command.add_argument("--export", type=Path, required=True, help="the CSV from Canvas")
    command.add_argument("--column", required=True, help="the heading of the assignment's column")
    command.add_argument("--to", type=Path, required=True, help="the CSV to import")
    command.set_defaults(run=_canvas)

    command = commands.add_parser("probe", help="check that the sandbox works on this machine")
    command.set_defaults(run=_probe)
    return parser


def _points(text: str) -> float | None:
    try:
        return None if text == "none" else float(text)
    except ValueError:
        message = f"points must be a number or 'none', got {text!r}"
        raise argparse.ArgumentTypeError(message) from None


def _add_assignment_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("assignment")
    submissions = "a folder with one notebook or folder per student"
    command.add_argument("--submissions", type=Path, required=True, help=submissions)
    command.add_argument("--course", type=Path, required=True, help="the course folder")
    command.add_argument("--csv", type=Path, help="the results (default: COURSE/results/NAME.csv)")


def _limits() -> dict[str, tuple[float, type]]:
    from jaxbits_grader.running.limits import Limits

    return {name: (value, type(value)) for name, value in asdict(Limits()).items()}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return the exit status.

    Args:
        arguments: The command-line arguments, or None to use `sys.argv`.
    """
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed: pip install jaxbits-grader", file=sys.stderr)
        return 2
    except (ValueError, OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted. Run it again to continue where it stopped.", file=sys.stderr)
        return 130
    return status
