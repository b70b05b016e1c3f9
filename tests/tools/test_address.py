"""The address and the version stand in pyproject.toml, and every other place agrees."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import address
import project
import pytest
from pairs import difference, find, read_source, read_stored

NEW = "https://github.com/Some-One/sharp.bits"


def everything(root: Path) -> dict[Path, str]:
    found = {}
    for path in address.files(root):
        try:
            found[path] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


def test_all_places_agree() -> None:
    assert address.changes(project.address()) == {}
    name = project.address().rsplit("/", 1)[1]
    pattern = re.compile(rf"github\.com/([\w.-]+/{re.escape(name)})(?![\w-])")
    owners = {m for text in everything(project.ROOT).values() for m in pattern.findall(text)}
    assert {f"https://github.com/{slug}" for slug in owners} == {project.address()}


def test_the_book_names_the_address_and_the_tag() -> None:
    text = (project.ROOT / "_config.yml").read_text()
    assert f"url: {project.address()}\n" in text
    assert f"branch: v{project.version()}\n" in text
    assert f"baseurl: {project.site(project.address())}\n" in text


def test_every_chapter_installs_from_the_address() -> None:
    assert f"git+{project.address()}@v{project.version()}" in project.setup_cell()
    for pair in find():
        assert project.setup_cell() in pair.source.read_text(), pair.name


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project without what git ignores."""
    for path in address.files():
        target = tmp_path / path.relative_to(project.ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return tmp_path


def test_the_verb_moves_everything(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = project.address(copy)
    assert address.main([NEW + ".git/"], copy) == 0
    assert f"{NEW} at v{project.version()}: " in capsys.readouterr().out
    assert project.address(copy) == NEW
    for path, text in everything(copy).items():
        assert old not in text, path
        assert project.site(old) not in text, path
    config = (copy / "_config.yml").read_text()
    assert f"url: {NEW}\n" in config
    assert "baseurl: https://some-one.github.io/sharp.bits/\n" in config
    for pair in find(chapters=copy / "chapters"):
        assert project.setup_cell(copy) in pair.source.read_text()
        (here,) = find([pair.name])
        before = difference(read_source(here), read_stored(here))
        assert difference(read_source(pair), read_stored(pair)) == before
    assert address.main([], copy) == 0
    assert "nothing to change" in capsys.readouterr().out


def test_the_tag_follows_the_version(copy: Path) -> None:
    file = copy / "pyproject.toml"
    file.write_text(re.sub(r"^version = .*$", 'version = "9.8.7"', file.read_text(), flags=re.M))
    assert address.main([], copy) == 0
    assert "branch: v9.8.7\n" in (copy / "_config.yml").read_text()
    for pair in find(chapters=copy / "chapters"):
        assert "@v9.8.7" in pair.source.read_text()


@pytest.mark.parametrize(
    "url",
    ["", "github.com/a/b", "https://github.com/a", "https://example.org/a/b", "https://github.com/a/b/c",
     "https://github.com/-a/b", "https://github.com/a/..", "https://github.com/a b/c"],
)  # fmt: skip
def test_an_address_that_cannot_be(url: str) -> None:
    with pytest.raises(
        address.AddressError, match=r"URL is .* it should be a repository on GitHub"
    ):
        address.checked(url)


def test_all_or_nothing(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(copy)
    calls = 0

    def failing(path: Path, text: str) -> bool:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(28, "No space left on device")
        path.write_text(text)
        return True

    monkeypatch.setattr(address, "replace_file", failing)
    assert address.main([NEW], copy) == 1
    assert everything(copy) == before
