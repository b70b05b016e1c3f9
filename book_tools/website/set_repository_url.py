"""Give the project an address, or remove it again.

    .venv/bin/python -m book_tools address https://github.com/owner/name
    .venv/bin/python -m book_tools address none

Until the project has an address, the book's pages and notebooks contain none, because anyone could
register an address that nobody owns yet. The address is in pyproject.toml. The citation and one
line of the README repeat it. Everything else derives it when the book is built.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from book_tools.chapters.chapter_files import replace_file
from book_tools.project_metadata import ROOT, address, site

_URL = re.compile(r"https://github\.com/(?!-)[A-Za-z0-9-]{1,39}/(?!\.+$)[A-Za-z0-9._-]{1,100}")
_ASK = "say where the project lives: make address URL=https://github.com/owner/name"
_REMOVE = "(URL=none removes its address)"
_README = re.compile(r"(<!-- begin address[^\n]*-->\n).*?(<!-- end address -->)", re.S)
_UNPUBLISHED = "This copy of the book has not been published."


class AddressError(ValueError):
    """The address is not valid for this project; the message says what it should look like."""


def checked(url: str) -> str:
    """Return the address of a repository without a slash or ``.git`` at its end.

    Raises:
        AddressError: if it is not the address of a repository on GitHub, which is where Colab
            opens the notebooks from.
    """
    plain = url.strip().rstrip("/").removesuffix(".git")
    if not _URL.fullmatch(plain):
        raise AddressError(
            f"URL must be a repository on GitHub, https://github.com/owner/name, got {url!r}"
        )
    return plain


def _in_project(text: str, new: str | None) -> str:
    urls = {}
    if new:
        urls = {"Documentation": site(new), "Repository": new, "Issues": f"{new}/issues"}
        urls["Changelog"] = f"{new}/blob/main/CHANGELOG.md"
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return re.sub(r"(\[project\.urls\]\n)(?:\w+ = .*\n)*", rf"\1{lines}", text, count=1)


def _in_citation(text: str, new: str | None) -> str:
    text = re.sub(r"^(?:repository-code|url): .*\n", "", text, flags=re.M)
    lines = f"repository-code: {new}\nurl: {site(new)}\n" if new else ""
    return re.sub(r"^license:", f"{lines}license:", text, count=1, flags=re.M)


def _in_readme(text: str, new: str | None) -> str:
    line = f"The book is at <{site(new)}>, and its source at <{new}>." if new else _UNPUBLISHED
    return _README.sub(lambda match: f"{match[1]}{line}\n{match[2]}", text)


FILES = {"pyproject.toml": _in_project, "CITATION.cff": _in_citation, "README.md": _in_readme}
"""The files that contain the address, each with the function that writes it there."""


def write(new: str | None, root: Path = ROOT) -> list[str]:
    """Write the address to every file that contains it, or remove it from all of them.

    Returns:
        The names of the files that changed.
    """
    texts = {name: (root / name).read_text("utf8") for name in FILES}
    texts = {name: FILES[name](text, new) for name, text in texts.items()}
    return [name for name, text in texts.items() if replace_file(root / name, text)]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("url", nargs="?", default="", help="https://github.com/owner/name, or none")
    url = parser.parse_args(arguments).url
    try:
        if not url:
            raise AddressError(f"{_ASK} {_REMOVE}")
        new = None if url == "none" else checked(url)
        changed = write(new, root)
        assert address(root) == new
    except (AddressError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    files = f"changed {', '.join(changed)}" if changed else "nothing to change"
    if new is None:
        print(f"The project has no address: {files}.")
    else:
        print(f"The project is at {new}, and its book will be at {site(new)}: {files}.")
    return 0
