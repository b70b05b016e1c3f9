"""Test that normalized outputs are identical on every machine and in every run."""

from __future__ import annotations

import io

import pytest
from nbval_exact.compare import compare
from tqdm import tqdm

from book_tools.chapters.normalize_outputs import apply_carriage_returns, normalize_outputs

BLOCKS = "█" * 10


def stream(text: str, name: str = "stderr") -> dict[str, str]:
    return {"output_type": "stream", "name": name, "text": text}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("no return\n", "no return\n"),
        ("one\rtwo\rthree\nfour\n", "three\nfour\n"),
        ("a line of Windows\r\nand one more\r\n", "a line of Windows\nand one more\n"),
        ("drawn\r          \r", ""),
        (
            f"\r  0%|          | 0/100 [00:00<?, ?it/s]\r100%|{BLOCKS}| 100/100 "
            "[00:00<00:00, 131.22it/s]\n",
            f"100%|{BLOCKS}| 100/100\n",
        ),
        (
            f"Epoch: 100%|{BLOCKS}| 2.00k/2.00k [1:02:03<00:00, 1.31s/it, loss=0.1, acc=1]\n",
            f"Epoch: 100%|{BLOCKS}| 2.00k/2.00k [loss=0.1, acc=1]\n",
        ),
        (" 50%|█████     | 1/2 [00:03<?, ?it/s]\n", " 50%|█████     | 1/2\n"),
        ("19it [00:00, 123.40it/s]\n", "19it\n"),
        ("x = [1, 2] and f32[2,8] [00:11]\n", "x = [1, 2] and f32[2,8] [00:11]\n"),
        ("captured 3 [0, 2]\n", "captured 3 [0, 2]\n"),
    ],
)
def test_apply_carriage_returns_matches_terminal(raw, expected):
    assert apply_carriage_returns(raw) == expected
    assert apply_carriage_returns(expected) == expected


@pytest.mark.parametrize("options", [{}, {"desc": "training"}, {"total": None}, {"leave": False}])
def test_normalize_outputs_ignores_timing_of_progress_bar(options):
    texts = []
    for min_interval in (0.0, 10.0):  # tqdm redraws on every iteration, or only on the last one
        file = io.StringIO()
        with tqdm(file=file, mininterval=min_interval, **{"total": 3, **options}) as bar:
            for _ in range(3):
                bar.update()
        texts.append(file.getvalue())
    first, second = ([stream(text)] for text in texts)
    assert texts[0] != texts[1]
    assert normalize_outputs(first) == normalize_outputs(second)
    assert compare(normalize_outputs(first), second) is None


def test_normalize_outputs_joins_pieces_of_progress_bar():
    pieces = [stream("\r 50%|█    | 1/2 [00:00<00:00, 9.1it/s]"), stream("\r100%|██| 2/2 [00:")]
    pieces.append(stream("00<00:00, 9.3it/s]\n"))
    assert normalize_outputs(pieces) == [stream("100%|██| 2/2\n")]
    found = compare([stream("100%|██| 3/3\n")], pieces)
    assert found == "stderr, line 1: stored '100%|██| 3/3\\n', now '100%|██| 2/2\\n'"


def test_normalize_outputs_leaves_shortened_path_unchanged() -> None:
    raw = [stream("cannot import name 'a' from 'b' (/opt/lib/python3/site-packages/b/c.py)")]
    once = normalize_outputs(raw)
    assert "(…/site-packages/b/c.py)" in once[0]["text"]
    assert normalize_outputs(once) == once
