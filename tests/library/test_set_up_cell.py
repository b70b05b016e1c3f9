"""Test the chapters' set-up cell in Colab and on machines with and without the library."""

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

# This program runs a cell in IPython. It simulates Colab if the environment variable COLAB is not
# empty, and it simulates an installed library if LIBRARY is not empty.
PROGRAM = """
import os, sys, types
from importlib.machinery import PathFinder
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell

cell, here = Path(sys.argv[1]).read_text("utf8"), sys.argv[2]
sys.path.insert(0, here)
if not os.environ.get("LIBRARY"):  # Hide the library, unless the cell installs it.
    find = PathFinder.find_spec
    PathFinder.find_spec = staticmethod(
        lambda name, path=None, target=None: find(name, [here] if name == "jaxbits" else path)
    )
if os.environ.get("COLAB"):
    sys.modules["google.colab"] = types.ModuleType("google.colab")
    sys.modules["google.colab"].output = None  # JAX's debugger imports `output`.
result = InteractiveShell.instance(colors="NoColor").run_cell(cell)
sys.exit(0 if result.success else 3)
"""


def first_cell(chapter: Path) -> str:
    begin = "```{code-cell} ipython3\n:tags: [remove-cell]\n\n"
    return chapter.read_text("utf8").split(begin)[1].split("\n```\n")[0]


CELL = first_cell(CHAPTERS[0])


def cell_with_wheel(url: str) -> str:
    return CELL.replace('WHEEL = ""', f'WHEEL = "{url}"')


@dataclass(frozen=True)
class CellResult:
    """The result of running a cell: whether it succeeded, and the output that the reader sees."""

    is_success: bool
    text: str

    @property
    def error(self) -> str:
        """Return the last line of the output, which is the error."""
        return self.text.strip().splitlines()[-1]


@dataclass(frozen=True)
class Machine:
    """A reader's machine, simulated by a folder into which pip installs packages."""

    folder: Path

    def run(self, cell: str, *, in_colab: bool, has_library: bool = False) -> CellResult:
        """Run a cell in a new process."""
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
        return CellResult(done.returncode == 0, done.stdout)

    @property
    def installed(self) -> list[str]:
        """Return the names of the packages that pip has installed."""
        return [path.name for path in self.folder.glob("*.dist-info")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "machine").mkdir()
    return Machine(tmp_path / "machine")


