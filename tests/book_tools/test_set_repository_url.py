"""Test that every file containing the project's address agrees with pyproject.toml."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from book_tools import project_metadata
from book_tools.website import set_repository_url

pytestmark = pytest.mark.slow

NEW = "https://github.com/Some-One/sharp.bits"
SITE = "https://some-one.github.io/sharp.bits/"
SOMEONE = "someone"
GENERATED_FOLDERS = {"_build", "build", "dist", "__pycache__", "node_modules"}
# The owners that appear in placeholders and in these tests' addresses.
EXAMPLES = {"owner", "Owner", "some-one", "Some-One"}


def project_files(folder: Path) -> Iterator[Path]:
    """Yield the project's own files without using Git, so that tests also run outside a clone."""
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") and path.name not in {".ci", ".github", ".gitignore"}
        if hidden or path.name in GENERATED_FOLDERS or path.name.endswith(".egg-info"):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from project_files(path)
        elif path.is_file():
            yield path


def find_owners(text: str, name: str) -> set[str]:
    """Return the owners of all GitHub Pages sites and repositories that a string refers to."""
    pages = re.findall(r"([\w-]+)\.github\.io", text)
    repositories = re.findall(
        rf"github\.com[/:]([\w.-]+)/(?:{re.escape(name)}|jax-sharp-bits)\b", text
    )
    installed = re.findall(r"git\+https?://[\w.]+/([\w.-]+)/", text)
    return {*pages, *repositories, *installed} - EXAMPLES


def test_project_files_contain_no_other_address() -> None:
    here = project_metadata.repository_url()
    owner, name = here.split("/")[-2:] if here else ("", "jax-sharp-bits")
    wrong = []
    for path in project_files(project_metadata.ROOT):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = find_owners(text, name)
        if path.relative_to(project_metadata.ROOT).as_posix() in set_repository_url.FILES:
            found -= {owner, owner.lower()}
        if found:
            wrong.append(f"{path.relative_to(project_metadata.ROOT)}: {sorted(found)}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        f"see https://{SOMEONE}.github.io/book",
        f"git clone https://github.com/{SOMEONE}/jax-sharp-bits",
        f'pip install "jaxbits @ git+https://github.com/{SOMEONE}/other@v1"',
        f"git@github.com:{SOMEONE}/jax-sharp-bits.git",
    ],
)
def test_find_owners_recognizes_every_form_of_address(text: str) -> None:
    assert find_owners(text, "jax-sharp-bits") == {SOMEONE}


def test_files_agree_with_repository_url() -> None:
    here = project_metadata.repository_url()
    for name, rewritten in set_repository_url.FILES.items():
        text = (project_metadata.ROOT / name).read_text("utf8")
        assert rewritten(text, here) == text, f"{name}: run make address"
    citation = yaml.safe_load((project_metadata.ROOT / "CITATION.cff").read_text("utf8"))
    assert citation["version"] == project_metadata.package_version()
    assert citation.get("repository-code") == here


@pytest.fixture
def project_copy(tmp_path: Path) -> Path:
    """Copy the files that contain the address, and remove the address from the copies."""
    for name in set_repository_url.FILES:
        shutil.copy(project_metadata.ROOT / name, tmp_path)
    set_repository_url.write_url(None, tmp_path)
    return tmp_path


def read_files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf8") for path in folder.iterdir()}


def test_set_repository_url_writes_and_removes_address(
    project_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = read_files(project_copy)
    assert project_metadata.repository_url(project_copy) is None
    assert set_repository_url.main([NEW + ".git/"], project_copy) == 0
    output = capsys.readouterr().out
    assert f"The project is at {NEW}, and its book will be at {SITE}: changed" in output
    assert project_metadata.repository_url(project_copy) == NEW
    with (project_copy / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["urls"] == {
            "Documentation": SITE,
            "Repository": NEW,
            "Issues": f"{NEW}/issues",
            "Changelog": f"{NEW}/blob/main/CHANGELOG.md",
        }
    citation = yaml.safe_load((project_copy / "CITATION.cff").read_text("utf8"))
    assert (citation["repository-code"], citation["url"]) == (NEW, SITE)
    assert f"<{SITE}>" in (project_copy / "README.md").read_text("utf8")
    assert set_repository_url.main([NEW], project_copy) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert set_repository_url.main(["https://github.com/other/name"], project_copy) == 0
    assert NEW not in "".join(read_files(project_copy).values())
    assert set_repository_url.main(["none"], project_copy) == 0
    assert "The project has no address: changed" in capsys.readouterr().out
    assert read_files(project_copy) == before


@pytest.mark.parametrize("arguments", [[], [""]])
def test_set_repository_url_prints_usage_without_url(
    project_copy: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = read_files(project_copy)
    assert set_repository_url.main(arguments, project_copy) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "make address URL=https://github.com/owner/name" in line
    assert "URL=none" in line
    assert read_files(project_copy) == before


@pytest.mark.parametrize(
    "url",
    ["github.com/a/b", "https://github.com/a", "https://example.org/a/b", "https://github.com/a/b/c",
     "https://github.com/-a/b", "https://github.com/a/..", "https://github.com/a b/c"],
)  # fmt: skip
def test_set_repository_url_rejects_invalid_url(
    project_copy: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_repository_url.main([url], project_copy) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"URL must be a repository on GitHub, https://github.com/owner/name, got {url!r}"
    assert project_metadata.repository_url(project_copy) is None
