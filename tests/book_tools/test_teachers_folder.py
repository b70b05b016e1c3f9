"""Test the folder with solutions and wrong answers that only teachers should see."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from jaxbits_grader.authoring.assignment_source import find_assignments, read_assignment
from jaxbits_grader.authoring.reference_answers import read_answers
from jaxbits_grader.authoring.variants import write_variants

from book_tools.project_metadata import ROOT
from book_tools.teachers.assignment_discussions import read_reveals
from book_tools.teachers.exercise_discussions import read_discussions
from book_tools.teachers.private_folder import TeachersError, check_target, write_folder
from book_tools.website.build import input_files

ASSIGNMENTS = {folder.name: folder for folder in find_assignments(ROOT / "assignments")}
STEMS = sorted(path.stem for path in ROOT.glob("chapters/*.md"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("teachers")
    write_folder(to, seed="a test")
    return to


def test_folder_has_solution_and_discussion_of_each_assignment(folder: Path) -> None:
    for name, source in ASSIGNMENTS.items():
        text = (folder / "wrong-answers" / f"{name}.md").read_text("utf8")
        answers = read_answers(source, read_assignment(source))
        for answer in answers:
            assert answer.description in text
            assert answer.source in text
        solved = (folder / "solutions" / f"{name}.ipynb").read_text("utf8")
        assert "NotImplementedError" not in solved
        assert "HIDDEN TESTS" not in solved


def test_folder_has_discussion_of_each_exercise(folder: Path) -> None:
    for stem in STEMS:
        text = (folder / "exercises" / f"{stem}.md").read_text("utf8")
        chapter = (ROOT / "chapters" / f"{stem}.md").read_text("utf8")
        headings = re.findall(r"^### (\d+ · .+)$", chapter, re.M)
        assert re.findall(r"^## (.+)$", text, re.M) == headings
        assert text.count("**Solution**") == len(headings)


@pytest.mark.parametrize("stem", STEMS)
def test_exercises_have_wrong_answers_with_messages(stem: str) -> None:
    for discussion in read_discussions(stem, ROOT):
        assert len(discussion.wrong) >= 2
        assert discussion.hints
        for answer in discussion.wrong:
            assert answer.message
            compile(answer.source, "answer", "exec")


def test_wrong_answers_show_the_helpers_that_they_use() -> None:
    discussion = list(read_discussions("04-out-of-bounds", ROOT))[1]
    sources = [answer.source for answer in discussion.wrong]
    assert any(
        re.search(r"^def cross_entropy\(.*^lambda s, labels: cross_entropy\(", source, re.M | re.S)
        for source in sources
    )


def test_what_wrong_answers_reveal_matches_the_answers() -> None:
    for name, tasks in read_reveals().items():
        source = ASSIGNMENTS[name]
        answers = read_answers(source, read_assignment(source))
        for task, sentences in tasks.items():
            wrong = {a.description for a in answers if a.task == task and not a.is_right}
            assert set(sentences) <= wrong, f"{name}.{task}"


def test_second_run_keeps_an_edited_variant(folder: Path) -> None:
    source = folder / "assignments" / "nans" / "source.md"
    edited = source.read_text("utf8").replace("title: ", "title: My ", 1)
    source.write_text(edited, encoding="utf-8")
    changed = write_folder(folder, seed="another seed")
    assert source.read_text("utf8") == edited
    assert {path.name for path in changed} == {"nans.md", "nans.ipynb"}
    assert "# My " in (folder / "wrong-answers" / "nans.md").read_text("utf8")


def test_folder_has_the_solutions_of_an_existing_variant(tmp_path: Path) -> None:
    variant, to = tmp_path / "private", tmp_path / "teachers"
    write_variants(ASSIGNMENTS["nans"], variant, "a seed")
    source = variant / "nans" / "source.md"
    edited = source.read_text("utf8").replace("title: ", "title: My ", 1)
    source.write_text(edited, encoding="utf-8")
    write_folder(to, variant=variant)
    assert source.read_text("utf8") == edited
    assert "# My " in (to / "wrong-answers" / "nans.md").read_text("utf8")
    assert [path.name for path in (to / "solutions").iterdir()] == ["nans.ipynb"]
    assert not (to / "assignments").exists()
    assert "`assignments`" not in (to / "README.md").read_text("utf8")


def test_only_the_owner_can_read_the_folder(tmp_path: Path) -> None:
    variant = tmp_path / "private"
    write_variants(ASSIGNMENTS["nans"], variant, "a seed")
    existing = tmp_path / "existing"
    existing.mkdir()
    existing.chmod(0o755)
    for to in (tmp_path / "new" / "teachers", existing):
        write_folder(to, variant=variant)
        assert to.stat().st_mode & 0o777 == 0o700


def test_folder_without_assignments_is_no_variant(tmp_path: Path) -> None:
    with pytest.raises(TeachersError, match="--from must contain assignments"):
        write_folder(tmp_path / "teachers", variant=tmp_path)


def test_variant_differs_from_public_assignments(folder: Path) -> None:
    sources = {path.parent.name: path.read_text("utf8") for path in folder.glob("*/*/source.md")}
    assert set(sources) == set(ASSIGNMENTS)
    public = {name: (path / "source.md").read_text("utf8") for name, path in ASSIGNMENTS.items()}
    assert all(text != public[name] for name, text in sources.items())


@pytest.mark.parametrize("name", [".", "_build/html", "_build/html/teachers", "reference", "docs"])
def test_check_target_rejects_folders_that_could_be_published(name: str) -> None:
    with pytest.raises(TeachersError, match="must be outside"):
        check_target(ROOT / name)


def test_own_folder_is_neither_committed_nor_built(tmp_path: Path) -> None:
    check_target(ROOT / "teachers")
    check_target(tmp_path)
    assert not [path for path in input_files() if "teachers" in path.relative_to(ROOT).parts[:1]]
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("needs a Git repository")
    command = ["git", "-C", str(ROOT), "check-ignore", "--quiet", "teachers/README.md"]
    assert subprocess.run(command).returncode == 0
