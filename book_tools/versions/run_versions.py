"""Run every chapter and the library's tests in the environments of ``environments.toml``.

    python -m book_tools versions                  all environments
    python -m book_tools versions --only colab     this one
    python -m book_tools versions --chapter 04     only this chapter, nothing recorded
    python -m book_tools versions --detectors      only score the detectors, and JAX's switches too
    python -m book_tools versions --page           only write the page again from what is recorded

Records what happened in ``reference/versions/`` and the detectors' scores on the labelled cases in
``reference/detectors/``, writes the page *Behaviour by version* and the list that `jaxbits.runtime`
reports from, prints what differs, and fails on anything undeclared.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from book_tools.chapters.chapter_files import PairError, find, replace_file
from book_tools.chapters.execute import cores
from book_tools.environment import environments, provision
from book_tools.environment.interpreters import EnvironmentUnavailable
from book_tools.pages import behavior_by_version
from book_tools.versions import compare_runs, detector_metrics
from book_tools.versions.chapter_cells import Chapter, read
from book_tools.versions.run_in_environment import describe, run_chapter, run_detectors, run_tests
from book_tools.versions.run_record import as_recorded

ROOT = Path(__file__).resolve().parents[2]


def recorded(folder: Path) -> dict[str, Any]:
    """Return the recorded runs by environment, in the order of ``environments.toml``."""
    names = environments.load_specifications()
    files = {name: folder / f"{name}.json" for name in names}
    return {n: json.loads(f.read_text("utf8")) for n, f in files.items() if f.is_file()}


def as_json(value: Any) -> str:
    """Return a record as the text of its file."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def run(
    environment: environments.Environment,
    chapters: Sequence[Chapter],
    root: Path,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Run the chapters and the tests in one environment and return what is to be recorded."""
    described = describe(environment)
    # On an accelerator one chapter at a time: they would share its memory.
    workers = cores() if described["backend"] == "cpu" else 1
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        seen = list(pool.map(lambda chapter: run_chapter(chapter, environment), chapters))
    say(f"{len(chapters)} chapters run; now the library's tests")
    specification = environment.specification
    return {
        "name": specification.name,
        "title": specification.title,
        "about": specification.about,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        **described,
        "tests": run_tests(environment, root),
        "chapters": {c.stem: as_recorded(s) for c, s in zip(chapters, seen, strict=True)},
    }


def score(environment: environments.Environment, root: Path, switches: bool) -> dict[str, Any]:
    """Score the detectors in one environment, and return what is to be recorded.

    The switches are tried in the book's own environment only; without `switches`, what was
    recorded of them stays.
    """
    specification = environment.specification
    scored = run_detectors(environment, root, switches and specification.kind == "lock")
    described = describe(environment)
    before = detector_metrics.read(root, [specification.name]).get(specification.name, {})
    kept = {"switches": before["switches"]} if "switches" in before else {}
    return {
        "title": specification.title,
        "jax": described["versions"]["jax"],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        **kept,
        **scored,
    }


def record_scores(
    environment: environments.Environment, root: Path, switches: bool, say: Callable[[str], None]
) -> None:
    """Score the detectors in one environment, and write it down."""
    started = time.monotonic()
    scored = score(environment, root, switches)
    folder = root / "reference" / detector_metrics.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / f"{environment.specification.name}.json", detector_metrics.text(scored))
    say(f"detectors: {detector_metrics.total(scored)}; {time.monotonic() - started:.0f} s")


def page(root: Path) -> str:
    """Return the page *Behaviour by version* from what is recorded."""
    records = recorded(root / "reference" / "versions")
    scored = detector_metrics.read(root, list(records))
    totals = {name: detector_metrics.total(scores) for name, scores in scored.items()}
    return behavior_by_version.page(records, totals)


def write_pages(root: Path) -> None:
    """Write what follows from the recorded runs: the page, and the library's list."""
    records = recorded(root / "reference" / "versions")
    replace_file(root / "reference" / "behaviour-by-version.md", page(root))
    listed = {"environments": compare_runs.fully_checked(records)}
    replace_file(root / "src" / "jaxbits" / "tested.json", as_json(listed))


