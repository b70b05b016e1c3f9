"""Four ways to start two workers of PyTorch's loader beside JAX: which answer, and which do not.

Each runs in a process of its own under a time limit. What the worker of the one that does not
answer is doing, Python's faulthandler has written down.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from measure import spread

TITLE = f"two workers, forked or spawned, with NumPy or JAX in them (torch {torch.__version__})"
LIMIT, LONGEST, ROUNDS = 15, 60, 3

SAMPLES = """
import faulthandler
import numpy as np

class Sines:
    def __init__(self, kind):
        self.kind = kind
    def __len__(self):
        return 64
    def __getitem__(self, i):
        if self.kind == "JAX":
            faulthandler.dump_traceback_later(8, file=open("stands.txt", "w"))
            import jax.numpy as jnp
            value = np.asarray(jnp.sin(jnp.ones((300, 300)) * i)).sum()
            faulthandler.cancel_dump_traceback_later()
            return value
        return np.sin(np.ones((300, 300)) * i).sum()
"""
MAIN = """
import sys, time
import jax.numpy as jnp
from torch.utils.data import DataLoader
from samples import Sines

if __name__ == "__main__":
    method, kind, limit = sys.argv[1:]
    table = jnp.ones((500, 500))
    (table @ table).block_until_ready()
    loader = DataLoader(Sines(kind), batch_size=8, num_workers=2, timeout=int(limit),
                        multiprocessing_context=method)
    began = time.perf_counter()
    total = sum(float(batch.sum()) for batch in loader)
    print(time.perf_counter() - began)
"""


def once(folder: Path, method: str, kind: str) -> tuple[str, float, str]:
    """Run one of the four, and return what came of it, after how long, and its last words."""
    command = [sys.executable, "main.py", method, kind, str(LIMIT)]
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
        try:
            os.killpg(child.pid, signal.SIGKILL)  # hung workers, too
        except ProcessLookupError:
            pass
    if child.returncode == 0:
        return "done", float(said), "warned" if "os.fork() was called" in warned else ""
    last = warned.strip().splitlines()[-1]
    if "timed out" not in last:
        raise RuntimeError(f"{method}, {kind}: {last}")
    return "no answer", float(LIMIT), last


def stands(folder: Path) -> list[str]:
    """Return where the worker stood: functions, innermost first, down to the data set's own."""
    lines = (folder / "stands.txt").read_text("utf8").splitlines()
    found = []
    for line in lines:
        if '"' not in line:
            continue
        file, _, rest = line.strip().removeprefix('File "').partition('", line ')
        found.append(f"{Path(file).parent.name}/{Path(file).name}: {rest.split(' in ')[-1]}")
        if file.endswith("samples.py"):
            break
    return found


def run() -> dict[str, Any]:
    """Run each of the four a few times."""
    results, series = {}, {}
    for method in ("fork", "spawn"):
        for kind in ("NumPy", "JAX"):
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch)
                (folder / "samples.py").write_text(SAMPLES, encoding="utf8")
                (folder / "main.py").write_text(MAIN, encoding="utf8")
                runs = [once(folder, method, kind) for _ in range(ROUNDS)]
                name = f"{method}, {kind}"
                results[name] = spread([seconds for _, seconds, _ in runs], "s")
                series[name] = {
                    "outcomes": [outcome for outcome, _, _ in runs],
                    "words": sorted({words for _, _, words in runs}),
                }
                if "no answer" in series[name]["outcomes"]:
                    series[name]["stands"] = stands(folder)
    return {
        "results": results,
        "series": {"limit": LIMIT, **series},
        "checks": {
            "JAX in a forked worker never answers": set(series["fork, JAX"]["outcomes"])
            == {"no answer"},
            "the other three do": all(
                set(series[name]["outcomes"]) == {"done"}
                for name in ("fork, NumPy", "spawn, NumPy", "spawn, JAX")
            ),
            "a fork warns": series["fork, NumPy"]["words"] == ["warned"],
        },
    }
