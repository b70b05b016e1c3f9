"""Run every chapter and the library's tests in the environments in ``environments.toml``.

    python -m book_tools versions                 all environments
    python -m book_tools versions --only colab    only this environment
    python -m book_tools versions --chapter 04    only this chapter, without recording the results
    python -m book_tools versions --detectors     only score the detectors and JAX's own switches
    python -m book_tools versions --page          only write the page from the recorded results

The program records the results in ``reference/versions/`` and the detectors' scores on the labeled
cases in ``reference/detectors/``. From them, it writes the page *Behavior by version* and the list
of tested environments that `jaxbits.runtime` reports. It prints all differences from the book
and fails if any of them is not declared.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import functools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from book_tools.chapters.chapter_files import ChapterFileError, find_chapters
from book_tools.environment import environments, provision
from book_tools.environment.environments import Environment, Specification
from book_tools.environment.interpreters import EnvironmentUnavailable
from book_tools.files import write_if_changed
from book_tools.pages.behavior_by_version import versions_page
from book_tools.processes import available_cores
from book_tools.project_metadata import ROOT
from book_tools.versions import detector_metrics
from book_tools.versions.chapter_cells import ChapterCells, read_chapter_cells
from book_tools.versions.compare_runs import (
    Difference,
    Record,
    find_differences,
    fully_checked_environments,
)
from book_tools.versions.run_in_environment import (
    describe_environment,
    run_chapter,
    run_tests,
    score_detectors,
)
from book_tools.versions.run_record import as_json_value

Say = Callable[[str], None]


def read_records(folder: Path) -> dict[str, Any]:
    """Return the recorded runs, keyed by environment, in the order of ``environments.toml``."""
    names = environments.load_specifications()
    files = {name: folder / f"{name}.json" for name in names}
    return {n: json.loads(f.read_text("utf8")) for n, f in files.items() if f.is_file()}


def record_json(value: Any) -> str:
    """Return a record as JSON text, as it is stored."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def run_environment(
    environment: Environment, chapters: Sequence[ChapterCells], root: Path, say: Say
) -> dict[str, Any]:
    """Run the chapters and the library's tests in one environment, and return the record.

    Args:
        environment: The environment to run in.
        chapters: The chapters to run.
        root: The project's folder.
        say: A function that reports progress.

    Raises:
        RuntimeError: If the environment cannot import the library or JAX.
    """
    described = describe_environment(environment)
    # On an accelerator, run one chapter at a time, because several would compete for memory.
    workers = available_cores() if described["backend"] == "cpu" else 1
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        results = list(pool.map(lambda chapter: run_chapter(chapter, environment), chapters))
    say(f"{len(chapters)} chapters are done; running the library's tests")
    specification = environment.specification
    return {
        "name": specification.name,
        "title": specification.title,
        "about": specification.about,
        "date": _today(),
        **described,
        "tests": run_tests(environment, root),
        "chapters": {c.stem: as_json_value(r) for c, r in zip(chapters, results, strict=True)},
    }


def record_scores(environment: Environment, root: Path, switches: bool, say: Say) -> None:
    """Score the detectors in one environment, and write the record.

    Args:
        environment: The environment to score in.
        root: The project's folder.
        switches: Whether to score JAX's own switches as well, which happens only in the locked
            environment. If they are not scored, their recorded scores stay the same.
        say: A function that reports progress.

    Raises:
        RuntimeError: If the scoring program fails.
    """
    started = time.monotonic()
    specification = environment.specification
    name = specification.name
    scores = score_detectors(environment, root, switches and specification.kind == "lock")
    before = detector_metrics.read_scores(root, [name]).get(name, {})
    scores = {
        "title": specification.title,
        "jax": describe_environment(environment)["versions"]["jax"],
        "date": _today(),
        **({"switches": before["switches"]} if "switches" in before else {}),
        **scores,
    }
    path = root / "reference" / detector_metrics.FOLDER / f"{name}.json"
    write_if_changed(path, detector_metrics.scores_json(scores))
    summary = detector_metrics.summarize_scores(scores)
    say(f"detectors: {summary}; {time.monotonic() - started:.0f} s")


def recorded_page(root: Path) -> str:
    """Return the text of the page *Behavior by version* for the recorded runs."""
    records = read_records(root / "reference" / "versions")
    scored = detector_metrics.read_scores(root, list(records))
    totals = {name: detector_metrics.summarize_scores(scores) for name, scores in scored.items()}
    return versions_page(records, totals)


def write_page_and_list(root: Path) -> None:
    """Write the page and the library's list of tested environments from the recorded runs."""
    records = read_records(root / "reference" / "versions")
    write_if_changed(root / "reference" / "behaviour-by-version.md", recorded_page(root))
    tested = {"environments": fully_checked_environments(records)}
    write_if_changed(root / "src" / "jaxbits" / "tested.json", record_json(tested))