class _RecordingHandler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        super().do_GET()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def served_book(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a book with two wheels, and yield its URL and a list of the requested paths."""
    for digest in ("aaaa", "bbbb"):
        folder = tmp_path / "html" / "wheels" / digest
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / LIBRARY, "w") as file:
            for path in sorted((ROOT / "src" / "jaxbits").rglob("*")):
                if path.suffix in {".py", ".pyi", ".toml", ".json"}:
                    file.write(path, path.relative_to(ROOT / "src"))
            metadata = (
                "Metadata-Version: 2.1\nName: jaxbits\nVersion: 0.1.0\nRequires-Dist: nowhere\n"
            )
            file.writestr("jaxbits-0.1.0.dist-info/METADATA", metadata)
            wheel_metadata = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            file.writestr("jaxbits-0.1.0.dist-info/WHEEL", wheel_metadata)
            file.writestr("jaxbits-0.1.0.dist-info/RECORD", "")
    handler = functools.partial(_RecordingHandler, directory=str(tmp_path / "html"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.requests = []
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", server.requests
        server.shutdown()
        thread.join()


def test_set_up_cell_is_identical_in_all_chapters() -> None:
    assert {first_cell(chapter) for chapter in CHAPTERS} == {CELL}


def test_set_up_cell_has_no_line_that_looks_like_heading() -> None:
    """The tools use the first line that looks like a heading as a chapter's title."""
    assert not re.search(r"^#+ ", CELL, re.M)


@pytest.mark.slow
def test_set_up_cell_installs_jaxbits_once_in_colab(
    machine: Machine, served_book: tuple[str, list[str]]
) -> None:
    url, requests = served_book
    cell = cell_with_wheel(f"{url}/wheels/aaaa/{LIBRARY}")
    result = machine.run(cell, in_colab=True)
    assert result.is_success, result.text
    assert machine.installed == ["jaxbits-0.1.0.dist-info"]  # The cell installs no dependencies.
    assert "Device: CPU" in result.text
    assert "Runtime > Change runtime type" in result.text
    assert "Run cell and below" in result.text
    assert len(requests) == 1

    assert machine.run(cell, in_colab=True).is_success
    assert len(requests) == 1, "the cell installed the library again"

    newer = cell_with_wheel(f"{url}/wheels/bbbb/{LIBRARY}")
    assert machine.run(newer, in_colab=True).is_success
    assert requests[1:] == [f"/wheels/bbbb/{LIBRARY}"], "the cell kept an older wheel"


def two_sentences(error: str) -> list[str]:
    name, _, message = error.partition(": ")
    assert name == "RuntimeError"
    sentences = re.split(r"(?<=[.`]) (?=[A-Z])", message)
    assert len(sentences) == 2, sentences
    return sentences


def is_one_clean_error(text: str) -> bool:
    return text.count("Traceback") == 1 and "ERROR" not in text and "pip._" not in text


def test_set_up_cell_explains_failed_download_in_colab(machine: Machine) -> None:
    url = f"http://127.0.0.1:9/wheels/aaaa/{LIBRARY}"
    result = machine.run(cell_with_wheel(url), in_colab=True)
    assert not result.is_success
    assert is_one_clean_error(result.text)
    first, second = two_sentences(result.error)
    assert url in first
    assert second.startswith("Run this cell again in a minute")


def test_set_up_cell_prints_pip_command_outside_colab(
    machine: Machine, served_book: tuple[str, list[str]]
) -> None:
    url = f"{served_book[0]}/wheels/aaaa/{LIBRARY}"
    result = machine.run(cell_with_wheel(url), in_colab=False)
    assert not result.is_success
    assert is_one_clean_error(result.text)
    assert two_sentences(result.error) == [
        "This book's library, jaxbits, is not installed here.",
        f'Run `%pip install "jaxbits[book] @ {url}"` in a new cell, and then restart the kernel.',
    ]
    assert (served_book[1], machine.installed) == ([], [])


@pytest.mark.parametrize("in_colab", [True, False])
def test_set_up_cell_without_wheel_url_prints_pip_command(machine: Machine, in_colab: bool) -> None:
    result = machine.run(CELL, in_colab=in_colab)
    assert not result.is_success
    assert is_one_clean_error(result.text)
    assert two_sentences(result.error) == [
        "This book's library, jaxbits, is not installed here.",
        'Run `pip install ".[book]"` in a copy of the project, and then restart the kernel.',
    ]
    assert machine.installed == []


def test_set_up_cell_installs_nothing_if_jaxbits_is_installed(
    machine: Machine, served_book: tuple[str, list[str]]
) -> None:
    cell = cell_with_wheel(f"{served_book[0]}/wheels/aaaa/{LIBRARY}")
    cell += "\nprint('jax' in sys.modules)"
    result = machine.run(cell, in_colab=False, has_library=True)
    assert result.is_success, result.text
    assert result.text.strip() == "False", "the cell imported JAX or printed something"
    assert (served_book[1], machine.installed) == ([], [])


def test_set_up_cell_prints_report_outside_colab_on_gpu(machine: Machine) -> None:
    gpu = "import jaxbits.runtime as r\nr.backend = lambda: 'gpu'\n"
    gpu += "r.device = lambda: 'GPU (T4)'\n"
    gpu += "import importlib.metadata as m\nm.entry_points = lambda group: [group]\n"
    result = machine.run(gpu + CELL, in_colab=False, has_library=True)
    assert result.is_success, result.text
    assert "Device: GPU (T4)" in result.text
    assert "What the book says about a GPU:" in result.text
    assert "Runtime >" not in result.text
