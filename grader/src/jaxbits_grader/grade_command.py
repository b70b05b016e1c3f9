"""The verb ``grade``: from a folder of submissions to a CSV."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from tqdm import tqdm

from jaxbits_grader import worker_pool as pool
from jaxbits_grader.files import write_file
from jaxbits_grader.grade_submission import Job
from jaxbits_grader.gradebook import course as course_of
from jaxbits_grader.gradebook import manual_points as gradebook
from jaxbits_grader.gradebook.course import Course
from jaxbits_grader.intake import submissions
from jaxbits_grader.intake.submissions import Submission
from jaxbits_grader.reporting import feedback_pages as pages
from jaxbits_grader.reporting import grade_records as results
from jaxbits_grader.reporting.grade_records import Record
from jaxbits_grader.running import sandbox
from jaxbits_grader.running.limits import Limits
from jaxbits_grader.running.sandbox_check import probe


def main(options: argparse.Namespace) -> int:
    """Grade what the options name, write the CSV, and say what came of it."""
    course = course_of.opened(options.course)
    assignment = course.assignment(options.assignment)
    found = submissions.find(options.submissions, assignment.name)
    if options.student:
        found = _only(found, options.student, options.submissions)
    if not options.unsafe:
        for path in (course.root, options.submissions):
            sandbox.hides(path)
        probe()
    limits = Limits(**{field.name: getattr(options, field.name) for field in fields(Limits)})
    jobs = [Job(course, assignment.name, s, limits, options.unsafe) for s in found]
    with tqdm(total=len(jobs), unit="submission", disable=options.quiet or None) as bar:

        def tell(record: Record) -> None:
            bar.update()
            bar.set_postfix_str(f"{record.student[:20]}: {record.status}")

        try:
            records = pool.grade(jobs, options.workers, again=options.again, tell=tell)
        except KeyboardInterrupt:
            if not options.student:
                collect(options)
            raise
    if options.student:
        for record in records:
            score = "" if record.score is None else f" {record.score:g} of {record.max_score:g}"
            print(f"{record.student}: {record.status}{score}; {'; '.join(record.notes)}"[:500])
        print("The table is as it was: 'results' in place of 'grade' writes it anew.")
        return 0
    print(collect(options))
    return 0


def _only(found: list[Submission], students: Iterable[str], folder: Path) -> list[Submission]:
    by_name = {submission.student: submission for submission in found}
    if unknown := [student for student in students if student not in by_name]:
        raise ValueError(f"student: {folder} has no submission of {', '.join(unknown)}")
    return [by_name[student] for student in dict.fromkeys(students)]


def collected(options: argparse.Namespace) -> tuple[Course, list[Record]]:
    """The course, and a record for each submission in the folder, with the marks by hand.

    The pages of students are brought up to date with them.
    """
    course = course_of.opened(options.course)
    assignment = course.assignment(options.assignment)
    points = {id: float(of) for task in assignment.tasks for id, of in task.points.items()}
    by_hand = gradebook.by_hand(course, assignment)
    source = submissions.digest(course.source(assignment.name))
    records = []
    for submission in submissions.find(options.submissions, assignment.name):
        path = course.results(assignment.name) / f"{submission.id}.json"
        record = results.read(path)
        why = None if record else "not graded yet"
        if record and record.submission != submission.digest:
            why = "not graded since it was handed in anew"
        elif record and record.source != source:
            why = "not graded since the assignment was changed"
        if record is None or why:
            record = Record(submission.student, "failed", (why or "",), (), assignment.points)
        given = by_hand.get(submission.id, {})
        record = gradebook.with_marks_by_hand(record, given, points)
        pages.bring_up_to_date(course, assignment, submission.id, record, given)
        records.append(record)
    return course, records


def collect(options: argparse.Namespace) -> str:
    """Write the CSV; return what a person wants to know of it."""
    course, records = collected(options)
    assignment = course.assignment(options.assignment)
    tasks = {task.id: list(task.points) for task in assignment.tasks}
    path = options.csv or course.root / "results" / f"{assignment.name}.csv"
    write_file(path, results.table(records, tasks))
    counts = Counter(record.status for record in records)
    said = ", ".join(f"{counts[status]} {status}" for status in results.STATUSES if counts[status])
    return f"{len(records)} submissions: {said}. {path}"
