"""Write requirements.txt from what is installed in .venv, the environment that was tested.

    .venv/bin/python -m book_tools lock            write the lock
    .venv/bin/python -m book_tools lock --check    exit 1 if .venv and the lock differ

To take new versions: install them into .venv, run ``make test``, then this.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from importlib import metadata

from book_tools.environment.pins import LOCK
from book_tools.files import write_if_changed

HEADER = """\
# Exact versions of everything that `make book` and `make test` install: the environment the stored
# outputs come from (Python 3.11). Written by `make lock` from .venv; do not edit by hand.
# On Linux torch is the CUDA build unless the CPU build is installed first: see README.md.
"""
OURS = {"jaxbits", "pip", "wheel"}


def _name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def platform_markers() -> dict[str, str]:
    """Packages that are only ever asked for on some operating systems, with the condition."""
    asked: dict[str, set[str]] = {}
    for distribution in metadata.distributions():
        for requirement in distribution.requires or ():
            target, _, marker = requirement.partition(";")
            if "extra ==" in marker:
                continue
            match = re.match(r"[\w.-]+", target)
            if match:
                asked.setdefault(_name(match[0]), set()).add(marker.strip())
    system = re.compile(r"sys_platform|platform_system|os_name")
    return {
        name: next(iter(markers))
        for name, markers in asked.items()
        if len(markers) == 1 and system.search(next(iter(markers)))
    }


def lock() -> str:
    """The text of the lock for this environment."""
    command = [sys.executable, "-m", "pip", "freeze", "--all", "--exclude-editable"]
    frozen = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    markers = platform_markers()
    lines = []
    for line in frozen.splitlines():
        name, _, version = line.partition("==")
        if _name(name) in OURS or not version:
            continue
        version = version.split("+")[0]  # 2.13.0+cpu: the public index knows 2.13.0
        marker = markers.get(_name(name))
        lines.append(f"{name}=={version}" + (f"; {marker}" if marker else ""))
    return HEADER + "\n".join(sorted(lines, key=str.lower)) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    text = lock()
    if options.check:
        same = LOCK.exists() and LOCK.read_text(encoding="utf-8") == text
        print("requirements.txt " + ("agrees" if same else "does not agree") + " with .venv")
        return 0 if same else 1
    print("requirements.txt " + ("written" if write_if_changed(LOCK, text) else "unchanged"))
    return 0
