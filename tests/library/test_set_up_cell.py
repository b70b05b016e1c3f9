"""The first cell of every chapter, run as in Colab, and on a machine without the library."""

from __future__ import annotations

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
LIBRARY = "jaxbits-0.1.0-py3-none-any.whl"

# Runs a cell in IPython. Without COLAB and LIBRARY in the environment there is neither.
PROGRAM = """
import os, sys, types
from importlib.machinery import PathFinder
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell

cell, here = Path(sys.argv[1]).read_text("utf8"), sys.argv[2]
sys.path.insert(0, here)
if not os.environ.get("LIBRARY"):  # only what the cell installs is there
    find = PathFinder.find_spec
    PathFinder.find_spec = staticmethod(
        lambda name, path=None, target=None: find(name, [here] if name == "jaxbits" else path)
    )
if os.environ.get("COLAB"):
    sys.modules["google.colab"] = types.ModuleType("google.colab")
    sys.modules["google.colab"].output = None  # JAX's debugger looks for it
result = InteractiveShell.instance(colors="NoColor").run_cell(cell)
sys.exit(0 if result.success else 3)
"""


def first_cell(chapter: Path) -> str:
    begin = "```{code-cell} ipython3\n:tags: [remove-cell]\n\n"
    return chapter.read_text("utf8").split(begin)[1].split("\n```\n")[0]


CELL = first_cell(CHAPTERS[0])


def with_wheel(address: str) -> str:
    return CELL.replace('WHEEL = ""', f'WHEEL = "{address}"')


@dataclass(frozen=True)
class Seen:
    """What a reader sees of a cell that ran: whether it went well, and its output."""

    is_well: bool
    text: str

    @property
    def error(self) -> str:
        """The last line, which is the error."""
        return self.text.strip().splitlines()[-1]


@dataclass(frozen=True)
class Machine:
    """A machine of a reader: where pip installs, and where the library comes from."""

    folder: Path

    def run(self, cell: str, *, in_colab: bool, has_library: bool = False) -> Seen:
        """Run a cell in a process of its own."""
        (self.folder / "cell.py").write_text(cell, "utf8")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_"))} | {
            "JAX_PLATFORMS": "cpu",
            "PIP_TARGET": str(self.folder),
            "PIP_RETRIES": "0",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_CACHE_DIR": "1",
            "COLAB": "1" if in_colab else "",
            "LIBRARY": "1" if has_library else "",
            "IPYTHONDIR": str(self.folder / "ipython"),
        }
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(self.folder / "cell.py"), str(self.folder)],
            cwd=self.folder, env=env, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode in (0, 3), done.stderr
        return Seen(done.returncode == 0, done.stdout)

    @property
    def installed(self) -> list[str]:
        """What pip has installed."""
        return [path.name for path in self.folder.glob("*.dist-info")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "machine").mkdir()
    return Machine(tmp_path / "machine")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        super().do_GET()

    def log_message(self, *given: object) -> None:
        pass


