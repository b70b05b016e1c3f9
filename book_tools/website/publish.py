"""Push the built book, as one commit, to the branch that GitHub Pages serves.

    python -m book_tools publish                     as the workflow does on each push to main
    python -m book_tools publish --remote upstream

One commit contains the pages, the notebooks, and the library's wheel, so they always come from the
same state of the project. The wheels from earlier publications stay on the branch, because
notebooks that people downloaded earlier install them. If the project has no address, nothing is
published.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from book_tools import project_metadata
from book_tools.processes import last_line
from book_tools.website import library_wheel

HTML = project_metadata.ROOT / "_build" / "html"
KEPT = (library_wheel.FOLDER, "CNAME")
"""The files and folders on the branch that the next publication keeps."""


class PublishError(RuntimeError):
    """Raised if the book cannot be published. The message says why."""


def _git(root: Path, *arguments: str, **environment: str) -> str:
    """Run git and return what it prints. If it fails, raise a PublishError with its message."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=root,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise PublishError(f"git {arguments[0]} failed: {last_line(done.stderr)}")
    return done.stdout.strip()


def _published(root: Path, remote: str) -> str | None:
    """Return the published commit, or None if the book has not been published yet."""
    if not _git(root, "ls-remote", "--heads", remote, project_metadata.BRANCH):
        return None
    _git(root, "fetch", "--quiet", "--depth=1", remote, project_metadata.BRANCH)
    return _git(root, "rev-parse", "FETCH_HEAD")


def _keep(root: Path, commit: str, staging: Path) -> None:
    """Copy the files to keep from the published commit, replacing any new ones in `staging`."""
    for name in KEPT:
        if _git(root, "ls-tree", commit, name):
            archive = staging.with_suffix(".tar")
            _git(root, "archive", f"--output={archive}", commit, name)
            shutil.unpack_archive(archive, staging)


def publish_book(html: Path, remote: str, root: Path = project_metadata.ROOT) -> str:
    """Push the built book to its branch in one commit.

    Args:
        html: The folder of the built book.
        remote: The name or address of the remote to push to.
        root: The project's folder, a git repository.

    Returns:
        One line that says what was published, or why nothing was published.

    Raises:
        PublishError: If the book was not built for the project's address, or if git fails.
    """
    repository = project_metadata.repository_url(root)
    if repository is None:
        return (
            "Not published: the project has no address. "
            "Give it one: make address URL=https://github.com/owner/name"
        )
    site = project_metadata.site_url(repository)
    if not (html / library_wheel.wheel_path(site, repository, root)).exists():
        raise PublishError(f"{html} does not contain the book built for {site}; run: make book")
    before = _published(root, remote)
    with tempfile.TemporaryDirectory() as folder:
        staging = Path(folder) / "site"
        shutil.copytree(html, staging)
        # Without this file, GitHub Pages runs Jekyll, which omits _static and _sources:
        # https://github.blog/2009-12-29-bypassing-jekyll-on-github-pages/
        (staging / ".nojekyll").touch()
        if before:
            _keep(root, before, staging)
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index"), "GIT_WORK_TREE": str(staging)}
        index["GIT_DIR"] = _git(root, "rev-parse", "--absolute-git-dir")
        _git(staging, "add", "--all", "--force", ".", **index)
        tree = _git(root, "write-tree", **index)
    if before and tree == _git(root, "rev-parse", f"{before}^{{tree}}"):
        return f"Nothing has changed at {site}."
    source, name, mail = _git(root, "log", "-1", "--format=%h%n%an%n%ae").split("\n")
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
           for key, value in (("NAME", name), ("EMAIL", mail))}  # fmt: skip
    parent = ["-p", before] if before else []
    commit = _git(root, "commit-tree", tree, *parent, "-m", f"Publish {source}", **who)
    _git(root, "push", "--quiet", remote, f"{commit}:refs/heads/{project_metadata.BRANCH}")
    return f"Published {source} at {site}."


def main(arguments: list[str] | None = None, root: Path = project_metadata.ROOT) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--html", type=Path, default=HTML, help="the folder of the built book")
    parser.add_argument("--remote", default="origin", help="the remote to push to")
    options = parser.parse_args(arguments)
    try:
        print(publish_book(options.html, options.remote, root))
    except PublishError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
