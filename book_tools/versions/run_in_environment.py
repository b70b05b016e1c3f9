"""Run chapters, the library's tests, and the detectors' cases in a different environment."""

from __future__ import annotations

import copy
import json
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbclient.exceptions
from nbclient import NotebookClient

from book_tools.chapters.kernel import kernel_manager_for
from book_tools.environment.environments import Environment
from book_tools.processes import last_line
from book_tools.versions.chapter_cells import ChapterCells, normalize_message
from book_tools.versions.run_record import ChapterResult, record_cell

ERROR_LOGGER = Path(__file__).with_name("ipython_error_logger.py")
CELL_SECONDS = 600


def _read_new_lines(path: Path, seen: dict[Path, int]) -> list[dict[str, Any]]:
    """Return the JSON lines that were added to a file since the last call."""
    lines = path.read_text("utf8").splitlines() if path.is_file() else []
    start, seen[path] = seen.get(path, 0), len(lines)
    return [json.loads(line) for line in lines[start:]]


def run_chapter(chapter: ChapterCells, environment: Environment) -> ChapterResult:
    """Execute every cell of a chapter in an environment's own kernel, and return the results.

    An error does not stop the run. Other code decides later which errors were expected.

    Args:
        chapter: The chapter to execute.
        environment: The environment, which must have ipykernel installed.
    """
    result = ChapterResult(chapter.title, chapter.code_digest)
    seen: dict[Path, int] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        claims, errors = folder / "claims", folder / "errors"
        startup = folder / "ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "00-log-errors.py").write_text(ERROR_LOGGER.read_text("utf8"), "utf8")
        work = folder / "work"  # Use an empty folder, as Colab does.
        work.mkdir()
        variables = environment.variables | {
            "JAXBITS_RECORD": str(claims),
            "JAXBITS_PROBE": str(errors),
            "IPYTHONDIR": str(folder / "ipython"),
            "JUPYTER_CONFIG_DIR": str(folder / "jupyter"),
        }

        def record(cell: Any, cell_index: int, execute_reply: Any) -> None:
            record_cell(
                result, chapter.stem, chapter.cells[cell_index], cell.outputs,
                _read_new_lines(claims, seen), _read_new_lines(errors, seen),
            )  # fmt: skip

        client = NotebookClient(
            copy.deepcopy(chapter.notebook), timeout=CELL_SECONDS, allow_errors=True,
            kernel_manager_class=kernel_manager_for(environment.python),
            record_timing=False, resources={"metadata": {"path": str(work)}},
            on_cell_executed=record,
        )  # fmt: skip
        try:
            with (folder / "kernel.log").open("w") as log:  # debugpy and IPython write to it.
                client.execute(env=variables, stderr=log)
        except (
            nbclient.exceptions.DeadKernelError,
            nbclient.exceptions.CellTimeoutError,
            RuntimeError,  # The kernel did not start.
        ) as error:
            result.broken = str(error).strip().splitlines()[0]
    return result


def _run(
    environment: Environment, command: Sequence[object], folder: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(environment.python), *map(str, command)],
        env=environment.variables,
        cwd=folder,
        capture_output=True,
        text=True,
    )


def run_tests(environment: Environment, root: Path) -> dict[str, Any]:
    """Run the library's tests in an environment, and return the counts and the failures.

    Args:
        environment: The environment, which must have pytest installed.
        root: The project's folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        report, library = Path(folder) / "report.xml", root / "tests" / "library"
        # Do not use the project's pytest plugins, and do not turn warnings into errors.
        command = [
            "-m", "pytest", library, "--quiet", "--rootdir", root,
            "--confcutdir", library, "-p", "no:cacheprovider", "--junitxml", report,
            "-o", "addopts=--import-mode=importlib", "-o", "filterwarnings=", "-o", "testpaths=",
            "-o", "pythonpath=",
        ]  # fmt: skip
        done = _run(environment, command, folder)
        if not report.is_file():
            message = last_line(done.stdout + done.stderr)
            return {"passed": 0, "skipped": 0, "failed": {"pytest": message}}
        return count_outcomes(report.read_text("utf8"))


def _last_json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(last_line(done.stdout))
    return value


def score_detectors(environment: Environment, root: Path, switches: bool) -> dict[str, Any]:
    """Score the detectors on the labeled cases in an environment, and return the scores.

    Args:
        environment: The environment to score in.
        root: The project's folder.
        switches: Whether to score JAX's own debugging switches as well.

    Raises:
        RuntimeError: If the scoring program fails.
    """
    program = root / "tests" / "detect" / "score_records.py"
    command = [program, *(["--switches"] if switches else [])]
    done = _run(environment, command, tempfile.gettempdir())
    if done.returncode:
        raise RuntimeError(f"scoring the detectors failed: {last_line(done.stderr)}")
    return _last_json(done)


def count_outcomes(junit: str) -> dict[str, Any]:
    """Return the failures in a JUnit report and the numbers of passed and skipped tests.

    A report that contains no tests counts as a failure.
    """
    cases = list(ET.fromstring(junit).iter("testcase"))
    failed = {}
    for case in cases:
        for problem in (*case.findall("failure"), *case.findall("error")):
            lines = normalize_message(problem.get("message", "")).splitlines() or [""]
            failed[f"{case.get('classname')}::{case.get('name')}"] = lines[0]
    skipped = sum(case.find("skipped") is not None for case in cases)
    if not cases:
        failed["pytest"] = "no test was found"
    return {
        "passed": len(cases) - skipped - len(failed.keys() - {"pytest"}),
        "skipped": skipped,
        "failed": dict(sorted(failed.items())),
    }


def describe_environment(environment: Environment) -> dict[str, Any]:
    """Return an environment's package versions, JAX backend, and device.

    Raises:
        RuntimeError: If the environment cannot import the library or JAX.
    """
    program = (
        "import json, jax; from jaxbits import runtime; device = jax.devices()[0].device_kind; "
        "print(json.dumps({'versions': runtime.versions(), 'backend': jax.default_backend(), "
        "'device': device}))"
    )
    done = _run(environment, ["-c", program], tempfile.gettempdir())
    if done.returncode:
        raise RuntimeError(last_line(done.stderr))
    return _last_json(done)