def summarize_run(record: Record, seconds: float) -> str:
    """Return a one-line summary of a run.

    Args:
        record: The record of the run.
        seconds: How long the run took.
    """
    chapters = record["chapters"].values()
    claims = [claim["outcome"] for chapter in chapters for claim in chapter["claims"]]
    errors = sum(bool(error["names"]) for chapter in chapters for error in chapter["errors"])
    tests = record["tests"]
    counts = [f"{claims.count(o)} {o}" for o in ("held", "not made", "failed") if o in claims]
    outcomes = {
        "passed": tests["passed"],
        "failed": len(tests["failed"]),
        "skipped": tests["skipped"],
    }
    return (
        f"Python {record['versions']['python']}, jax {record['versions']['jax']}, "
        f"{record['device']}: "
        f"claims {', '.join(counts) or 'none'}; {errors} errors shown; "
        f"tests {', '.join(f'{n} {word}' for word, n in outcomes.items() if n)}; {seconds:.0f} s"
    )


def _print_differences(name: str, found: list[Difference]) -> bool:
    """Print the differences in one environment, and return whether all are declared."""
    for difference, times in Counter(found).items():
        mark = "declared  " if difference.declared else "UNDECLARED"
        often = f" ({times} times)" if times > 1 else ""
        print(f"  {mark}  {name:<11} {difference.where}\n              {difference.what}{often}")
    return all(difference.declared for difference in found)


def _report_progress(name: str, text: str) -> None:
    print(f"{name}: {text}", flush=True)


def _run_all(
    specifications: Mapping[str, Specification],
    chapters: Sequence[ChapterCells],
    root: Path,
    options: argparse.Namespace,
) -> tuple[dict[str, Any], list[str]]:
    """Run each environment, and return the records and the names of failed environments."""
    folder = root / "reference" / "versions"
    before, records, failed = read_records(folder), dict[str, Any](), list[str]()
    # Some of the library's tests import PyTorch, and they run with any chapter.
    needs_torch = bool(chapters)
    for name, specification in specifications.items():
        say = functools.partial(_report_progress, name)
        started = time.monotonic()
        try:
            environment = provision.prepare(specification, root, torch=needs_torch, say=say)
            if not options.chapter:
                record_scores(environment, root, options.detectors, say)
            if options.detectors:
                continue
            records[name] = run_environment(environment, chapters, root, say)
        except EnvironmentUnavailable as reason:
            kept = f"; keeping the record from {before[name]['date']}" if name in before else ""
            say(f"skipped: {reason}{kept}")
            continue
        except (provision.ProvisioningError, RuntimeError) as error:
            say(f"failed: {error}")
            failed.append(name)
            continue
        say(summarize_run(records[name], time.monotonic() - started))
        if not options.chapter:
            write_if_changed(folder / f"{name}.json", record_json(records[name]))
    return records, failed


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="ENVIRONMENT", help="run only this one")
    parser.add_argument("--chapter", action="append", default=[], metavar="NAME", help="such as 04")
    parser.add_argument("--detectors", action="store_true", help="only score the detectors")
    parser.add_argument("--page", action="store_true", help="only write the page from the records")
    options = parser.parse_args(arguments)
    if options.page:
        write_page_and_list(root)
        return 0
    specifications = environments.load_specifications()
    if unknown := sorted(set(options.only or ()) - set(specifications)):
        known = ", ".join(map(repr, specifications))
        print(f"ENVIRONMENT must be one of {known}; got {unknown[0]!r}", file=sys.stderr)
        return 2
    wanted = {n: s for n, s in specifications.items() if not options.only or n in options.only}
    try:
        files = find_chapters(options.chapter, root / "chapters")
        # Read the text only once, so that all environments run the same text.
        chapters = [] if options.detectors else [read_chapter_cells(one) for one in files]
    except ChapterFileError as error:
        print(error, file=sys.stderr)
        return 2
    book = read_records(root / "reference" / "versions").get("lock")
    records, failed = _run_all(wanted, chapters, root, options)
    book = records.get("lock", book)
    ran = records or options.detectors
    print("Differences from the book:" if ran else "Nothing was run.")
    declared = [_print_differences(n, find_differences(r, book)) for n, r in records.items()]
    if not options.chapter:
        scored = detector_metrics.read_scores(root, list(specifications))
        differing = detector_metrics.compare_scores(scored)
        declared += [_print_differences(name, found) for name, found in differing.items()]
        write_page_and_list(root)
    if not all(declared):
        print("Some differences are not declared.")
    elif failed:
        print(f"Failed: {', '.join(failed)}.")
    else:
        print("All differences are declared.")
    return int(bool(failed) or not all(declared))
