"""Explain in one line why .venv cannot be set up. Old Python versions must accept this file."""

import re

OLDEST, NEWEST = (3, 11), (3, 14)  # The pinned JAX supports these versions.

NO_DISK = re.compile(r"No space left on device|Errno 28|WinError 112|Disk quota exceeded")
NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|Max retries exceeded"
    r"|Temporary failure in name resolution|getaddrinfo failed|Network is unreachable"
    r"|ProxyError|SSLError|Connection (?:refused|reset|aborted)"
)


class BootstrapError(Exception):
    """Raised if .venv cannot be set up. The message says why on one line."""


def check_version(version, executable):
    """Check that the pinned JAX supports a version of Python.

    Args:
        version: The version as a sequence that starts with the major and minor numbers.
        executable: The path of the interpreter, for the message.

    Raises:
        BootstrapError: If the version is too old or too new.
    """
    if not OLDEST <= tuple(version[:2]) <= NEWEST:
        raise BootstrapError(
            "Python must be {}.{} to {}.{}, got {}.{} ({}). "
            "Choose a different one: make PYTHON=python3.11 book".format(
                *(OLDEST + NEWEST + tuple(version[:2]) + (executable,))
            )
        )


def check_disk(free, needed):
    """Check that the disk has enough free space for .venv.

    Args:
        free: The free space in gigabytes.
        needed: The required space in gigabytes.

    Raises:
        BootstrapError: If `free` is less than `needed`.
    """
    if free < needed:
        raise BootstrapError(
            ".venv needs about {:.1f} GB on disk, but only {:.1f} GB is free".format(needed, free)
        )


def find_reason(log):
    """Return one line that says why pip failed, based on pip's output."""
    if NO_DISK.search(log):
        return "the disk is full"
    if NO_NETWORK.search(log):
        return "the network or the package index cannot be reached"
    errors = [line for line in log.splitlines() if line.startswith("ERROR:")]
    lines = errors or [line for line in log.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it printed no message"
