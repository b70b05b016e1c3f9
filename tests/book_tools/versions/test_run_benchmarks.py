"""Test the timing helpers and the format of the recorded results."""

import json
from pathlib import Path

import pytest

from book_tools.benchmarking import run_benchmarks, timing

ROOT = Path(__file__).resolve().parents[3]
SPREAD = {"unit": "ms", "median": 2.0, "q1": 1.0, "q3": 3.0, "repeats": 3}
GOOD = """
from book_tools.benchmarking.timing import quartiles
TITLE = "a toy"
def run():
    return {"results": {"one": quartiles([1.0, 2.0, 3.0], "ms")}, "checks": {"fast": %s}}
"""


@pytest.fixture
def toy_benchmark(tmp_path):
    """Return a pair: a function that runs a benchmark's source, and the path of its record."""
    (tmp_path / "benchmarks").mkdir()

    def run(text, *arguments):
        (tmp_path / "benchmarks" / "toy.py").write_text(text)
        return run_benchmarks.main(arguments, tmp_path / "benchmarks", tmp_path / "recorded")

    return run, tmp_path / "recorded" / "toy.json"


def test_run_benchmarks_records_machine_and_versions(toy_benchmark, capsys):
    run, file = toy_benchmark
    assert run(GOOD % True) == 0
    recorded = json.loads(file.read_text("utf8"))
    assert set(recorded) == {
        "name", "title", "date", "machine", "versions", "results", "checks",
    }  # fmt: skip
    assert set(recorded["machine"]) == {"cpu", "cores"}
    assert {"python", "jax", "jaxlib", "numpy"} == set(recorded["versions"])
    assert recorded["results"]["one"]["median"] == 2.0
    output = capsys.readouterr().out
    assert "2 ms" in output
    assert "✓ fast" in output


def test_run_benchmarks_fails_if_check_fails(toy_benchmark, capsys):
    run, file = toy_benchmark
    assert run(GOOD % False) == 1
    assert "✗ fast" in capsys.readouterr().out
    assert file.exists(), "the results must be recorded even if a check fails"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TITLE = ''\ndef run(): raise ValueError('bad luck')", "toy: ValueError: bad luck"),
        ("TITLE = ''\ndef run(): return 1", "toy: run() must return a dict with results, got 1"),
        ("TITLE = ''\ndef run(): return {'results': {'a': {}}}", "toy: results 'a' must have"),
    ],
)
def test_run_benchmarks_names_broken_benchmark(toy_benchmark, capsys, text, message):
    run, file = toy_benchmark
    assert run(text) == 1
    assert message in capsys.readouterr().err
    assert not file.exists()


def test_run_benchmarks_dry_run_records_nothing(toy_benchmark):
    run, file = toy_benchmark
    assert run(GOOD % True, "--dry-run") == 0
    assert not file.exists()


def test_run_benchmarks_rejects_unknown_name(toy_benchmark, capsys):
    run, _ = toy_benchmark
    assert run(GOOD % True, "tyo") == 2
    assert "NAME must be one of 'toy'; got 'tyo'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"results": {}}, "must return a dict with results"),
        ({"results": {"a": SPREAD}, "notes": 1}, "got 'notes'"),
        ({"results": {"a": SPREAD | {"q1": 9}}}, "must have q1 <= median <= q3"),
        ({"results": {"a": SPREAD}, "checks": {"b": 1}}, "check 'b' must be True or False"),
    ],
)
def test_check_results_rejects_malformed_results(returned, message):
    with pytest.raises(run_benchmarks.BenchmarkError, match=message):
        run_benchmarks.check_results("toy", returned)


def test_check_results_accepts_recorded_benchmarks():
    names = [path.stem for path in sorted((ROOT / "benchmarks").glob("*.py"))]
    assert names
    for name in names:
        recorded = json.loads((run_benchmarks.RECORDED / f"{name}.json").read_text("utf8"))
        metadata = {"name", "title", "date", "machine", "versions"}
        assert metadata <= set(recorded)
        assert recorded["name"] == name
        assert set(recorded["machine"]) == {"cpu", "cores"}, (
            "a record must not contain the host name"
        )
        run_benchmarks.check_results(
            name, {key: value for key, value in recorded.items() if key not in metadata}
        )
        assert all(recorded.get("checks", {}).values())


def test_processor_name_comes_from_cpuinfo(tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text("processor : 0\nmodel name\t: A Fine CPU @ 3 GHz\n")
    assert run_benchmarks.processor_name(info) == "A Fine CPU @ 3 GHz"
    assert run_benchmarks.processor_name(tmp_path / "none")


def test_time_interleaved_alternates_between_functions():
    order = []
    functions = {name: lambda name=name: order.append(name) for name in "abc"}
    samples = timing.time_interleaved(functions, 3, {"a": 1, "b": 2, "c": 1})
    assert order == [*"abbc", *"bbca", *"cabb"]
    assert {name: len(taken) for name, taken in samples.items()} == {"a": 3, "b": 3, "c": 3}


def test_ratio_quartiles_divides_paired_samples():
    assert timing.ratio_quartiles([2.0, 40.0, 6.0], [1.0, 20.0, 3.0])["median"] == 2.0


def test_quartiles_rejects_too_few_samples():
    with pytest.raises(ValueError, match="must contain at least 3 samples, got 2"):
        timing.quartiles([1.0, 2.0], "ms")
