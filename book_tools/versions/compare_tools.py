"""Run other tools on the detectors' labeled cases, for a table on the page *Detectors*.

    python -m book_tools tools                        record the scores of all tools
    python -m book_tools tools --sample 3             draw 3 cases of each kind for each check
    python -m book_tools tools --check nan            record only the scores for this check again
    python -m book_tools tools --environment FOLDER   use this environment

The packages are no dependencies of the library or the book. The program installs them in an
environment of their own, ``.envs/tools``, which also sees the packages of the environment that runs
it. It writes the scores to ``reference/detectors/tools.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from book_tools.files import write_if_changed
from book_tools.processes import last_line
from book_tools.project_metadata import ROOT
from book_tools.versions.detector_metrics import scores_json
from jaxbits import detect

PACKAGES = ("chex==0.1.92", "equinox==0.13.8", "jaxlint==0.1.0a1", "jaxtyc==0.7.2")
SAMPLE = 12
_BATCH = 8
RECORD = Path("reference") / "detectors" / "tools.json"


def read_record(root: Path) -> dict[str, Any] | None:
    """Return the recorded scores, or None if there are none."""
    path = root / RECORD
    return json.loads(path.read_text("utf8")) if path.is_file() else None


def prepare(folder: Path) -> Path:
    """Create an environment with the packages unless it exists, and return its interpreter.

    Args:
        folder: The environment's folder.

    Raises:
        subprocess.CalledProcessError: If the packages cannot be installed.
    """
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "packages.txt"
    if done.is_file() and done.read_text("utf8") == "\n".join(PACKAGES):
        return python
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    places = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", vars=places))
    shared = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (site / "shared.pth").write_text("\n".join(shared) + "\n", "utf8")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    done.write_text("\n".join(PACKAGES), "utf8")
    return python


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=SAMPLE, help="cases of each kind")
    parser.add_argument("--check", action="append", metavar="NAME", help="only this check")
    parser.add_argument("--environment", type=Path, metavar="FOLDER", help="such as .envs/tools")
    options = parser.parse_args(arguments)
    folder = (options.environment or root / ".envs" / "tools").resolve()
    python = folder / "bin" / "python" if options.environment else prepare(folder)
    record: dict[str, Any] = {"sample": options.sample, "versions": {}, "tools": []}
    record = (options.check and read_record(root)) or record
    if record["sample"] != options.sample:
        parser.error(f"SAMPLE must be {record['sample']}, as recorded; got {options.sample}")
    tools: dict[str, dict[str, Any]] = {tool["name"]: tool for tool in record["tools"]}
    checks = options.check or list(detect.detectors())
    # Several processes run one after the other, because `jax.checking_leaks` searches the heap.
    for first in range(0, len(checks), _BATCH):
        program = root / "tests" / "detect" / "other_tools.py"
        command = [python, program, *checks[first : first + _BATCH]]
        command += ["--sample", str(options.sample), "--environment", folder]
        variables = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(root / "src")}
        done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print("The program failed.", file=sys.stderr)
            return 1
        found = json.loads(last_line(done.stdout))
        record["versions"] = found["versions"]
        for check, scores in found["scores"].items():
            for name, score in scores.items():
                new = {"name": name, "use": found["uses"][name], "checks": {}}
                tools.setdefault(name, new)["checks"][check] = score
    record["tools"] = list(tools.values())
    write_if_changed(root / RECORD, scores_json(record))
    print(f"wrote {RECORD}")
    return 0
