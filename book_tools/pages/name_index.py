"""Build the index of names on the pages *Coming from NumPy* and *Coming from PyTorch*."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_MODULE = re.compile(
    r"^(?:torch|np|F|x|t|rng|model|optimizer|scheduler|layer)\b(?:\.(?:nn|optim|random|linalg|autograd|utils)\b)*\W*"
)


def _slug(name: str) -> str:
    """Return a name as the id of an HTML element."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def row_ids(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the id of each row, or an empty string for a row without names.

    Args:
        rows: The rows of all groups. The id of a row comes from the first of its names.

    Raises:
        ValueError: If two rows have the same id.

    Example:
        >>> row_ids([{"names": [".detach()", "no_grad"]}, {"names": []}])
        ['name-detach', '']
    """
    ids = [f"name-{_slug(row['names'][0])}" if row["names"] else "" for row in rows]
    named = [one for one in ids if one]
    repeated = sorted({one for one in named if named.count(one) > 1})
    if repeated:
        raise ValueError(f"the first name of a row must be unique, got {', '.join(repeated)} twice")
    return ids


def sort_key(name: str) -> tuple[str, str]:
    """Return the key that sorts names by their last part, without the module.

    Example:
        >>> sorted(["x.view()", ".detach()", "torch.cat"], key=sort_key)
        ['torch.cat', '.detach()', 'x.view()']
    """
    last = _MODULE.sub("", name) or name
    return last.lower().lstrip("._"), name


def index_names(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return each name of the rows with the id of its row, in alphabetical order.

    Args:
        rows: The rows of all groups, with the ids of `row_ids`.

    Raises:
        ValueError: If two rows have the same name.
    """
    found: dict[str, str] = {}
    for row in rows:
        for name in row["names"]:
            if name in found:
                raise ValueError(f"a name must belong to one row, got {name} twice")
            found[name] = row["id"]
    return sorted(found.items(), key=lambda item: sort_key(item[0]))
