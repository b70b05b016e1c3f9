"""Run the `grade` and `results` commands, which turn a folder of submissions into a CSV file."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from tqdm import tqdm

from jaxbits_grader.files import write_atomically
from jaxbits_grader.grade_records import STATUSES, GradeRecord, read_record
from jaxbits_grader.grade_submission import Job
from jaxbits_grader.gradebook.course import Course, open_course
from jaxbits_grader.gradebook.manual_points import apply_manual_points, read_manual_points
from jaxbits_grader.intake.submissions import Submission, file_digest, find_submissions
from jaxbits_grader.reporting.feedback_files import update_page
from jaxbits_grader.reporting.results_csv import results_table
from jaxbits_grader.running.limits import Limits
from jaxbits_grader.running.sandbox import check_hidden
from jaxbits_grader.running.sandbox_check import check_sandbox
from jaxbits_grader.worker_pool import grade_all


def grade_folder(options: argparse.Namespace) -> int:
    """Grade the submissions in a folder.

    If the command line names students, the command prints only their results and does not change
    the CSV file. Otherwise, it writes the CSV file and prints a summary.

    Args:
        options: The parsed arguments of the `grade` command.

    Returns:
        The exit status, which is always 0.

    Raises:
        CourseError: If the course or the assignment does not exist.
        SandboxUnavailable: If the sandbox does not work.
        ValueError: If there are no submissions or an option is invalid.
    """
    course = open_course(options.course)
    assignment = course.assignment(options.assignment)
    submissions = find_submissions(options.submissions, assignment.name)
    if options.student:
        submissions = _select(submissions, options.student, options.submissions)
    if not options.unsafe:
        for path in (course.root, options.submissions):
            check_hidden(path)
        check_sandbox()
    limits = Limits(**{field.name: getattr(options, field.name) for field in fields(Limits)})
    jobs = [Job(course, assignment.name, s, limits, options.unsafe) for s in submissions]
    with tqdm(total=len(jobs), unit="submission", disable=options.quiet or None) as bar:

        def show_progress(record: GradeRecord) -> None:
            bar.update()
            bar.set_postfix_str(f"{record.student[:20]}: {record.status}")

        try:
            records = grade_all(jobs, options.workers, again=options.again, on_record=show_progress)
        except KeyboardInterrupt:
            if not options.student:
                write_results(options)
            raise
    if options.student:
        for record in records:
            score = "" if record.score is None else f" {record.score:g} of {record.max_score:g}"
            print("; ".join([f"{record.student}: {record.status}{score}", *record.notes])[:500])
        print("The table was not changed. To update it, use 'results' instead of 'grade'.")
        return 0
    print(write_results(options))
    return 0


def _select(
    submissions: list[Submission], students: Iterable[str], folder: Path
) -> list[Submission]:
    by_name = {submission.student: submission for submission in submissions}
    if unknown := [student for student in students if student not in by_name]:
        raise ValueError(f"student: {folder} has no submission from {', '.join(unknown)}")
    return [by_name[student] for student in dict.fromkeys(students)]


def load_results(options: argparse.Namespace) -> tuple[Course, list[GradeRecord]]:
    """Return the course and one record per submission, including points entered by hand.

    This function also updates the feedback pages.
    """
    course = open_course(options.course)
    assignment = course.assignment(options.assignment)
    max_points = {id: float(points) for id, points in assignment.test_points.items()}
    all_manual = read_manual_points(course, assignment)
    source = file_digest(course.source(assignment.name))
    records = []
    for submission in find_submissions(options.submissions, assignment.name):
        record = read_record(course.results(assignment.name) / f"{submission.id}.json")
        outdated = _why_outdated(record, submission, source)
        if record is None or outdated:
            record = GradeRecord(submission.student, "failed", (outdated,), (), assignment.points)
        manual = all_manual.get(submission.id, {})
        record = apply_manual_points(record, manual, max_points)
        update_page(course, assignment, submission.id, record, manual)
        records.append(record)
    return course, records


def _why_outdated(record: GradeRecord | None, submission: Submission, source: str) -> str:
    """Return why a record is missing or outdated, or an empty string if it is up to date."""
    if record is None:
        return "not graded yet"
    if record.submission != submission.digest:
        return "not graded since it was handed in again"
    if record.source != source:
        return "not graded since the assignment was changed"
    return ""


def write_results(options: argparse.Namespace) -> str:
    """Write the CSV file and return a one-line summary of the results."""
    course, records = load_results(options)
    assignment = course.assignment(options.assignment)
    tasks = {task.id: list(task.points) for task in assignment.tasks}
    path = options.csv or course.root / "results" / f"{assignment.name}.csv"
    write_atomically(path, results_table(records, tasks))
    counts = Counter(record.status for record in records)
    summary = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
    return f"{len(records)} submission{'s' * (len(records) != 1)}: {summary}. {path}"
