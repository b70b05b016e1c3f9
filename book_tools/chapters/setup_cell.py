"""Provide the notebooks' first cell, which installs the library where it is missing."""

from __future__ import annotations

import json

_EMPTY = 'WHEEL = ""'
_SETUP = """\
import importlib.util
import subprocess
import sys
from importlib.metadata import distributions

WHEEL = ""  # the address of this book's library, in published notebooks
IN_COLAB = "google.colab" in sys.modules

problem = ""
is_missing = importlib.util.find_spec("jaxbits") is None
installed = distributions(name="jaxbits")
origins = [one.read_text("direct_url.json") or "" for one in installed]
is_outdated = any("/wheels/" in o and WHEEL not in o for o in origins)
if IN_COLAB and WHEEL and (is_missing or is_outdated):
    # --no-deps keeps the versions of JAX, NumPy, and PyTorch that Colab has.
    install = [sys.executable, "-m", "pip", "install", "--no-deps"]
    install += ["--force-reinstall", WHEEL]
    if subprocess.run(install, capture_output=True).returncode != 0:
        problem = (
            f"Colab could not download this book's library from {WHEEL}. "
            "Run this cell again in a minute, or open the notebook again "
            "from its page in the book."
        )
    importlib.invalidate_caches()
elif is_missing:
    command = (
        f'%pip install "jaxbits[book] @ {WHEEL}"` in a new cell'
        if WHEEL
        else 'pip install ".[book]"` in a copy of the project'
    )
    problem = (
        "This book's library, jaxbits, is not installed here. "
        f"Run `{command}, and then restart the kernel."
    )
if problem:
    raise RuntimeError(problem)

from jaxbits.runtime import on_accelerator, report

if IN_COLAB or on_accelerator():
    report()"""


def setup_cell(wheel: str = "") -> str:
    """Return the source of the setup cell.

    Args:
        wheel: The address of the published library. It is empty in the repository's own notebooks.
    """
    return set_wheel_url(_SETUP, wheel)


def set_wheel_url(source: str, wheel: str) -> str:
    """Return a setup cell with the address of the published library filled in.

    Args:
        source: The source of the setup cell, with an empty address.
        wheel: The address of the published library.

    Example:
        >>> set_wheel_url('WHEEL = ""', "https://owner.github.io/name/wheels/a/jaxbits.whl")
        'WHEEL = "https://owner.github.io/name/wheels/a/jaxbits.whl"'
    """
    return source.replace(_EMPTY, f"WHEEL = {json.dumps(wheel)}", 1)
