"""Move the project to another address, or all places to a new version's tag.

    .venv/bin/python tools/address.py https://github.com/owner/name
    .venv/bin/python tools/address.py            after a change of the version in pyproject.toml

The address and the version stand in pyproject.toml. Wherever else the project needs them, this
writes them: the book's settings, README, citation, and the first cell of every chapter.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pairs import PairError, find, notebook_text, read_source, read_stored, replace_file
from project import ROOT, address, site, version

_URL = re.compile(r"https://github\.com/(?!-)[A-Za-z0-9-]{1,39}/(?!\.+$)[A-Za-z0-9._-]{1,100}")
_SKIPPED = {"_build", "_vendor", "build", "dist", "__pycache__"}
_KEPT_HIDDEN = {".ci", ".github", ".gitignore"}


class AddressError(ValueError):
    """An address the project cannot have; the message says what it should look like."""


def checked(url: str) -> str:
    """The address in the form in which it is written everywhere.

    Raises:
        AddressError: it is not the address of a repository on GitHub, which Colab opens from.
    """
    plain = url.strip().rstrip("/").removesuffix(".git")
    if not _URL.fullmatch(plain):
        raise AddressError(
            f"URL is {url!r}; it should be a repository on GitHub: https://github.com/owner/name"
        )
    return plain


def files(root: Path = ROOT) -> Iterator[Path]:
    """The project's own text files."""
    for path in sorted(root.iterdir()):
        hidden = path.name.startswith(".") and path.name not in _KEPT_HIDDEN
        if hidden or path.name in _SKIPPED or path.name.endswith(".egg-info"):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from files(path)
        elif path.is_file():
            yield path


def rewrite(text: str, old: str, new: str, tag: str) -> str:
    """The text with the new address for the old one, and the tag wherever one follows it.

    Example:
        >>> here = "https://github.com/a/book"
        >>> rewrite(f"git+{here}@v1.0", here, "https://github.com/b/book", "v1.1")
        'git+https://github.com/b/book@v1.1'
    """
    text = text.replace(site(old), site(new)).replace(site(old)[:-1], site(new)[:-1])
    slug, other = (re.sub("^https://github.com/", "", url) for url in (old, new))
    text = re.sub(rf"(?<![\w.-]){re.escape(slug)}(?![\w-])", other, text)
    here = re.escape(other)
    text = re.sub(rf"({here}(?:\.git)?@)v\d[\w.]*", rf"\g<1>{tag}", text)
    return re.sub(rf"({here}/(?:blob|tree|raw)/)v\d[\w.]*(?=[/)\s\"'])", rf"\g<1>{tag}", text)


def _with_tag(path: Path, text: str, tag: str) -> str:
    """The two files that name the version apart from an address."""
    if path.name == "_config.yml":
        return re.sub(r"^( +branch: ).*$", rf"\g<1>{tag}", text, flags=re.M)
    if path.name == "CITATION.cff":
        return re.sub(r"^(version: ).*$", rf"\g<1>{tag[1:]}", text, flags=re.M)
    return text


def changes(new: str, root: Path = ROOT) -> dict[Path, str]:
    """What every file that needs a change would hold."""
    old, tag = address(root), f"v{version(root)}"
    found = {}
    for path in files(root):
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        changed = _with_tag(path, rewrite(text, old, new, tag), tag)
        if changed != text:
            found[path] = changed
    return found


def _write(contents: Mapping[Path, str]) -> None:
    """Write all files or, if one cannot be written, none."""
    before = {path: path.read_bytes().decode() for path in contents}
    done: list[Path] = []
    try:
        for path, text in contents.items():
            replace_file(path, text)
            done.append(path)
    except OSError:
        for path in done:
            replace_file(path, before[path])
        raise


def renumber(root: Path = ROOT) -> None:
    """Give the cells whose source changed the ids that follow from it; their outputs stay."""
    for pair in find(chapters=root / "chapters"):
        source, stored = read_source(pair), read_stored(pair)
        if stored is None or len(stored.cells) != len(source.cells):
            continue
        for new, old in zip(source.cells, stored.cells, strict=True):
            old["id"] = new.id
        replace_file(pair.stored, notebook_text(stored))


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("url", nargs="?", help="https://github.com/owner/name")
    options = parser.parse_args(arguments)
    try:
        new = checked(options.url or address(root))
        contents = changes(new, root)
        _write(contents)
        renumber(root)
    except (AddressError, PairError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for path in contents:
        print(f"  {path.relative_to(root).as_posix()}")
    state = f"{len(contents)} files changed" if contents else "nothing to change"
    print(f"{new} at v{version(root)}: {state}; the book will be at {site(new)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
