"""Find out which functions and features the differences between versions of JAX are about.

The page *Behavior by version* begins with an index of these names. They come from the texts of the
recorded claims and from the titles of the sharp bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_CODE = re.compile(r"`([^`]+)`")
# A name in a module of JAX or Flax, an option of JAX, or an identifier that is not a keyword
# argument.
_NAME = re.compile(
    r"(?<![\w.])(?:(?:jax|jnp|lax|nnx|nn|flax|optax|variable)(?:\.[A-Za-z_]\w*)+"
    r"|jax_\w+|[A-Za-z_]\w*(?!\w|\s?=[^=]))"
)
_MODULES = {"jax.tree", "jax.random", "jax.debug"}
# The names that claims use without a module, with the form in which the index lists them.
_WITHOUT_MODULE = {
    "P": "PartitionSpec",
    "Ref": "Ref",
    "PartitionSpec": "PartitionSpec",
    "asarray": "jnp.asarray",
    "checkify": "checkify",
    "checkpoint": "checkpoint",
    "cond": "cond",
    "from_dlpack": "jnp.from_dlpack",
    "grad": "grad",
    "hstack": "jnp.hstack",
    "jit": "jit",
    "jvp": "jvp",
    "mesh": "with mesh:",
    "nanargmin": "jnp.nanargmin",
    "pmap": "pmap",
    "pmean": "pmean",
    "ppermute": "ppermute",
    "scan": "scan",
    "softmax": "softmax",
    "sow": "sow",
    "svd": "jnp.linalg.svd",
    "vmap": "vmap",
    "vstack": "jnp.vstack",
}


@dataclass(frozen=True)
class Change:
    """A difference between versions of one package, as the index shows it.

    Attributes:
        anchor: The id of its place on the page.
        text: What differs, as a line of text with code in backticks.
        versions: The versions to which it applies, such as ``jax>=0.8``, or an empty string.
        section: The heading of the section that is about it.
    """

    anchor: str
    text: str
    versions: str = ""
    section: str = ""

    @property
    def needs_section(self) -> bool:
        """Whether the text does not say which function or feature it is about."""
        return not names_in(without_code(self.text))


def names_in(text: str) -> list[str]:
    """Return the names of functions and features in a line of text, once each.

    Args:
        text: The text, without backticks.

    Example:
        >>> names_in("under vmap, jnp.clip(x, a_min=0) and jax.lax.scan raise")
        ['vmap', 'jnp.clip', 'scan']
        >>> names_in("make_mesh does not exist")
        ['make_mesh']
    """
    found = []
    for name in _NAME.findall(text):
        if name in _WITHOUT_MODULE:
            found.append(_WITHOUT_MODULE[name])
        elif "." in name:
            short = re.sub(r"^(?:jax\.)?lax\.", "jax.", re.sub(r"^jax\.numpy\.", "jnp.", name))
            is_long = short in _MODULES or short.count(".") > 1
            found.append(short if is_long else short.removeprefix("jax."))
        elif "_" in name.strip("_"):
            found.append(name)
    return list(dict.fromkeys(found))


def without_code(text: str) -> str:
    """Return a line of text without its code in backticks.

    Claims use backticks for functions of the chapter and for the classes of errors, but not for the
    names of functions of JAX.
    """
    return _CODE.sub("", text)


def names_of_change(text: str, title: str) -> list[str]:
    """Return the names that a difference is about.

    Args:
        text: What differs. Its code in backticks does not count.
        title: The title of the sharp bit. Its code counts if the text contains no name.

    Example:
        >>> names_of_change("12 rows raise, too", "`pmap` runs one call per device")
        ['pmap']
        >>> names_of_change("jnp.asarray copies", "`jax.device_put` may share the memory")
        ['jnp.asarray']
    """
    return names_in(without_code(text)) or names_in(" ".join(_CODE.findall(title)))


def index_changes(changes: Mapping[Change, Iterable[str]]) -> list[tuple[str, list[Change]]]:
    """Return each name with its changes, in alphabetical order of the last parts of the names.

    Args:
        changes: The names of each change.
    """
    found: dict[str, list[Change]] = {}
    for change, names in changes.items():
        for name in names:
            found.setdefault(name, []).append(change)
    return sorted(found.items(), key=lambda item: (item[0].rpartition(".")[2].lower(), item[0]))
