"""Downloads from Canvas and Moodle become one folder per student."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
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


def packed(folder: Path, names: list[str]) -> Path:
    path = folder / "download.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, f"of {name}")
    return path


def unpacked(folder: Path, names: list[str]) -> Path:
    path = folder / "download"
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(f"of {name}")
    return path


def tree(folder: Path) -> dict[str, list[str]]:
    return {p.name: sorted(f.name for f in p.iterdir()) for p in sorted(folder.iterdir())}


@pytest.mark.parametrize("made", [packed, unpacked])
def test_canvas(made: Callable[[Path, list[str]], Path], tmp_path: Path) -> None:
    to = tmp_path / "to"
    got = import_download(made(tmp_path, CANVAS), to)
    assert tree(to) == {
        "anon_aB3xZ": ["nans.ipynb"],
        "anon_qQ1": ["nans.ipynb"],
        "doejane_4521": ["nans.ipynb", "scratch.pdf"],
        "müllerjosé_17": ["nans.ipynb"],
        "smith2_18": ["Copy of nans.ipynb"],
        "twice_19": ["nans-2.ipynb", "nans.ipynb"],
    }
    assert got.students == sorted(tree(to))
    assert (got.late, got.unknown) == (["anon_qQ1", "müllerjosé_17"], [])
    assert (to / "twice_19/nans-2.ipynb").read_text() == f"of {CANVAS[-1]}"
    found = {s.student: s for s in find_submissions(to, "nans")}
    assert {s.student for s in found.values() if s.path} == set(tree(to))
    assert found["müllerjosé_17"].note is None  # handing in again is nothing odd


@pytest.mark.parametrize("made", [packed, unpacked])
def test_moodle(made: Callable[[Path, list[str]], Path], tmp_path: Path) -> None:
    to = tmp_path / "to"
    inside = [f"course-nans-7/{name}" for name in MOODLE]
    assert import_download(made(tmp_path, inside), to).unknown == []
    assert tree(to) == {
        "Ann Bee_18": ["nans.ipynb"],
        "Jane Doe_4521": ["nans.ipynb", "onlinetext.html"],
        "José van der Müller_17": ["nans.ipynb"],
    }


def test_a_new_submission_replaces_the_old_one(tmp_path: Path) -> None:
    to = tmp_path / "to"
    import_download(packed(tmp_path, CANVAS[:3]), to)
    import_download(packed(tmp_path, ["doejane_4521_99000_nans-1.ipynb"]), to)
    assert tree(to) == {"doejane_4521": ["nans.ipynb"], "müllerjosé_17": ["nans.ipynb"]}
    assert "99000" in (to / "doejane_4521/nans.ipynb").read_text()


def test_files_stay_in_the_folder_and_unknown_ones_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["readme.txt", "../x_1_2_out.ipynb", "__MACOSX/a_1_2_b.ipynb", "a_1_2_..", CANVAS[0]]
    names.append("x_5_assignsubmission_file/../../over.ipynb")
    names.append(f"long_6_7_{'ü' * 250}.ipynb")
    to = tmp_path / "in" / "to"
    assert main(["collect", str(packed(tmp_path, names)), "--to", str(to)]) == 1
    out, err = capsys.readouterr()
    assert "the folders of" in out
    assert "Unknown student: readme.txt" in err
    files = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert {f for f in files if not f.startswith("in/to/")} == {"download.zip"}
    assert tree(to) == {
        "a_1": ["file"],
        "doejane_4521": ["nans.ipynb"],
        "long_6": [f"{'ü' * 60}.ipynb"],
    }


def test_invalid_downloads_change_nothing(tmp_path: Path) -> None:
    to = tmp_path / "to"
    whole = packed(tmp_path, CANVAS[:1])
    import_download(whole, to)
    data = whole.read_bytes()
    for damaged in (data[:-30], data.replace(b"of doejane", b"of nobody!")):
        whole.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"download: .*zip file"):
            import_download(whole, to)
    with pytest.raises(ValueError, match="file names must look like"):
        import_download(unpacked(tmp_path, ["ann.ipynb"]), to)
    with pytest.raises(ValueError, match="must be a folder or a zip file"):
        import_download(tmp_path / "absent.zip", to)
    assert tree(to) == {"doejane_4521": ["nans.ipynb"]}
    assert (to / "doejane_4521/nans.ipynb").read_text() == f"of {CANVAS[0]}"
