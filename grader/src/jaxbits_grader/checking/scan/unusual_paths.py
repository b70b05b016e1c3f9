"""Describe imports, dotted names, and attributes that no assignment needs.

An answer that wants to change or to read what a test uses has to get hold of it first. These rules
list what answers usually need instead of what is dangerous, so that they also catch ways
of getting hold of something that we have not thought of.
"""

from __future__ import annotations

import re
import sys

from jaxbits_grader.checking.scan import usual_names
from jaxbits_grader.checking.scan.suspicious_patterns import describe_attribute, describe_use

_SPECIAL = re.compile(r"__\w+__", re.A)


def describe_import(module: str) -> str | None:
    """Return what is odd about importing from a module, or None if nothing is.

    Example:
        >>> describe_import("numpy.linalg"), describe_import("IPython.core.compilerop")
        (None, 'imports IPython.core.compilerop')
    """
    root = module.partition(".")[0]
    if root == "IPython":
        usual = module in usual_names.IPYTHON or module.startswith("IPython.display.")
    else:
        usual = root in usual_names.MODULES
    return None if usual else f"imports {module}"


def describe_value(path: str) -> str | None:
    """Return what is odd about using the object with this dotted name as a value, or None.

    Code uses a module as a value if it does anything with it except read an attribute. The scan
    cannot follow such a module, as in ``[sys][0].modules``.

    Example:
        >>> describe_value("numpy"), describe_value("sys")
        (None, 'uses the module sys itself, not just its members')
    """
    is_module = path in sys.stdlib_module_names and path not in usual_names.PASSED_ON
    is_own = path in (*usual_names.IPYTHON, *usual_names.OWN_MODULES)
    return f"uses the module {path} itself, not just its members" if is_module or is_own else None


def describe_path(path: str) -> str | None:
    """Return what is odd about using the object with this dotted name, or None if nothing is.

    Example:
        >>> describe_path("os.path.join"), describe_path("os.sys.modules")
        (None, 'uses sys.modules')
    """
    parts = path.split(".")
    for length in range(1, len(parts)):
        prefix, member = ".".join(parts[:length]), parts[length]
        if member in usual_names.IMPORTED_ELSEWHERE and member != parts[length - 1]:
            inner = ".".join(parts[length:])
            return describe_import(member) or describe_use(inner) or describe_path(inner)
        if member.startswith("_") and not _SPECIAL.fullmatch(member):
            return f"uses {prefix}.{member}"
        allowed = usual_names.ALLOWED_MEMBERS.get(prefix)
        if allowed is not None and member not in allowed and not _SPECIAL.fullmatch(member):
            return f"uses {prefix}.{member}"
        if f"{prefix}.{member}" in usual_names.UNUSUAL_MEMBERS:
            return f"uses {prefix}.{member}"
    if parts[0] == "jax" and any(part.endswith("_p") for part in parts):
        return f"uses {path}"
    return None


def describe_surroundings(path: str) -> str | None:
    """Return a note if this object may tell a function what calls it, or None otherwise.

    Example:
        >>> describe_surroundings("os.environ.get"), describe_surroundings("os.path.join")
        ('a function uses os.environ, which may tell it what calls it', None)
    """
    parts = path.split(".")
    wholes = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    found = next((whole for whole in wholes if whole in usual_names.SURROUNDINGS), None)
    what = found and found.removeprefix("builtins.")
    return what and f"a function uses {what}, which may tell it what calls it"


def describe_attribute_in_function(name: str) -> str | None:
    """Return a note if a function that uses this attribute may count its calls, or None otherwise.

    Example:
        >>> describe_attribute_in_function("setLevel")
        'a function changes the level of a log (setLevel), which may count calls'
    """
    if name in usual_names.LEVEL_SETTERS:
        return f"a function changes the level of a log ({name}), which may count calls"
    return None


def describe_name(name: str) -> str | None:
    """Return what is odd about an attribute with this name, or None if nothing is."""
    if name in usual_names.UNUSUAL_ATTRIBUTES | usual_names.IMPORTED_ELSEWHERE:
        return f"uses the attribute {name}"
    return describe_attribute(name) or describe_special(name)


def describe_special(name: str) -> str | None:
    """Return what is odd about a special name, or None if nothing is or the name is not special."""
    if _SPECIAL.fullmatch(name) and name not in usual_names.SPECIAL_NAMES:
        return f"mentions a special attribute ({name})"
    return None
