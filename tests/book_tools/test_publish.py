"""Test publishing the book to a local Git repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from book_tools import project_metadata
from book_tools.website import library_wheel, publish, set_repository_url

pytestmark = pytest.mark.slow

REPOSITORY = "https://github.com/owner/name"


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create an empty remote repository and a project whose library has one file."""
    root = tmp_path / "project"
    (root / "src" / "jaxbits").mkdir(parents=True)
    (root / "src" / "jaxbits" / "__init__.py").write_text('__version__ = "0.1.0"\n')
    (root / ".gitignore").write_text("_build/\n")
    for name in ("LICENSE", *set_repository_url.FILES):
        shutil.copy(project_metadata.ROOT / name, root)
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    git(root, "init", "--quiet", "--initial-branch=main")
    set_repository_url.write_url(REPOSITORY, root)
    commit(root)
    return root


def commit(root: Path) -> None:
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "Change")


def build_book(root: Path, text: str) -> Path:
    """Build a one-page book and its wheel, and return the book's folder."""
    html = root / "_build" / "html"
    (html / "_static").mkdir(parents=True, exist_ok=True)
    (html / "index.html").write_text(text)
    repository = project_metadata.repository_url(root)
    library_wheel.build_wheel(
        html, project_metadata.site_url(repository) if repository else None, repository, root
    )
    return html


def published_files(remote: Path) -> dict[str, str]:
    """Return the object hashes of the published files, keyed by path."""
    listed = git(remote, "ls-tree", "-r", project_metadata.BRANCH).splitlines()
    return {line.split("\t")[1]: line.split()[2] for line in listed}


def test_publish_book_adds_commit_and_keeps_old_wheels(root: Path) -> None:
    remote = root.parent / "remote.git"
    html = build_book(root, "first")
    assert publish.publish_book(html, str(remote), root).startswith("Published ")
    first = published_files(remote)
    (first_wheel,) = [name for name in first if name.startswith("wheels/")]
    assert {"index.html", ".nojekyll"} <= set(first)

    (root / "src" / "jaxbits" / "__init__.py").write_text('__version__ = "0.1.0"\nx = 1\n')
    commit(root)
    html = build_book(root, "second")
    (html / "new.html").touch()
    publish.publish_book(html, str(remote), root)
    second = published_files(remote)
    assert len([name for name in second if name.startswith("wheels/")]) == 2
    assert second[first_wheel] == first[first_wheel]
    assert second["index.html"] != first["index.html"]
    assert git(remote, "rev-list", "--count", project_metadata.BRANCH).strip() == "2"
    source = git(root, "log", "-1", "--format=%h").strip()
    assert (
        git(remote, "log", "-1", "--format=%s", project_metadata.BRANCH).strip()
        == f"Publish {source}"
    )
    assert git(root, "status", "--porcelain") == ""

    (html / "new.html").unlink()
    publish.publish_book(html, str(remote), root)
    assert "new.html" not in published_files(remote)
    assert "Nothing has changed" in publish.publish_book(html, str(remote), root)


def test_publish_does_nothing_without_address(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_repository_url.write_url(None, root)
    html = build_book(root, "page")
    remote = root.parent / "remote.git"
    assert publish.main(["--html", str(html), "--remote", str(remote)], root) == 0
    assert "Not published: the project has no address" in capsys.readouterr().out
    assert git(remote, "branch", "--list") == ""


def test_publish_rejects_book_built_for_different_address(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html = build_book(root, "page")
    other = "https://github.com/other/name"
    set_repository_url.write_url(other, root)
    remote = root.parent / "remote.git"
    assert publish.main(["--html", str(html), "--remote", str(remote)], root) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        f"does not contain the book built for {project_metadata.site_url(other)}; run: make book"
        in line
    )


def test_publish_reports_missing_remote_in_one_line(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html = build_book(root, "page")
    assert publish.main(["--html", str(html), "--remote", str(root / "nowhere")], root) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("git ls-remote failed: ")
