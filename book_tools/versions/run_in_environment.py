"""Run chapters and the library's tests in one environment, and note what became of everything."""

from __future__ import annotations

import copy
import json
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import nbclient.exceptions
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from book_tools.environment.environments import Environment
from book_tools.versions.chapter_cells import Chapter, clean
from book_tools.versions.run_record import ChapterSeen, note_cell

PROBE = Path(__file__).with_name("ipython_error_logger.py")
CELL_SECONDS = 600


class _ItsKernel(KernelSpecManager):
    """Knows one kernel: that of the interpreter under test."""

    def __init__(self, python: Path) -> None:
        super().__init__()
        argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.spec = KernelSpec(argv=argv, display_name="versions", language="python")

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return self.spec


def kernel_of(python: Path) -> type[AsyncKernelManager]:
    """Return a kernel manager that starts the kernel of this interpreter."""

    class Manager(AsyncKernelManager):
        def _kernel_spec_manager_default(self) -> KernelSpecManager:
            return _ItsKernel(python)

    return Manager


def _new_lines(path: Path, seen: dict[Path, int]) -> list[dict[str, Any]]:
    lines = path.read_text("utf8").splitlines() if path.is_file() else []
    start, seen[path] = seen.get(path, 0), len(lines)
    return [json.loads(line) for line in lines[start:]]


def run_chapter(chapter: Chapter, environment: Environment) -> ChapterSeen:
    """Run every cell of a chapter under the environment's own kernel.

    Errors do not stop it: what may raise and what may not is judged afterwards, over all cells.
    """
    seen = ChapterSeen(chapter.title, chapter.code)
    lines: dict[Path, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        record, probe, startup = (
            here / n for n in ("claims", "errors", "ipython/profile_default/startup")
        )
        startup.mkdir(parents=True)
        (startup / "00-probe.py").write_text(PROBE.read_text("utf8"), "utf8")
        work = here / "work"  # nothing lies beside the notebook, as in Colab
        work.mkdir()
        variables = environment.variables | {
            "JAXBITS_RECORD": str(record),
            "JAXBITS_PROBE": str(probe),
            "IPYTHONDIR": str(here / "ipython"),
            "JUPYTER_CONFIG_DIR": str(here / "jupyter"),
        }

        def after(cell: Any, cell_index: int, execute_reply: Any) -> None:
            note_cell(
                seen, chapter.stem, chapter.cells[cell_index], cell.outputs,
                _new_lines(record, lines), _new_lines(probe, lines),
            )  # fmt: skip

        client = NotebookClient(
            copy.deepcopy(chapter.notebook), timeout=CELL_SECONDS, allow_errors=True,
            kernel_manager_class=kernel_of(environment.python),
            record_timing=False, resources={"metadata": {"path": str(work)}},
            on_cell_executed=after,
        )  # fmt: skip
        try:
            with (here / "kernel.log").open("w") as log:  # the debugger's and IPython's own notes
                client.execute(env=variables, stderr=log)
        except (nbclient.exceptions.DeadKernelError, nbclient.exceptions.CellTimeoutError) as error:
            seen.broken = str(error).strip().splitlines()[0]
        except RuntimeError as error:  # the kernel did not start
            seen.broken = str(error).strip().splitlines()[0]
    return seen


def run_tests(environment: Environment, root: Path) -> dict[str, Any]:
    """Run the library's tests in the environment, and return how they ended."""
    with tempfile.TemporaryDirectory() as folder:
        report, library = Path(folder) / "report.xml", root / "tests" / "library"
        # The plug-ins and the warnings of the lock's own run have no place here.
        command = [
            environment.python, "-m", "pytest", library, "--quiet", "--rootdir", root,
            "--confcutdir", library, "-p", "no:cacheprovider", "--junitxml", report,
            "-o", "addopts=--import-mode=importlib", "-o", "filterwarnings=", "-o", "testpaths=",
            "-o", "pythonpath=",
        ]  # fmt: skip
        done = subprocess.run(
            [str(part) for part in command], env=environment.variables, cwd=folder,
            capture_output=True, text=True,
        )  # fmt: skip
        if not report.is_file():
            lines = (done.stdout + done.stderr).strip().splitlines() or ["no message"]
            return {"passed": 0, "skipped": 0, "failed": {"pytest": lines[-1]}}
        return count(report.read_text("utf8"))


def run_detectors(environment: Environment, root: Path, switches: bool) -> dict[str, Any]:
    """Score the detectors on the labelled cases in the environment, and JAX's switches if wanted.

    Raises:
        RuntimeError: with the last line of what the program said, when it failed.
    """
    program = root / "tests" / "detect" / "score_records.py"
    done = subprocess.run(
        [str(environment.python), str(program), *(["--switches"] if switches else [])],
        env=environment.variables, capture_output=True, text=True, cwd=tempfile.gettempdir(),
    )  # fmt: skip
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"the detectors' scores: {last}")
    scored: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return scored


def count(junit: str) -> dict[str, Any]:
    """Return the outcome of a run of pytest from its JUnit report; no test at all is a failure."""
    cases = list(ET.fromstring(junit).iter("testcase"))
    failed = {}
    for case in cases:
        for trouble in (*case.findall("failure"), *case.findall("error")):
            first = clean(trouble.get("message", "")).splitlines() or [""]
            failed[f"{case.get('classname')}::{case.get('name')}"] = first[0]
    skipped = sum(case.find("skipped") is not None for case in cases)
    if not cases:
        failed["pytest"] = "no test was found"
    return {
        "passed": len(cases) - skipped - len(failed.keys() - {"pytest"}),
        "skipped": skipped,
        "failed": dict(sorted(failed.items())),
    }


def describe(environment: Environment) -> dict[str, Any]:
    """Return the versions, the backend and the device of an environment, asked in it."""
    program = (
        "import json, jax; from jaxbits import runtime; device = jax.devices()[0].device_kind; "
        "print(json.dumps({'versions': runtime.versions(), 'backend': jax.default_backend(), "
        "'device': device}))"
    )
    done = subprocess.run(
        [str(environment.python), "-c", program], env=environment.variables,
        capture_output=True, text=True, cwd=tempfile.gettempdir(),
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    described: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return described
