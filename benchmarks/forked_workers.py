"""Determine whether a PyTorch loader's forked or spawned workers deadlock if JAX is running.

Each run has its own process and a time limit. If a worker does not answer, Python's faulthandler
records the worker's stack.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from book_tools.benchmarking.timing import quartiles

TITLE = f"two workers, forked or spawned, with NumPy or JAX in them (torch {torch.__version__})"
LIMIT, LONGEST, ROUNDS = 10, 90, 3

WAYS = {
    "forked, NumPy": ("fork", "NumPy", 300, False),
    "forked, JAX": ("fork", "JAX", 300, False),
    "forked, JAX compiled before": ("fork", "JAX", 300, True),
    "the same, nine numbers": ("fork", "JAX", 3, True),
    "spawned, NumPy": ("spawn", "NumPy", 300, False),
    "spawned, JAX": ("spawn", "JAX", 300, False),
}
"""The start method, the library, the table's side, and whether JAX has already compiled."""

SILENT = ("forked, JAX", "forked, JAX compiled before")

SAMPLES = """
import faulthandler
import os
import numpy as np

class Sines:
    def __init__(self, kind, side):
        self.kind, self.side = kind, side
    def __len__(self):
        return 64
    def __getitem__(self, i):
        if self.kind == "NumPy":
            return np.sin(np.ones((self.side, self.side)) * i).sum()
        faulthandler.dump_traceback_later(5, file=open(f"stands-{os.getpid()}.txt", "w"))
        import jax.numpy as jnp
        value = np.asarray(jnp.sin(jnp.ones((self.side, self.side)) * i)).sum()
        faulthandler.cancel_dump_traceback_later()
        return value
"""
MAIN = """
import sys, time
import jax.numpy as jnp
from torch.utils.data import DataLoader
from samples import Sines

if __name__ == "__main__":
    method, kind, side, before, limit = sys.argv[1:]
    data = Sines(kind, int(side))
    table = jnp.ones((500, 500))
    (table @ table).block_until_ready()
    if before == "True":
        data[1], data[2]
    loader = DataLoader(data, batch_size=8, num_workers=2, timeout=int(limit),
                        multiprocessing_context=method)
    began = time.perf_counter()
    total = sum(float(batch.sum()) for batch in loader)
    print(time.perf_counter() - began)
"""


def _once(way: tuple[Any, ...]) -> tuple[str, float, str, list[str]]:
    """Return a run's outcome, duration, and last output, and the stack of a worker that hung."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "samples.py").write_text(SAMPLES, encoding="utf8")
        (folder / "main.py").write_text(MAIN, encoding="utf8")
        outcome, seconds, words = _in_folder(folder, way)
        return outcome, seconds, words, _worker_stack(folder) if outcome == "no answer" else []


def _in_folder(folder: Path, way: tuple[Any, ...]) -> tuple[str, float, str]:
    """Run the program in a folder with a time limit, and end all processes that it starts."""
    command = [
        sys.executable,
        "main.py",
        *map(str, way),
        str(LIMIT if way[0] == "fork" else LONGEST),
    ]
    child = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, warned = child.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return "no answer", float(LONGEST), "still running"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # This also kills hung workers.
    if child.returncode == 0:
        return "done", float(said), "warned" if "os.fork() was called" in warned else ""
    last = warned.strip().splitlines()[-1]
    if "timed out" not in last:
        raise RuntimeError(f"{way}: {last}")
    return "no answer", float(LIMIT), last


def _worker_stack(folder: Path) -> list[str]:
    """Return a worker's stack above the dataset's own function, innermost frame first.

    Raises:
        RuntimeError: If no worker recorded its stack.
    """
    found: list[str] = []
    written = [path.read_text("utf8") for path in sorted(folder.glob("stands-*.txt"))]
    for line in next((text for text in written if "samples.py" in text), "").splitlines():
        if '"' not in line:
            continue
        file, _, rest = line.strip().removeprefix('File "').partition('", line ')
        if file.endswith("samples.py"):
            return found
        found.append(f"{Path(file).parent.name}/{Path(file).name}: {rest.split(' in ')[-1]}")
    raise RuntimeError("no worker recorded its stack")


def run() -> dict[str, Any]:
    """Run each configuration a few times, and return the outcomes."""
    results, series = {}, {}
    for name, way in WAYS.items():
        with ThreadPoolExecutor(ROUNDS if name in SILENT else 1) as pool:  # Waiting costs nothing.
            runs = list(pool.map(_once, [way] * ROUNDS))
        results[name] = quartiles([seconds for _, seconds, *_ in runs], "s")
        series[name] = {
            "outcomes": [outcome for outcome, *_ in runs],
            "words": sorted({words for _, _, words, _ in runs}),
        }
        if name in SILENT:
            series[name]["stands"] = runs[0][3]
    return {
        "results": results,
        "series": {"limit": LIMIT, **series},
        "checks": {
            "JAX in a forked worker does not answer": all(
                set(series[name]["outcomes"]) == {"no answer"} for name in SILENT
            ),
            "the others do": all(
                set(series[name]["outcomes"]) == {"done"} for name in WAYS if name not in SILENT
            ),
            "a fork warns": series["forked, NumPy"]["words"] == ["warned"],
        },
    }
