"""Run the benchmarks, each in a process of its own, and record what they measured.

    python -m book_tools bench                 all of them
    python -m book_tools bench jit_speed       this one
    python -m book_tools bench --dry-run       record nothing

The figures of the book are drawn from ``src/jaxbits/book/measurements/<name>.json``.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from book_tools.chapters.chapter_files import replace_file
from jaxbits import runtime

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
RECORDED = ROOT / "src" / "jaxbits" / "book" / "measurements"
SPREAD = {"unit", "median", "q1", "q3", "repeats"}


class BenchmarkError(RuntimeError):
    """A benchmark that failed or returned something else than results; the message names it."""


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor's model, as the system gives it."""
    if cpuinfo.is_file():
        for line in cpuinfo.read_text("utf8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    if sys.platform == "darwin":
        asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(asked, capture_output=True, text=True).stdout.strip() or "unknown"
    return platform.processor() or platform.machine() or "unknown"


def check(name: str, measured: Any) -> dict[str, Any]:
    """Return what a benchmark measured if it has the form that is recorded.

    Raises:
        BenchmarkError: naming the benchmark and the part that is wrong.
    """
    if not isinstance(measured, dict) or not measured.get("results"):
        raise BenchmarkError(f"{name}: run() should return a dict with results, was {measured!r}")
    known = {"results", "ratios", "series", "modules", "checks"}
    if unknown := sorted(set(measured) - known):
        raise BenchmarkError(f"{name}: {unknown[0]!r} should be one of {sorted(known)}")
    for part in ("results", "ratios"):
        for label, values in measured.get(part, {}).items():
            if not isinstance(values, dict) or set(values) != SPREAD:
                raise BenchmarkError(
                    f"{name}: {part} {label!r} should have the keys {sorted(SPREAD)}"
                )
            if not values["q1"] <= values["median"] <= values["q3"]:
                raise BenchmarkError(f"{name}: {part} {label!r} should have q1 <= median <= q3")
    for label, held in measured.get("checks", {}).items():
        if not isinstance(held, bool):
            raise BenchmarkError(f"{name}: check {label!r} should be true or false, was {held!r}")
    return measured


def in_this_process(path: Path) -> Any:
    """Load a benchmark's file and return its title and what its `run` measures."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BenchmarkError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"title": module.TITLE, "measured": module.run()}


def in_its_own_process(path: Path) -> dict[str, Any]:
    """Run a benchmark in a fresh interpreter and return what is to be recorded."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_", "JAXBITS_"))}
    command = [sys.executable, "-m", "book_tools", "bench", "--child", str(path.resolve())]
    env |= {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BenchmarkError(f"{path.stem}: {last}")
    said = json.loads(done.stdout.splitlines()[-1])
    return {
        "name": path.stem,
        "title": said["title"],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {"cpu": processor(), "cores": os.cpu_count()},
        "versions": {
            k: v
            for k, v in runtime.versions().items()
            if k in {"python", "jax", "jaxlib", "numpy"} or k in path.read_text("utf8")
        },
        **check(path.stem, said["measured"]),
    }


def table(record: Mapping[str, Any]) -> str:
    """Return a benchmark's results as lines for a person."""
    machine = record["machine"]
    lines = [f"{record['name']}: {record['title']} ({machine['cpu']}, {machine['cores']} cores)"]
    for part in ("results", "ratios"):
        for label, v in record.get(part, {}).items():
            label += ", ratio" if part == "ratios" else ""
            spread = f"{v['q1']:.4g} to {v['q3']:.4g}, {v['repeats']} samples"
            lines.append(f"  {label:<42}{v['median']:>10.4g} {v['unit']:<5} ({spread})")
    lines += [f"  {'✓' if held else '✗'} {text}" for text, held in record.get("checks", {}).items()]
    return "\n".join(lines)


def main(
    arguments: Sequence[str] | None = None, benchmarks: Path = BENCHMARKS, recorded: Path = RECORDED
) -> int:
    """Do what the command line says, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks, such as jit_speed")
    parser.add_argument("--dry-run", action="store_true", help="record nothing")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(in_this_process(options.child)))
        return 0
    files = {path.stem: path for path in sorted(benchmarks.glob("*.py"))}
    if unknown := [name for name in options.names if name not in files]:
        print(
            f"no benchmark is called {unknown[0]!r}; there are: {', '.join(files)}", file=sys.stderr
        )
        return 2
    held = True
    for name in options.names or files:
        try:
            record = in_its_own_process(files[name])
        except BenchmarkError as error:
            print(error, file=sys.stderr)
            held = False
            continue
        print(table(record), flush=True)
        held = held and all(record.get("checks", {}).values())
        if not options.dry_run:
            recorded.mkdir(parents=True, exist_ok=True)
            text = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
            replace_file(recorded / f"{name}.json", text)
    return 0 if held else 1
