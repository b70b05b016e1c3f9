"""Test that a download from Canvas or Moodle is sorted into one folder per student."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest
from jaxbits_grader.cli import main
from jaxbits_grader.intake.lms_import import import_download
from jaxbits_grader.intake.submissions import find_submissions

CANVAS = [
    "doejane_4521_98765_nans.ipynb",
    "doejane_4521_98766_scratch.pdf",
    "müllerjosé_LATE_17_98767_nans-2.ipynb",
    "smith2_18_98768_Copy of nans.ipynb",
    "anon_aB3xZ_98769_nans.ipynb",
    "LATE_anon_qQ1_98770_nans.ipynb",
    "twice_19_98771_nans.ipynb",
    "twice_19_98772_nans-1.ipynb",
]
MOODLE = [
    "Jane Doe_4521_assignsubmission_file/nans.ipynb",
    "Jane Doe_4521_assignsubmission_onlinetext/onlinetext.html",
    "José van der Müller_17_assignsubmission_file_/deep/er/nans.ipynb",
    "Ann Bee_18_assignsubmission_file_nans.ipynb",
]


def write_zip(folder: Path, names: list[str]) -> Path:
    path = folder / "download.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, f"of {name}")
    return path


def write_folder(folder: Path, names: list[str]) -> Path:
    path = folder / "download"
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(f"of {name}")
    return path


def tree(folder: Path) -> dict[str, list[str]]:
    return {p.name: sorted(f.name for f in p.iterdir()) for p in sorted(folder.iterdir())}


@pytest.mark.parametrize("write_download", [write_zip, write_folder])
def test_import_download_sorts_canvas_files(
    write_download: Callable[[Path, list[str]], Path], tmp_path: Path
) -> None:
    target = tmp_path / "to"
    imported = import_download(write_download(tmp_path, CANVAS), target)
    assert tree(target) == {
        "anon_aB3xZ": ["nans.ipynb"],
        "anon_qQ1": ["nans.ipynb"],
        "doejane_4521": ["nans.ipynb", "scratch.pdf"],
        "müllerjosé_17": ["nans.ipynb"],
        "smith2_18": ["Copy of nans.ipynb"],
        "twice_19": ["nans.ipynb", "nans.older-1.ipynb"],
    }
    assert imported.students == sorted(tree(target))
    assert (imported.late, imported.unknown) == (["anon_qQ1", "müllerjosé_17"], [])
    assert (target / "twice_19/nans.ipynb").read_text() == f"of {CANVAS[-1]}"
    found = {s.student: s for s in find_submissions(target, "nans")}
    assert {s.student for s in found.values() if s.path} == set(tree(target))
    assert found["müllerjosé_17"].note is None  # A resubmission needs no note.
    note = "of several notebooks, 'nans.ipynb' was graded, not nans.older-1.ipynb"
    assert found["twice_19"].note == note


VERSIONS = {  # The files of one student, from the newest to the oldest.
    "file_numbers": ["a_1_8004_nans-1.ipynb", "a_1_8001_nans.ipynb"],
    "plain_name_is_newest": ["a_1_8004_nans.ipynb", "a_1_8001_nans-1.ipynb"],
    "numbers_with_more_digits": ["a_1_10_nans.ipynb", "a_1_9_nans.ipynb", "a_1_8_nans.ipynb"],
    "equal_file_numbers": ["a_1_8_nans-10.ipynb", "a_1_8_nans-9.ipynb", "a_1_8_nans.ipynb"],
    "late": ["a_LATE_1_8004_nans.ipynb", "a_LATE_1_8001_nans.ipynb"],
    "anonymous": ["anon_aB3_8004_nans-1.ipynb", "anon_aB3_8001_nans.ipynb"],
    "anonymous_and_late": ["LATE_anon_aB3_10_nans.ipynb", "LATE_anon_aB3_9_nans-3.ipynb"],
}


@pytest.mark.parametrize("write_download", [write_zip, write_folder])
@pytest.mark.parametrize("names", VERSIONS.values(), ids=VERSIONS)
def test_newest_canvas_file_keeps_plain_name(
    names: list[str], write_download: Callable[[Path, list[str]], Path], tmp_path: Path
) -> None:
    for number, order in enumerate(permutations(names)):
        place = tmp_path / str(number)
        place.mkdir()
        import_download(write_download(place, list(order)), place / "to")
        (student,) = (place / "to").iterdir()
        older = [f"nans.older-{n}.ipynb" for n in range(1, len(names))]
        expected = dict(zip(["nans.ipynb", *older], [f"of {name}" for name in names], strict=True))
        assert {path.name: path.read_text() for path in student.iterdir()} == expected
        (submission,) = find_submissions(place / "to", "nans")
        assert submission.path == student / "nans.ipynb"
        assert submission.note is not None
        assert submission.note.endswith(f"was graded, not {', '.join(older)}")


def test_import_download_keeps_every_canvas_file(tmp_path: Path) -> None:
    names = [
        "a_1_5_nans.older-1-1.ipynb",
        "a_1_6_nans.ipynb",
        "a_1_7_nans.ipynb",
        "a_1_7_scratch.pdf",
        "a_1_8_scratch.pdf",
        "b/a_1_7_nans.ipynb",  # This is a second copy of the same version.
    ]
    target = tmp_path / "to"
    import_download(write_zip(tmp_path, names), target)
    texts = {path.name: path.read_text() for path in (target / "a_1").iterdir()}
    assert texts == {
        "nans.ipynb": f"of {names[2]}",
        "nans-2.ipynb": f"of {names[5]}",
        "nans.older-1.ipynb": f"of {names[1]}",
        "nans.older-1-2.ipynb": f"of {names[0]}",
        "scratch.pdf": f"of {names[4]}",
        "scratch.older-1.pdf": f"of {names[3]}",
    }


def test_moodle_files_with_same_name_are_numbered(tmp_path: Path) -> None:
    folder = "Ann Bee_18_assignsubmission_file_"
    names = [f"{folder}/{file}" for file in ("b/nans.ipynb", "a/nans.ipynb", "nans-1.ipynb")]
    target = tmp_path / "to"
    import_download(write_zip(tmp_path, names), target)
    texts = {path.name: path.read_text() for path in (target / "Ann Bee_18").iterdir()}
    numbered = ["nans.ipynb", "nans-2.ipynb", "nans-1.ipynb"]
    assert texts == dict(zip(numbered, [f"of {name}" for name in names], strict=True))


@pytest.mark.parametrize("write_download", [write_zip, write_folder])
def test_import_download_sorts_moodle_files(
    write_download: Callable[[Path, list[str]], Path], tmp_path: Path
) -> None:
    target = tmp_path / "to"
    inside = [f"course-nans-7/{name}" for name in MOODLE]
    assert import_download(write_download(tmp_path, inside), target).unknown == []
    assert tree(target) == {
        "Ann Bee_18": ["nans.ipynb"],
        "Jane Doe_4521": ["nans.ipynb", "onlinetext.html"],
        "José van der Müller_17": ["nans.ipynb"],
    }


def test_import_download_replaces_earlier_submission(tmp_path: Path) -> None:
    target = tmp_path / "to"
    import_download(write_zip(tmp_path, CANVAS[:3]), target)
    import_download(write_zip(tmp_path, ["doejane_4521_99000_nans-1.ipynb"]), target)
    assert tree(target) == {"doejane_4521": ["nans.ipynb"], "müllerjosé_17": ["nans.ipynb"]}
    assert "99000" in (target / "doejane_4521/nans.ipynb").read_text()


def test_collect_stays_in_folder_and_reports_unknown_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["readme.txt", "../x_1_2_out.ipynb", "__MACOSX/a_1_2_b.ipynb", "a_1_2_..", CANVAS[0]]
    names.append("x_5_assignsubmission_file/../../over.ipynb")
    names.append(f"long_6_7_{'ü' * 250}.ipynb")
    target = tmp_path / "in" / "to"
    assert main(["collect", str(write_zip(tmp_path, names)), "--to", str(target)]) == 1
    out, err = capsys.readouterr()
    assert "the folders of" in out
    assert "Not copied, because the name shows no student: readme.txt" in err
    files = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert {f for f in files if not f.startswith("in/to/")} == {"download.zip"}
    assert tree(target) == {
        "a_1": ["file"],
        "doejane_4521": ["nans.ipynb"],
        "long_6": [f"{'ü' * 60}.ipynb"],
    }


def test_import_download_rejects_invalid_download(tmp_path: Path) -> None:
    target = tmp_path / "to"
    download = write_zip(tmp_path, CANVAS[:1])
    import_download(download, target)
    data = download.read_bytes()
    for damaged in (data[:-30], data.replace(b"of doejane", b"of nobody!")):
        download.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"download: .*zip file"):
            import_download(download, target)
    with pytest.raises(ValueError, match=r"file names must look like .* 'grade --submissions'"):
        import_download(write_folder(tmp_path, ["ann.ipynb"]), target)
    with pytest.raises(ValueError, match="must be a folder or a zip file"):
        import_download(tmp_path / "absent.zip", target)
    assert tree(target) == {"doejane_4521": ["nans.ipynb"]}
    assert (target / "doejane_4521/nans.ipynb").read_text() == f"of {CANVAS[0]}"


def test_import_download_creates_folder_that_only_its_owner_can_read(tmp_path: Path) -> None:
    download = write_zip(tmp_path, CANVAS[:1])
    import_download(download, tmp_path / "new" / "to")
    assert (tmp_path / "new" / "to").stat().st_mode & 0o777 == 0o700
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o750)
    import_download(download, tmp_path / "shared")
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o750