def summary(record: compare_runs.Record, seconds: float) -> str:
    """Return one line on a run."""
    claims = [c["outcome"] for chapter in record["chapters"].values() for c in chapter["claims"]]
    errors = sum(bool(e["names"]) for c in record["chapters"].values() for e in c["errors"])
    tests = record["tests"]
    counts = [f"{claims.count(o)} {o}" for o in ("held", "not made", "failed") if o in claims]
    ran = [
        f"{tests['passed']} passed",
        f"{len(tests['failed'])} failed",
        f"{tests['skipped']} skipped",
    ]
    return (
        f"Python {record['versions']['python']}, jax {record['versions']['jax']}, "
        f"{record['device']}: "
        f"claims {', '.join(counts) or 'none'}; {errors} errors shown; "
        f"tests {', '.join(x for x in ran if not x.startswith('0 '))}; {seconds:.0f} s"
    )


def _print_differences(name: str, found: list[compare_runs.Difference]) -> bool:
    """Print the table of what differs, like things together; tell whether all of it is declared."""
    counted: dict[compare_runs.Difference, int] = {}
    for difference in found:
        counted[difference] = counted.get(difference, 0) + 1
    for difference, times in counted.items():
        mark = "declared  " if difference.declared else "UNDECLARED"
        often = f" ({times} times)" if times > 1 else ""
        print(f"  {mark}  {name:<11} {difference.where}\n              {difference.what}{often}")
    return all(difference.declared for difference in found)


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Do what the command line says, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="ENVIRONMENT", help="run only this one")
    parser.add_argument("--chapter", action="append", default=[], metavar="NAME", help="such as 04")
    parser.add_argument("--detectors", action="store_true", help="only score the detectors")
    parser.add_argument("--page", action="store_true", help="only write the page from the records")
    options = parser.parse_args(arguments)
    specifications = environments.load_specifications()
    if unknown := sorted(set(options.only or ()) - set(specifications)):
        known = ", ".join(specifications)
        print(f"no environment is called {unknown[0]!r}; there are: {known}", file=sys.stderr)
        return 2
    folder = root / "reference" / "versions"
    folder.mkdir(parents=True, exist_ok=True)
    if options.page:
        write_pages(root)
        return 0
    try:
        pairs = find(options.chapter, root / "chapters")
        # Read once, so that all environments run the same text.
        chapters = [read(pair) for pair in pairs]
    except PairError as error:
        print(error, file=sys.stderr)
        return 2
    if options.detectors:
        chapters = []
    records, failed = recorded(folder), []
    ran: dict[str, Any] = {}
    for name, specification in specifications.items():
        if options.only and name not in options.only:
            continue

        def say(text: str, name: str = name) -> None:
            print(f"{name}: {text}", flush=True)

        started = time.monotonic()
        try:
            torch = any(chapter.uses_torch for chapter in chapters)
            environment = provision.prepare(specification, root, torch=torch, say=say)
            if not options.chapter:
                record_scores(environment, root, options.detectors, say)
            if options.detectors:
                continue
            ran[name] = run(environment, chapters, root, say)
        except EnvironmentUnavailable as reason:
            kept = (
                f"; what was recorded on {records[name]['date']} stays" if name in records else ""
            )
            say(f"skipped: {reason}{kept}")
            continue
        except (provision.ProvisioningError, RuntimeError) as error:
            say(f"failed: {error}")
            failed.append(name)
            continue
        say(summary(ran[name], time.monotonic() - started))
        if not options.chapter:
            replace_file(folder / f"{name}.json", as_json(ran[name]))
    book = (records | ran).get("lock")
    print("What differs from the book:" if ran or options.detectors else "Nothing was run.")
    clean = [_print_differences(n, compare_runs.judge(r, book)) for n, r in ran.items()]
    if not options.chapter:
        scored = detector_metrics.read(root, list(specifications))
        differ = detector_metrics.differences(scored)
        clean += [_print_differences(name, found) for name, found in differ.items()]
    if not options.chapter:
        write_pages(root)
    if failed or not all(clean):
        print("Not as declared: see above." if not all(clean) else f"Failed: {', '.join(failed)}.")
        return 1
    print("Nothing undeclared.")
    return 0
