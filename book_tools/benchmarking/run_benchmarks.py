"""Run the benchmarks, each in its own process, and record the results.

    python -m book_tools bench                 all benchmarks
    python -m book_tools bench jit_speed       only this benchmark
    python -m book_tools bench --dry-run       do not record the results

The program writes the results to ``src/jaxbits/book/measurements/<name>.json``, from which the
book's figures are drawn.
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

from book_tools.files import write_if_changed
from book_tools.processes import clean_environment, last_line
from book_tools.project_metadata import ROOT
from jaxbits import runtime

BENCHMARKS = ROOT / "benchmarks"
RECORDED = ROOT / "src" / "jaxbits" / "book" / "measurements"
QUARTILES = {"unit", "median", "q1", "q3", "repeats"}


class BenchmarkError(RuntimeError):
    """Raised if a benchmark fails or returns malformed results. The message names the benchmark."""


def processor_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the model name of the processor.

    Args:
        cpuinfo: The file that contains the name on Linux.
    """
    if cpuinfo.is_file():
        for line in cpuinfo.read_text("utf8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"
    return platform.processor() or platform.machine() or "unknown"


def check_results(name: str, measured: Any) -> dict[str, Any]:
    """Return the results of a benchmark unchanged if they are well-formed.

    Args:
        name: The name of the benchmark.
        measured: The value that the benchmark's function `run` returned.

    Raises:
        BenchmarkError: If the results are not well-formed.
    """
    if not isinstance(measured, dict) or not measured.get("results"):
        raise BenchmarkError(f"{name}: run() must return a dict with results, got {measured!r}")
    known = {"results", "ratios", "series", "modules", "checks"}
    if unknown := sorted(set(measured) - known):
        raise BenchmarkError(f"{name}: key must be one of {sorted(known)}; got {unknown[0]!r}")
    for part in ("results", "ratios"):
        for label, values in measured.get(part, {}).items():
            if not isinstance(values, dict) or set(values) != QUARTILES:
                raise BenchmarkError(
                    f"{name}: {part} {label!r} must have the keys {sorted(QUARTILES)}"
                )
            if not values["q1"] <= values["median"] <= values["q3"]:
                raise BenchmarkError(f"{name}: {part} {label!r} must have q1 <= median <= q3")
    for label, held in measured.get("checks", {}).items():
        if not isinstance(held, bool):
            raise BenchmarkError(f"{name}: check {label!r} must be True or False, got {held!r}")
    return measured


def run_here(path: Path) -> Any:
    """Run a benchmark in this process, and return its title and results.

    Raises:
        BenchmarkError: If the file is not a Python module.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BenchmarkError(f"{path.name} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"title": module.TITLE, "measured": module.run()}


def run_in_process(path: Path) -> dict[str, Any]:
    """Run a benchmark in a new interpreter, and return the record of its results.

    Raises:
        BenchmarkError: If the benchmark fails, or if its results are malformed.
    """
    command = [sys.executable, "-m", "book_tools", "bench", "--child", str(path.resolve())]
    env = clean_environment("JAXBITS_") | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        raise BenchmarkError(f"{path.stem}: {last_line(done.stderr)}")
    reply = json.loads(done.stdout.splitlines()[-1])
    return {
        "name": path.stem,
        "title": reply["title"],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {"cpu": processor_name(), "cores": os.cpu_count()},
        "versions": {
            k: v
            for k, v in runtime.versions().items()
            if k in {"python", "jax", "jaxlib", "numpy"} or k in path.read_text("utf8")
        },
        **check_results(path.stem, reply["measured"]),
    }


def format_record(record: Mapping[str, Any]) -> str:
    """Return a record as human-readable text."""
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
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks, such as jit_speed")
    parser.add_argument("--dry-run", action="store_true", help="record nothing")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(run_here(options.child)))
        return 0
    files = {path.stem: path for path in sorted(benchmarks.glob("*.py"))}
    if unknown := [name for name in options.names if name not in files]:
        print(
            f"NAME must be one of {', '.join(map(repr, files))}; got {unknown[0]!r}",
            file=sys.stderr,
        )
        return 2
    held = True
    for name in options.names or files:
        try:
            record = run_in_process(files[name])
        except BenchmarkError as error:
            print(error, file=sys.stderr)
            held = False
            continue
        print(format_record(record), flush=True)
        held = held and all(record.get("checks", {}).values())
        if not options.dry_run:
            recorded.mkdir(parents=True, exist_ok=True)
            text = json.dumps(record, ensure_ascii=False, indent=1) + "\n"
            write_if_changed(recorded / f"{name}.json", text)
    return 0 if held else 1
