"""Test that pyproject.toml contains the only address, and that the files repeating it agree."""

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
MADE = {"_build", "build", "dist", "__pycache__", "node_modules"}
# Placeholder names, and the names that these tests use.
EXAMPLES = {"owner", "Owner", "some-one", "Some-One"}


def tracked(folder: Path) -> Iterator[Path]:
    """Return the project's own files, with or without git."""
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") and path.name not in {".ci", ".github", ".gitignore"}
        if hidden or path.name in MADE or path.name.endswith(".egg-info"):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from tracked(path)
        elif path.is_file():
            yield path


def addresses_in(text: str, name: str) -> set[str]:
    """Return the addresses of GitHub pages and repositories in a text."""
    pages = re.findall(r"([\w-]+)\.github\.io", text)
    repositories = re.findall(
        rf"github\.com[/:]([\w.-]+)/(?:{re.escape(name)}|jax-sharp-bits)\b", text
    )
    installed = re.findall(r"git\+https?://[\w.]+/([\w.-]+)/", text)
    return {*pages, *repositories, *installed} - EXAMPLES


def test_no_file_contains_an_address_that_the_project_does_not_have() -> None:
    here = project_metadata.repository_url()
    owner, name = here.split("/")[-2:] if here else ("", "jax-sharp-bits")
    wrong = []
    for path in tracked(project_metadata.ROOT):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = addresses_in(text, name)
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
def test_each_form_of_an_address_would_be_found(text: str) -> None:
    assert addresses_in(text, "jax-sharp-bits") == {SOMEONE}


def test_the_files_that_contain_it_agree() -> None:
    here = project_metadata.repository_url()
    for name, rewritten in set_repository_url.FILES.items():
        text = (project_metadata.ROOT / name).read_text("utf8")
        assert rewritten(text, here) == text, f"{name}: run make address"
    citation = yaml.safe_load((project_metadata.ROOT / "CITATION.cff").read_text("utf8"))
    assert citation["version"] == project_metadata.package_version()
    assert citation.get("repository-code") == here


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the files that contain the address, of a project without one."""
    for name in set_repository_url.FILES:
        shutil.copy(project_metadata.ROOT / name, tmp_path)
    set_repository_url.write_url(None, tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf8") for path in folder.iterdir()}


def test_an_address_is_written_and_removed_again(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(copy)
    assert project_metadata.repository_url(copy) is None
    assert set_repository_url.main([NEW + ".git/"], copy) == 0
    said = capsys.readouterr().out
    assert f"The project is at {NEW}, and its book will be at {SITE}: changed" in said
    assert project_metadata.repository_url(copy) == NEW
    with (copy / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["urls"] == {
            "Documentation": SITE,
            "Repository": NEW,
            "Issues": f"{NEW}/issues",
            "Changelog": f"{NEW}/blob/main/CHANGELOG.md",
        }
    citation = yaml.safe_load((copy / "CITATION.cff").read_text("utf8"))
    assert (citation["repository-code"], citation["url"]) == (NEW, SITE)
    assert f"<{SITE}>" in (copy / "README.md").read_text("utf8")
    assert set_repository_url.main([NEW], copy) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert set_repository_url.main(["https://github.com/other/name"], copy) == 0
    assert NEW not in "".join(contents(copy).values())
    assert set_repository_url.main(["none"], copy) == 0
    assert "The project has no address: changed" in capsys.readouterr().out
    assert contents(copy) == before


@pytest.mark.parametrize("arguments", [[], [""]])
def test_without_url_it_says_what_to_write(
    copy: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(copy)
    assert set_repository_url.main(arguments, copy) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "make address URL=https://github.com/owner/name" in line
    assert "URL=none" in line
    assert contents(copy) == before


@pytest.mark.parametrize(
    "url",
    ["github.com/a/b", "https://github.com/a", "https://example.org/a/b", "https://github.com/a/b/c",
     "https://github.com/-a/b", "https://github.com/a/..", "https://github.com/a b/c"],
)  # fmt: skip
def test_an_address_that_cannot_be(
    copy: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_repository_url.main([url], copy) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"URL must be a repository on GitHub, https://github.com/owner/name, got {url!r}"
    assert project_metadata.repository_url(copy) is None
