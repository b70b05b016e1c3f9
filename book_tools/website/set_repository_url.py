"""Set or remove the address of the project's repository.

    python -m book_tools address https://github.com/owner/name
    python -m book_tools address none

Until the project has an address, the book's pages and notebooks contain no address at all, because
anyone could register an unused one. pyproject.toml contains the address, and CITATION.cff and one
line of the README repeat it. All other addresses are derived from it when the book is built.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from book_tools.files import write_if_changed
from book_tools.project_metadata import ROOT, repository_url, site_url

_URL = re.compile(r"https://github\.com/(?!-)[A-Za-z0-9-]{1,39}/(?!\.+$)[A-Za-z0-9._-]{1,100}")
_USAGE = "URL must be set: make address URL=https://github.com/owner/name, or URL=none to remove it"
_README = re.compile(r"(<!-- begin address[^\n]*-->\n).*?(<!-- end address -->)", re.S)
_UNPUBLISHED = "This copy of the book has not been published."


class AddressError(ValueError):
    """Raised if the address is not valid. The message shows the required form."""


def normalize_url(url: str) -> str:
    """Return the address of a GitHub repository without a trailing slash or ``.git``.

    Raises:
        AddressError: If `url` is not the address of a GitHub repository. Colab can open notebooks
            only from GitHub.
    """
    plain = url.strip().rstrip("/").removesuffix(".git")
    if not _URL.fullmatch(plain):
        raise AddressError(
            f"URL must be a repository on GitHub, https://github.com/owner/name, got {url!r}"
        )
    return plain


def _update_pyproject(text: str, new: str | None) -> str:
    urls = {}
    if new:
        urls = {"Documentation": site_url(new), "Repository": new, "Issues": f"{new}/issues"}
        urls["Changelog"] = f"{new}/blob/main/CHANGELOG.md"
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return re.sub(r"(\[project\.urls\]\n)(?:\w+ = .*\n)*", rf"\1{lines}", text, count=1)


def _update_citation(text: str, new: str | None) -> str:
    text = re.sub(r"^(?:repository-code|url): .*\n", "", text, flags=re.M)
    lines = f"repository-code: {new}\nurl: {site_url(new)}\n" if new else ""
    return re.sub(r"^license:", f"{lines}license:", text, count=1, flags=re.M)


def _update_readme(text: str, new: str | None) -> str:
    line = f"The book is at <{site_url(new)}>, and its source at <{new}>." if new else _UNPUBLISHED
    return _README.sub(lambda match: f"{match[1]}{line}\n{match[2]}", text)


FILES = {
    "pyproject.toml": _update_pyproject,
    "CITATION.cff": _update_citation,
    "README.md": _update_readme,
}
"""The files that contain the address, each with a function that replaces the address."""


def write_url(new: str | None, root: Path = ROOT) -> list[str]:
    """Write the address to every file that contains it, or remove it from all of them.

    Args:
        new: The address, or None to remove it.
        root: The project's folder.

    Returns:
        The names of the files that changed.
    """
    texts = {name: (root / name).read_text("utf8") for name in FILES}
    texts = {name: FILES[name](text, new) for name, text in texts.items()}
    return [name for name, text in texts.items() if write_if_changed(root / name, text)]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("url", nargs="?", default="", help="https://github.com/owner/name, or none")
    url = parser.parse_args(arguments).url
    try:
        if not url:
            raise AddressError(_USAGE)
        new = None if url == "none" else normalize_url(url)
        changed = write_url(new, root)
        assert repository_url(root) == new
    except (AddressError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    files = f"changed {', '.join(changed)}" if changed else "nothing to change"
    if new is None:
        print(f"The project has no address: {files}.")
    else:
        print(f"The project is at {new}, and its book will be at {site_url(new)}: {files}.")
    return 0
