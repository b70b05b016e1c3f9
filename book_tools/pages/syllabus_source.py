"""Read the syllabus in ``reference/syllabus.toml``, and check that it respects prerequisites."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book_tools.pages.chapter_openings import Opening
from book_tools.project_metadata import ROOT

SOURCE = "reference/syllabus.toml"
LAB_MINUTES = 90
_LAST_WEEK_OF_FIRST_TRAINING = 3


class SyllabusError(ValueError):
    """Raised if the syllabus breaks a rule. The message names the session or the version."""


@dataclass(frozen=True)
class Session:
    """What students learn in one week.

    Attributes:
        id: The name by which versions refer to the session.
        title: The title on the page.
        chapters: The stems of the chapters to read, in order.
        outcomes: What students can do afterward, each as the end of "You can …".
        lab: The steps of the lab, each as its duration in minutes and its description.
        discuss: Questions for the class, each with the stem of the chapter that it is about.
        question: A question for an oral exam.
        answer: What a good answer says.
    """

    id: str
    title: str
    chapters: tuple[str, ...]
    outcomes: tuple[str, ...]
    lab: tuple[tuple[int, str], ...]
    discuss: tuple[tuple[str, str], ...]
    question: str
    answer: str

    @property
    def schedule(self) -> Iterator[tuple[int, int, str]]:
        """The steps of the lab, each with the minutes at which it begins and ends."""
        begin = 0
        for minutes, step in self.lab:
            yield begin, begin + minutes, step
            begin += minutes


@dataclass(frozen=True)
class Version:
    """A version of the course.

    Attributes:
        name: The title of the version.
        for_whom: One or two sentences on what the version is for.
        sessions: The id of each week's session.
        hand_in: The assignments to hand in each week. Students choose one if there are several.
        project_from: The week from which students work on the final project, or 0.
    """

    name: str
    for_whom: str
    sessions: tuple[str, ...]
    hand_in: tuple[tuple[str, ...], ...]
    project_from: int


@dataclass(frozen=True)
class Syllabus:
    """The sessions of the course and the versions that use them.

    Attributes:
        training: The id of the session in which students train a model for the first time.
        sessions: The sessions, keyed by id, in the order in which versions use them.
        versions: The versions of the course.
        builds_on: The stems of the chapters that an assignment uses, keyed by the assignment.
        also_sharp: The subsections of *Also sharp* that an assignment needs, each as its chapter's
            stem and its title, keyed by the assignment.
    """

    training: str
    sessions: Mapping[str, Session]
    versions: tuple[Version, ...]
    builds_on: Mapping[str, tuple[str, ...]]
    also_sharp: Mapping[str, tuple[tuple[str, str], ...]]

    def questions(self, stem: str) -> list[str]:
        """Return the questions about a chapter."""
        every = (pair for session in self.sessions.values() for pair in session.discuss)
        return [question for chapter, question in every if chapter == stem]


def read_syllabus(root: Path = ROOT) -> Syllabus:
    """Return the syllabus.

    Raises:
        SyllabusError: If a part of a session or a version is missing.
    """
    return parse_syllabus((root / SOURCE).read_text("utf8"))


def parse_syllabus(text: str) -> Syllabus:
    """Return the syllabus that a TOML text describes.

    Raises:
        SyllabusError: If a part of a session or a version is missing.
    """
    data = tomllib.loads(text)
    sessions = {session.id: session for session in map(_parse_session, data["sessions"])}
    return Syllabus(
        training=data["training"],
        sessions=sessions,
        versions=tuple(_parse_version(one, sessions) for one in data["versions"]),
        builds_on={name: tuple(stems) for name, stems in data["assignments"].items()},
        also_sharp={
            name: tuple((stem, title) for stem, title in parts)
            for name, parts in data["also_sharp"].items()
        },
    )


def _parse_session(data: Mapping[str, Any]) -> Session:
    where = f"session {data.get('id', 'without an id')!r}"
    for part in ("id", "title", "chapters", "outcomes", "lab", "discuss", "oral"):
        if not data.get(part):
            raise SyllabusError(f"{where} has no {part}")
    for part in ("question", "answer"):
        if not data["oral"].get(part):
            raise SyllabusError(f"{where} has no oral {part}")
    if (total := sum(minutes for minutes, _ in data["lab"])) != LAB_MINUTES:
        raise SyllabusError(f"{where}: the lab must take {LAB_MINUTES} minutes, got {total}")
    return Session(
        id=data["id"],
        title=data["title"],
        chapters=tuple(data["chapters"]),
        outcomes=tuple(data["outcomes"]),
        lab=tuple((minutes, step) for minutes, step in data["lab"]),
        discuss=tuple((one["chapter"], one["question"]) for one in data["discuss"]),
        question=data["oral"]["question"],
        answer=data["oral"]["answer"],
    )


def _parse_version(data: Mapping[str, Any], sessions: Mapping[str, Session]) -> Version:
    if unknown := set(data["sessions"]) - set(sessions):
        raise SyllabusError(f"{data['name']}: unknown sessions {sorted(unknown)}")
    if len(data["hand_in"]) != len(data["sessions"]):
        raise SyllabusError(
            f"{data['name']}: hand_in must have one entry for each of the "
            f"{len(data['sessions'])} weeks, got {len(data['hand_in'])}"
        )
    return Version(
        name=data["name"],
        for_whom=data["for_whom"],
        sessions=tuple(data["sessions"]),
        hand_in=tuple(map(tuple, data["hand_in"])),
        project_from=data["project_from"],
    )


def find_problems(syllabus: Syllabus, openings: Mapping[str, Opening]) -> Iterator[str]:
    """Yield a message for each prerequisite that a version of the course does not respect.

    Args:
        syllabus: The syllabus.
        openings: The openings of all chapters, keyed by stem.
    """
    for session in syllabus.sessions.values():
        for stem in session.chapters:
            if stem not in openings:
                yield f"session {session.id!r}: there is no chapter {stem!r}"
        asked = {chapter for chapter, _ in session.discuss}
        if asked != set(session.chapters):
            yield f"session {session.id!r}: the questions must be about its chapters, got {asked}"
    for name, parts in syllabus.also_sharp.items():
        for stem, title in parts:
            if stem not in syllabus.builds_on.get(name, ()):
                yield f"{name} needs {title!r} in {stem}, but does not build on this chapter"
    for version in syllabus.versions:
        yield from _find_version_problems(version, syllabus, openings)


def _find_version_problems(
    version: Version, syllabus: Syllabus, openings: Mapping[str, Opening]
) -> Iterator[str]:
    read: list[str] = []
    for week, (name, assignments) in enumerate(
        zip(version.sessions, version.hand_in, strict=True), 1
    ):
        for stem in syllabus.sessions[name].chapters:
            if stem in read:
                yield f"{version.name}, week {week}: {stem} has been read before"
            for need in openings[stem].needs if stem in openings else ():
                if need not in read:
                    yield f"{version.name}, week {week}: {stem} needs {need}, which comes later"
            read.append(stem)
        for assignment in assignments:
            if assignment not in syllabus.builds_on:
                yield f"{version.name}, week {week}: what does {assignment} build on?"
            for need in syllabus.builds_on.get(assignment, ()):
                if need not in read:
                    yield f"{version.name}, week {week}: {assignment} needs {need}"
    weeks = version.sessions
    if syllabus.training not in weeks[:_LAST_WEEK_OF_FIRST_TRAINING]:
        yield f"{version.name}: no model is trained in the first three weeks"