@pytest.fixture
def book(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a served book that has two wheels, and the list of what was asked for."""
    for digest in ("aaaa", "bbbb"):
        folder = tmp_path / "html" / "wheels" / digest
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / LIBRARY, "w") as file:
            for path in sorted((ROOT / "src" / "jaxbits").rglob("*")):
                if path.suffix in {".py", ".pyi", ".toml", ".json"}:
                    file.write(path, path.relative_to(ROOT / "src"))
            about = "Metadata-Version: 2.1\nName: jaxbits\nVersion: 0.1.0\nRequires-Dist: nowhere\n"
            file.writestr("jaxbits-0.1.0.dist-info/METADATA", about)
            form = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            file.writestr("jaxbits-0.1.0.dist-info/WHEEL", form)
            file.writestr("jaxbits-0.1.0.dist-info/RECORD", "")
    handler = functools.partial(_Quiet, directory=str(tmp_path / "html"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", server.asked
        server.shutdown()
        thread.join()


def test_all_chapters_begin_with_the_same_cell() -> None:
    assert {first_cell(chapter) for chapter in CHAPTERS} == {CELL}


def test_no_line_of_it_is_taken_for_a_heading() -> None:
    """A chapter's title is found as the first line that begins like a heading."""
    assert not re.search(r"^#+ ", CELL, re.M)


def test_in_colab_it_installs_the_library_alone_and_reports(
    machine: Machine, book: tuple[str, list[str]]
) -> None:
    address, asked = book
    cell = with_wheel(f"{address}/wheels/aaaa/{LIBRARY}")
    seen = machine.run(cell, in_colab=True)
    assert seen.is_well, seen.text
    assert machine.installed == ["jaxbits-0.1.0.dist-info"]  # not what it depends on
    assert "Device: CPU" in seen.text
    assert "Runtime > Change runtime type" in seen.text
    assert "Run cell and below" in seen.text
    assert len(asked) == 1

    assert machine.run(cell, in_colab=True).is_well
    assert len(asked) == 1, "it was installed again"

    newer = with_wheel(f"{address}/wheels/bbbb/{LIBRARY}")
    assert machine.run(newer, in_colab=True).is_well
    assert asked[1:] == [f"/wheels/bbbb/{LIBRARY}"], "that of another publication was kept"


def two_sentences(error: str) -> list[str]:
    name, _, message = error.partition(": ")
    assert name == "RuntimeError"
    sentences = re.split(r"(?<=[.`]) (?=[A-Z])", message)
    assert len(sentences) == 2, sentences
    return sentences


def is_one_clean_error(text: str) -> bool:
    return text.count("Traceback") == 1 and "ERROR" not in text and "pip._" not in text


def test_in_colab_a_failed_download_is_two_sentences_and_one_error(machine: Machine) -> None:
    address = f"http://127.0.0.1:9/wheels/aaaa/{LIBRARY}"
    seen = machine.run(with_wheel(address), in_colab=True)
    assert not seen.is_well
    assert is_one_clean_error(seen.text)
    first, second = two_sentences(seen.error)
    assert address in first
    assert second.startswith("Run this cell again in a minute")


def test_elsewhere_nothing_is_installed_and_the_reader_is_told_how(
    machine: Machine, book: tuple[str, list[str]]
) -> None:
    address = f"{book[0]}/wheels/aaaa/{LIBRARY}"
    seen = machine.run(with_wheel(address), in_colab=False)
    assert not seen.is_well
    assert is_one_clean_error(seen.text)
    assert two_sentences(seen.error) == [
        "This book's library, jaxbits, is not installed here.",
        f'Run `%pip install "jaxbits[book] @ {address}"` in a new cell, and then restart the '
        "kernel.",
    ]
    assert (book[1], machine.installed) == ([], [])


@pytest.mark.parametrize("in_colab", [True, False])
def test_without_an_address_it_says_to_install_from_a_copy(
    machine: Machine, in_colab: bool
) -> None:
    seen = machine.run(CELL, in_colab=in_colab)
    assert not seen.is_well
    assert is_one_clean_error(seen.text)
    assert two_sentences(seen.error) == [
        "This book's library, jaxbits, is not installed here.",
        'Run `pip install ".[book]"` in a copy of the project, and then restart the kernel.',
    ]
    assert machine.installed == []


def test_where_the_library_is_there_nothing_is_installed_and_nothing_said(
    machine: Machine, book: tuple[str, list[str]]
) -> None:
    cell = with_wheel(f"{book[0]}/wheels/aaaa/{LIBRARY}")
    cell += "\nprint('jax' in sys.modules)"
    seen = machine.run(cell, in_colab=False, has_library=True)
    assert seen.is_well, seen.text
    assert seen.text.strip() == "False", "it imported JAX, or said something"
    assert (book[1], machine.installed) == ([], [])


def test_on_an_accelerator_it_reports_outside_of_colab_too(machine: Machine) -> None:
    gpu = "import jaxbits.runtime as r\nr.backend = lambda: 'gpu'\n"
    gpu += "r.device = lambda: 'GPU (T4)'\n"
    gpu += "import importlib.metadata as m\nm.entry_points = lambda group: [group]\n"
    seen = machine.run(gpu + CELL, in_colab=False, has_library=True)
    assert seen.is_well, seen.text
    assert "Device: GPU (T4)" in seen.text
    assert "What the book says about a GPU:" in seen.text
    assert "Runtime >" not in seen.text
