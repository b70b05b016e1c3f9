"""Test the execution of chapters: stored outputs, failures, and messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from book_tools.chapters import execute
from book_tools.chapters.chapter_files import (
    ChapterFileError,
    ChapterFiles,
    describe_difference,
    find_chapters,
    read_source,
    read_stored,
)
from book_tools.environment import pins
from book_tools.files import write_if_changed
from book_tools.lint import lint_chapters

pytestmark = pytest.mark.slow

HEAD = "---\nkernelspec:\n  display_name: Python 3\n  name: python3\n---\n\n# A chapter\n\n"


def cell(source: str, tags: str = "") -> str:
    head = f":tags: [{tags}]\n\n" if tags else ""
    return f"```{{code-cell}} ipython3\n{head}{source}\n```\n\n"


GOOD = HEAD + cell("import sys, os\nprint(os.getcwd(), os.environ['JAX_PLATFORMS'])")
GOOD += cell("print(object())\nprint('late', file=sys.stderr)\nprint('more')\n{'b', 'a'}")
GOOD += cell("# raises: ZeroDivisionError\n1 / 0", "raises-exception")
FAILS = HEAD + cell("x = 1") + cell("def f(x):\n    return x / 0\n\n\nf(x)")
QUIET = HEAD + cell("# raises: ValueError\nx = 1", "raises-exception")
OTHER = HEAD + cell("# raises: ValueError\n[][0]", "raises-exception")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str, str]:
    """Execute four chapters together. Return the folder, the exit status, stdout, and stderr."""
    folder = tmp_path_factory.mktemp("book") / "chapters"
    folder.mkdir()
    chapters = {"01-good": GOOD, "02-fails": FAILS, "03-quiet": QUIET, "04-other": OTHER}
    for name, text in chapters.items():
        (folder / f"{name}.md").write_text(text)
    (folder / "02-fails.ipynb").write_text(
        '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    )
    messages: list[tuple[bool, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pins, "find_departures", list)
        patch.setenv("JAX_PLATFORMS", "nonsense")
        patch.setattr(
            execute, "_report", lambda text, is_error=False: messages.append((is_error, text))
        )
        status = execute.main(["--chapters", str(folder)])
    out, err = (
        "\n".join(text for is_error, text in messages if is_error is wants_error)
        for wants_error in (False, True)
    )
    return folder, status, out, err


def test_execute_stores_chapter_without_machine_details(
    executed: tuple[Path, int, str, str],
) -> None:
    folder, _, out, _ = executed
    assert "01-good: stored, " in out
    text = (folder / "01-good.ipynb").read_text()
    notebook = json.loads(text)
    first, second, third = (c for c in notebook["cells"] if c["cell_type"] == "code")
    assert first["outputs"][0]["text"][0].endswith("chapters cpu\n")
    kinds = [o.get("name", o["output_type"]) for o in second["outputs"]]
    assert kinds == ["stdout", "stderr", "execute_result"]
    assert second["outputs"][0]["text"] == ["<object object at 0x…>\n", "more\n"]
    assert third["outputs"][0]["ename"] == "ZeroDivisionError"
    assert [c["execution_count"] for c in (first, second, third)] == [1, 2, 3]
    assert "\\u001b" not in text
    assert "ipykernel_" not in text
    assert "3.11." not in text


def test_execute_twice_stores_same_bytes(
    executed: tuple[Path, int, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = executed[0]
    before = (folder / "01-good.ipynb").read_bytes()
    monkeypatch.setattr(pins, "find_departures", list)
    assert execute.main(["01", "--chapters", str(folder)]) == 0
    assert (folder / "01-good.ipynb").read_bytes() == before
    assert (
        describe_difference(
            read_source(ChapterFiles(folder / "01-good.md")),
            read_stored(find_chapters(["01"], folder)[0]),
        )
        is None
    )


def test_execute_names_failed_cell_and_keeps_old_notebook(
    executed: tuple[Path, int, str, str],
) -> None:
    folder, status, _, err = executed
    assert status == 1
    assert json.loads((folder / "02-fails.ipynb").read_text())["cells"] == []
    assert "02-fails: failed (the stored notebook has not changed)" in err
    assert "02-fails.md, code cell 2: def f(x):\n  line 2     return x / 0\n" in err
    assert "  ZeroDivisionError: division by zero" in err


def test_execute_requires_declared_error_in_tagged_cell(
    executed: tuple[Path, int, str, str],
) -> None:
    folder, _, _, err = executed
    assert "is tagged raises-exception but raised no error" in err
    assert "raised IndexError, but its comment says ValueError" in err
    assert not list(folder.glob("0[34]*.ipynb"))


def test_execute_check_reports_edited_cell(
    executed: tuple[Path, int, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("01-good.md", "01-good.ipynb"):
        (tmp_path / name).write_bytes((executed[0] / name).read_bytes())
    assert execute.main(["--check", "--chapters", str(tmp_path)]) == 0
    (tmp_path / "01-good.md").write_text(GOOD.replace("1 / 0", "2 / 0"))
    assert execute.main(["--check", "--chapters", str(tmp_path)]) == 1
    expected = (
        "cell 4 (# raises: ZeroDivisionError) has been edited; run: make chapter NAME=01-good"
    )
    assert expected in capsys.readouterr().err
    assert lint_chapters(tmp_path, "") == [f"chapters/01-good.md: {expected}"]


def test_execute_stores_nothing_in_different_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "01-good.md").write_text(GOOD)
    monkeypatch.setattr(pins, "find_departures", lambda: ["jax 0.7.2 instead of 0.10.2"])
    assert execute.main(["--chapters", str(tmp_path)]) == 1
    assert "and this one has jax 0.7.2 instead of 0.10.2." in capsys.readouterr().err
    assert not (tmp_path / "01-good.ipynb").exists()


def test_find_departures_names_python_and_packages(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.txt"
    lock.write_text("jax==9.9\nflax_nothing==1\n")
    found = pins.find_departures(lock, (3, 12))
    assert found[0] == "Python 3.12 instead of 3.11"
    assert found[1].endswith(" instead of 9.9")
    assert len(found) == 2


def test_find_chapters_by_name(tmp_path: Path) -> None:
    for name in ("01-one", "02-two", "02-too"):
        (tmp_path / f"{name}.md").write_text(GOOD)
    assert [p.name for p in find_chapters(["chapters/01-one.md", "01"], tmp_path)] == ["01-one"]
    with pytest.raises(
        ChapterFileError, match=r"NAME must match exactly one chapter among 01-one.*; got '02'"
    ):
        find_chapters(["02"], tmp_path)


def test_read_source_and_read_stored_name_invalid_file(tmp_path: Path) -> None:
    (tmp_path / "01-bad.md").write_text("---\na: [\n---\n\n# Bad\n")
    with pytest.raises(ChapterFileError, match=r"01-bad\.md cannot be read as MyST text"):
        read_source(ChapterFiles(tmp_path / "01-bad.md"))
    (tmp_path / "01-bad.ipynb").write_text("{")
    with pytest.raises(ChapterFileError, match=r"01-bad\.ipynb is not a notebook"):
        read_stored(ChapterFiles(tmp_path / "01-bad.md"))


def test_write_if_changed_never_writes_partial_file(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "a"
    assert write_if_changed(file, "one")
    before = file.stat().st_mtime_ns
    assert not write_if_changed(file, "one")
    assert file.stat().st_mtime_ns == before
    with pytest.raises(UnicodeEncodeError):
        write_if_changed(file, "\ud800")
    assert file.read_text() == "one"
    assert write_if_changed(file, "two")
    assert list(file.parent.iterdir()) == [file]
