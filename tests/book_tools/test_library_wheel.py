"""Test that wheels are reproducible and that only a published wheel contains an address."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from book_tools import project_metadata
from book_tools.website import library_wheel
from book_tools.website.library_wheel import WheelError

pytestmark = pytest.mark.slow

SITE, REPOSITORY = "https://owner.github.io/name/", "https://github.com/owner/name"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a project whose library has two files."""
    root = tmp_path / "project"
    (root / "src" / "jaxbits").mkdir(parents=True)
    (root / "src" / "jaxbits" / "__init__.py").write_text('__version__ = "0.1.0"\n')
    (root / "src" / "jaxbits" / "tested.json").write_text("{}")
    for name in ("pyproject.toml", "LICENSE", "LICENSE-text", "README.md"):
        shutil.copy(project_metadata.ROOT / name, root)
    return root


def files_in_wheel(built: Path) -> set[str]:
    with zipfile.ZipFile(built) as file:
        return set(file.namelist())


def test_build_wheel_is_reproducible(root: Path, tmp_path: Path) -> None:
    first = library_wheel.build_wheel(tmp_path / "one", None, None, root)
    second = library_wheel.build_wheel(tmp_path / "two", None, None, root)
    assert first.read_bytes() == second.read_bytes()
    assert first.relative_to(tmp_path / "one") == second.relative_to(tmp_path / "two")
    assert {"jaxbits/__init__.py", "jaxbits/tested.json"} <= files_in_wheel(first)
    assert not [name for name in root.rglob("*") if name.name in {"build", "jaxbits.egg-info"}]


def test_build_wheel_rebuilds_only_if_library_changed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = library_wheel.build_wheel(tmp_path, None, None, root)
    calls = []
    build = library_wheel._build
    monkeypatch.setattr(
        library_wheel, "_build", lambda *arguments: calls.append(arguments) or build(*arguments)
    )
    (root / "README.md").write_text("Another word.")
    settings = (root / "pyproject.toml").read_text()
    (root / "pyproject.toml").write_text(settings + '\n[tool.other]\nkey = "value"\n')
    assert library_wheel.build_wheel(tmp_path, None, None, root) == built
    assert calls == []
    (root / "src" / "jaxbits" / "__init__.py").write_text('__version__ = "0.1.0"\nx = 1\n')
    changed = library_wheel.build_wheel(tmp_path, None, None, root)
    assert len(calls) == 1
    assert changed.parent != built.parent
    assert [path.name for path in (tmp_path / library_wheel.FOLDER).iterdir()] == [
        changed.parent.name
    ]


def test_build_wheel_adds_address_only_if_published(root: Path, tmp_path: Path) -> None:
    unpublished = library_wheel.build_wheel(tmp_path / "one", None, None, root)
    published = library_wheel.build_wheel(tmp_path / "two", SITE, REPOSITORY, root)
    assert files_in_wheel(published) - files_in_wheel(unpublished) == {library_wheel.PUBLISHED}
    with zipfile.ZipFile(published) as file:
        assert json.loads(file.read(library_wheel.PUBLISHED)) == {
            "site": SITE,
            "repository": REPOSITORY,
        }
    with zipfile.ZipFile(unpublished) as file:
        assert all(b"github.io" not in file.read(name) for name in file.namelist())
    assert published.relative_to(tmp_path / "two").as_posix() == library_wheel.wheel_path(
        SITE, REPOSITORY, root
    )


def test_build_wheel_reports_failure_in_one_line(root: Path, tmp_path: Path) -> None:
    settings = (root / "pyproject.toml").read_text()
    (root / "pyproject.toml").write_text(settings.replace('license = "Apache-2.0"', "license = 3"))
    with pytest.raises(WheelError, match=r"the library's wheel was not built: \S.*"):
        library_wheel.build_wheel(tmp_path / "html", None, None, root)


def test_checkout_lacks_file_with_published_address() -> None:
    assert not (project_metadata.ROOT / "src" / library_wheel.PUBLISHED).exists()
