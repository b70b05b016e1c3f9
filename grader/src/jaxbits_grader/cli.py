"""The verbs of ``python -m jaxbits_grader``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path


def _release(options: argparse.Namespace) -> int:
    from jaxbits_grader.authoring import assignment_source as source
    from jaxbits_grader.authoring import release_notebook as release
    from jaxbits_grader.files import write_file
    from jaxbits_grader.notebook_io import text

    changed = 0
    for folder in _assignments(options.folder):
        assignment = source.read(folder)
        notebook = release.student(assignment)
        path = folder / f"{assignment.name}.ipynb"
        if options.check:
            same = path.exists() and path.read_text(encoding="utf-8") == text(notebook)
            changed += not same
            print(f"{assignment.name}: {'as its source' if same else 'not as its source says'}")
        else:
            print(f"{path} {'written' if write_file(path, text(notebook)) else 'unchanged'}")
    return int(bool(changed))


def _variant(options: argparse.Namespace) -> int:
    import secrets

    from jaxbits_grader.authoring import variants as variant

    seed = options.seed or secrets.token_hex(8)
    for name in variant.make(options.folder, options.to, seed):
        print(f"{options.to / name} written")
    print(f"These numbers can be drawn again with --seed {seed}; keep it to yourself.")
    return 0


def _prove(options: argparse.Namespace) -> int:
    from jaxbits_grader.authoring.validation import prove

    wrong = 0
    for folder in _assignments(options.folder):
        tried = prove(folder, seed=options.variant, python=options.python)
        wrong += sum(t.problem is not None for t in tried)
        print(f"{folder.resolve().name}:")
        for one in tried:
            if one.problem or not options.quiet:
                print(f"  {one.line()}")
        print(
            f"  {len(tried)} tried, {sum(t.problem is not None for t in tried)} not as it should be"
        )
    return int(bool(wrong))


def _course(options: argparse.Namespace) -> int:
    from jaxbits_grader.gradebook import course

    made = course.make(options.folder, options.sources, name=options.name, db=options.db)
    releases = sorted((made.root / "release").glob("*/*.ipynb"))
    print(f"The course {made.name!r} is in {options.folder}. To hand out:")
    for path in releases:
        print(f"  {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    return 0


def _collect(options: argparse.Namespace) -> int:
    from jaxbits_grader.intake.lms_import import collect

    got = collect(options.download, options.to)
    print(f"{options.to} has the folders of {len(got.students)} students.")
    if got.late:
        print(f"Late: {', '.join(got.late)}")
    for name in got.unknown:
        print(f"  Whose is {name}?", file=sys.stderr)
    return int(bool(got.unknown))


def _grade(options: argparse.Namespace) -> int:
    from jaxbits_grader import grade_command as grade

    return grade.main(options)


def _results(options: argparse.Namespace) -> int:
    from jaxbits_grader import grade_command as grade

    print(grade.collect(options))
    return 0


def _mark(options: argparse.Namespace) -> int:
    from jaxbits_grader.gradebook import course
    from jaxbits_grader.gradebook import manual_points as gradebook
    from jaxbits_grader.intake.submissions import Submission

    found = course.opened(options.course)
    student = Submission(options.student, None).id
    assignment = found.assignment(options.assignment)
    graded = sorted(p.stem for p in found.results(assignment.name).glob("*.json"))
    if student not in graded:
        raise ValueError(
            f"student: {options.student!r} has no result for {assignment.name}; "
            f"these have: {', '.join(graded) or 'none'}"
        )
    gradebook.mark(found, assignment, student, options.test, options.points)
    points = "no points by hand" if options.points is None else f"{options.points:g}"
    print(f"{options.student} has {points} for {options.test}; 'results' writes the table anew")
    return 0


def _canvas(options: argparse.Namespace) -> int:
    from jaxbits_grader import grade_command as grade
    from jaxbits_grader.files import write_file
    from jaxbits_grader.reporting import canvas_export as canvas

    _, records = grade.collected(options)
    text, unknown = canvas.filled(options.export, records, options.column)
    write_file(options.to, text)
    print(f"{options.to} written")
    for student in unknown:
        print(f"  Canvas does not know {student}", file=sys.stderr)
    return int(bool(unknown))


def _probe(options: argparse.Namespace) -> int:
    from jaxbits_grader.running.sandbox_check import probe

    probe()
    print("The sandbox holds: a program in it got at nothing of this machine.")
    return 0


def _assignments(folder: Path) -> list[Path]:
    from jaxbits_grader.authoring import assignment_source as source

    found = source.find(folder)
    if not found:
        raise source.SourceError(f"{folder} is no assignment and holds none ({source.SOURCE})")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="jaxbits-grader", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    verb = verbs.add_parser("release", help="make the students' notebooks of the sources")
    verb.add_argument("folder", type=Path, help="an assignment's folder, or one that holds several")
    verb.add_argument("--check", action="store_true", help="write nothing; exit 1 where it differs")
    verb.set_defaults(do=_release)

    verb = verbs.add_parser("variant", help="write assignments with other numbers, for yourself")
    verb.add_argument("folder", type=Path, help="the assignments to vary")
    verb.add_argument("--to", type=Path, required=True, help="a private folder")
    verb.add_argument("--seed", help="draw the same numbers again")
    verb.set_defaults(do=_variant)

    verb = verbs.add_parser("prove", help="prove that the tests take what is right, and only that")
    verb.add_argument("folder", type=Path, help="an assignment's folder, or one that holds several")
    verb.add_argument("--variant", metavar="SEED", help="with other numbers")
    verb.add_argument("--python", default=sys.executable, help="with another interpreter's JAX")
    verb.add_argument("--quiet", action="store_true", help="only what is not as it should be")
    verb.set_defaults(do=_prove)

    verb = verbs.add_parser("course", help="set a course up, or bring one up to date")
    verb.add_argument("folder", type=Path, help="the course's folder; it is made if need be")
    verb.add_argument(
        "--from", dest="sources", type=Path, required=True, help="the assignments' sources"
    )
    verb.add_argument("--name", default="", help="what nbgrader calls the course")
    verb.add_argument("--db", default="", help="the gradebook: postgresql://user:word@host/name")
    verb.set_defaults(do=_course)

    verb = verbs.add_parser("collect", help="sort a download of Canvas or Moodle by students")
    verb.add_argument("download", type=Path, help="the zip file, or what was unpacked of it")
    verb.add_argument("--to", type=Path, required=True, help="a folder for the students' folders")
    verb.set_defaults(do=_collect)

    verb = verbs.add_parser("grade", help="grade a folder of submissions")
    _of_assignment(verb)
    verb.add_argument("-j", dest="workers", type=int, default=1, help="how many at a time")
    verb.add_argument("--student", action="append", help="only this one (may be repeated)")
    verb.add_argument("--again", action="store_true", help="also what has not changed")
    verb.add_argument("--unsafe", action="store_true", help="without the sandbox; said in the CSV")
    verb.add_argument("--quiet", action="store_true", help="no progress bar")
    limits = verb.add_argument_group("limits of a submission")
    for name, (default, kind) in _limits().items():
        flag = f"--{name.replace('_', '-')}"
        limits.add_argument(flag, type=kind, default=default, help=f"(default: {default:g})")
    verb.set_defaults(do=_grade)

    verb = verbs.add_parser("results", help="write the CSV anew, with marks by hand")
    _of_assignment(verb)
    verb.set_defaults(do=_results)

    verb = verbs.add_parser("mark", help="give points by hand; regrading keeps them")
    verb.add_argument("assignment")
    verb.add_argument("student")
    verb.add_argument("test", help="the id of a test cell")
    verb.add_argument("points", type=_points, help="a number, or 'none' to take a mark back")
    verb.add_argument("--course", type=Path, required=True)
    verb.set_defaults(do=_mark)

    verb = verbs.add_parser("canvas", help="fill the scores into Canvas's own export")
    _of_assignment(verb)
    verb.add_argument("--export", type=Path, required=True, help="the CSV exported from Canvas")
    verb.add_argument("--column", required=True, help="the assignment's heading in it")
    verb.add_argument("--to", type=Path, required=True, help="the CSV to import")
    verb.set_defaults(do=_canvas)

    verb = verbs.add_parser("probe", help="say whether the sandbox holds on this machine")
    verb.set_defaults(do=_probe)
    return parser


def _points(text: str) -> float | None:
    return None if text == "none" else float(text)


def _of_assignment(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("assignment")
    verb.add_argument(
        "--submissions", type=Path, required=True, help="a notebook or a folder for each student"
    )
    verb.add_argument("--course", type=Path, required=True, help="the course's folder")
    verb.add_argument("--csv", type=Path, help="where the results go (COURSE/results/NAME.csv)")


def _limits() -> dict[str, tuple[float, type]]:
    from jaxbits_grader.running.limits import Limits

    return {name: (value, type(value)) for name, value in asdict(Limits()).items()}


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.do(options)
    except ModuleNotFoundError as error:
        print(f'{error.name} is not installed: pip install "jaxbits-grader"', file=sys.stderr)
        return 2
    except (ValueError, OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted. Run it again: it goes on where it was.", file=sys.stderr)
        return 130
    return status
