"""Provide a small handwritten record, in the format of `make versions`, for tests to modify."""

import copy
from typing import Any

CLAIM = {
    "bit": "out-of-bounds-read",
    "claim": "x[11] is the last",
    "section": "A read",
    "outcome": "held",
}
ERROR = {
    "section": "A read",
    "declared": "IndexError",
    "tagged": True,
    "comparison": False,
    "bits": ["out-of-bounds-read"],
    "names": ["IndexError"],
    "message": "index 3 is out of bounds.\nSee https://docs.jax.dev/en/latest/errors.html",
    "explained": ["out-of-bounds-read", "float-index"],
}
RECORD = {
    "name": "lock",
    "title": "The book",
    "about": "the exact versions",
    "date": "2026-08-01",
    "versions": {"python": "3.11.7", "jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.4.6"},
    "backend": "cpu",
    "device": "cpu",
    "tests": {"passed": 3, "skipped": 0, "failed": {}},
    "chapters": {
        "04-out-of-bounds": {
            "title": "Out of bounds",
            "code": "abc",
            "claims": [CLAIM],
            "errors": [ERROR],
            "printed": [],
            "broken": "",
        }
    },
}


def record(**changes: Any) -> dict[str, Any]:
    """Return a record of the book's environment, with some top-level values replaced."""
    return copy.deepcopy(RECORD) | changes


def changed_record(kind: str, **changes: Any) -> dict[str, Any]:
    """Return another environment's record, in which the only claim or the only error is changed."""
    run = record(name="colab", title="Colab")
    run["chapters"]["04-out-of-bounds"][kind][0] |= changes
    return run


def changed_chapter(**changes: Any) -> dict[str, Any]:
    """Return another environment's record, in which the only chapter is changed."""
    run = record(name="colab", title="Colab")
    run["chapters"]["04-out-of-bounds"] |= changes
    return run
