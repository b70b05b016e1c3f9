"""Test that a download from Canvas or Moodle is sorted into one folder per student."""

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
        "twice_19": ["nans-2.ipynb", "nans.ipynb"],
    }
    assert imported.students == sorted(tree(target))
    assert (imported.late, imported.unknown) == (["anon_qQ1", "müllerjosé_17"], [])
    assert (target / "twice_19/nans-2.ipynb").read_text() == f"of {CANVAS[-1]}"
    found = {s.student: s for s in find_submissions(target, "nans")}
    assert {s.student for s in found.values() if s.path} == set(tree(target))
    assert found["müllerjosé_17"].note is None  # A resubmission needs no note.


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
    assert "Unknown student: readme.txt" in err
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
    with pytest.raises(ValueError, match="file names must look like"):
        import_download(write_folder(tmp_path, ["ann.ipynb"]), target)
    with pytest.raises(ValueError, match="must be a folder or a zip file"):
        import_download(tmp_path / "absent.zip", target)
    assert tree(target) == {"doejane_4521": ["nans.ipynb"]}
    assert (target / "doejane_4521/nans.ipynb").read_text() == f"of {CANVAS[0]}"
