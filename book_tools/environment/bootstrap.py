"""Make .venv and install the lock into it; do nothing when that has been done.

    python3 -m book_tools bootstrap            with the Python that runs this
    python3 -m book_tools bootstrap --remake   and make .venv anew if it has another Python

Only the standard library, and only syntax that old Pythons read: a Python that is too old has to
get far enough to say so.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
VENV = os.path.join(ROOT, ".venv")
LOG = os.path.join(ROOT, "_build", "bootstrap.log")

OLDEST, NEWEST = (3, 11), (3, 14)  # what the pinned JAX supports
GIGABYTES = 3.0  # .venv with the CPU build of torch, and room to unpack

NO_DISK = re.compile(r"No space left on device|Errno 28|WinError 112|Disk quota exceeded")
NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|Max retries exceeded"
    r"|Temporary failure in name resolution|getaddrinfo failed|Network is unreachable"
    r"|ProxyError|SSLError|Connection (?:refused|reset|aborted)"
)


class Refusal(Exception):
    """Why .venv cannot be made, in one line."""


def check_version(version, executable):
    """Refuse a Python that the pinned JAX does not support."""
    if not OLDEST <= tuple(version[:2]) <= NEWEST:
        raise Refusal(
            "Python {}.{} ({}) will not do: this book needs Python {}.{} to {}.{}. "
            "Say which to use: make PYTHON=python3.11 book".format(
                *(tuple(version[:2]) + (executable,) + OLDEST + NEWEST)
            )
        )


def check_disk(free, needed=GIGABYTES):
    """Refuse to begin on a disk that cannot hold .venv; both in gigabytes."""
    if free < needed:
        raise Refusal(
            "Not enough disk: .venv needs about {:.0f} GB, and {:.1f} GB are free.".format(
                needed, free
            )
        )


def reason(log):
    """What went wrong, in one line, from what pip wrote."""
    if NO_DISK.search(log):
        return "the disk is full; .venv needs about {:.0f} GB".format(GIGABYTES)
    if NO_NETWORK.search(log):
        return "the network, or the package index, cannot be reached"
    errors = [line for line in log.splitlines() if line.startswith("ERROR:")]
    lines = errors or [line for line in log.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def digest(*names):
    """A hash over files of the project."""
    found = hashlib.sha256()
    for name in names:
        with open(os.path.join(ROOT, name), "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def state():
    """What a finished .venv was made from: Python, lock and package, one line each."""
    return [
        "python {}.{}".format(*sys.version_info[:2]),
        "lock " + digest("requirements.txt"),
        "package " + digest("pyproject.toml"),
    ]


def installed():
    """What .venv was made from; nothing if it was not finished."""
    try:
        with open(os.path.join(VENV, ".installed")) as file:
            return file.read().split("\n")
    except (IOError, OSError):
        return []


def venv_python():
    """The interpreter in .venv."""
    where = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(VENV, *where)


def venv_version():
    """The version of the Python in .venv as a pair, or None if there is none that works."""
    ask = "import sys; print(*sys.version_info[:2])"
    try:
        output = subprocess.check_output([venv_python(), "-c", ask], stderr=subprocess.DEVNULL)
        return tuple(int(part) for part in output.split())
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def run(what, command):
    """Run a command, all it says going to the log; its last words become the refusal."""
    begin = time.time()
    print(what + " ...")
    sys.stdout.flush()
    with open(LOG, "ab") as log:
        start = log.tell()
        status = subprocess.call(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    if status:
        with open(LOG, "rb") as log:
            log.seek(start)
            said = log.read().decode("utf-8", "replace")
        shown = os.path.relpath(LOG, ROOT)
        raise Refusal("It failed: {} (all of it: {}).".format(reason(said), shown))
    print("  done in {:.0f} s".format(time.time() - begin))


def make_venv():
    """Make an empty .venv with the Python that runs this."""
    version = "{}.{}".format(*sys.version_info[:2])
    try:
        run("Making .venv with Python " + version, [sys.executable, "-m", "venv", VENV])
        return
    except Refusal as refusal:
        failure = refusal
    with open(LOG, "rb") as log:
        if b"ensurepip" in log.read():  # Debian ships it apart
            failure = Refusal(
                "This Python cannot make environments: install the package python"
                + version
                + "-venv, or say which Python to use: make PYTHON=python3.11 book"
            )
    raise failure


def make(remake):
    """Make or complete .venv, saying what is done."""
    check_version(sys.version_info, sys.executable)
    wanted, there = state(), installed()
    if there and not remake and there[0] != wanted[0]:
        wanted[0] = there[0]  # any supported Python will do, unless one was asked for by name
    if there[:3] == wanted and os.path.exists(venv_python()):
        return
    os.makedirs(os.path.dirname(LOG), exist_ok=True)
    open(LOG, "w").close()
    version = venv_version()
    if version is not None:
        usable = OLDEST <= version <= NEWEST and not (remake and version != sys.version_info[:2])
    if version is None or not usable:
        check_disk(shutil.disk_usage(ROOT).free / 1e9)
        if os.path.lexists(VENV):
            shutil.rmtree(VENV)
        make_venv()
        version = tuple(sys.version_info[:2])
    wanted[0] = "python {}.{}".format(*version)
    stamp = os.path.join(VENV, ".installed")
    if os.path.exists(stamp):
        os.remove(stamp)
    pip = [venv_python(), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    pip += ["--retries", "2", "--progress-bar", "off"]
    if there[1:2] != wanted[1:2]:
        run("Installing requirements.txt into .venv (minutes)", pip + ["-r", "requirements.txt"])
    run("Installing the package jaxbits", pip + ["--no-deps", "--no-build-isolation", "-e", "."])
    with open(stamp + ".new", "w") as file:
        file.write("\n".join(wanted) + "\n")
    os.replace(stamp + ".new", stamp)


def main():
    """The command line; returns the exit status."""
    try:
        make("--remake" in sys.argv[1:])
    except Refusal as refusal:
        sys.stderr.write(str(refusal) + "\n")
        return 1
    except (IOError, OSError) as error:
        sys.stderr.write("It failed: {}.\n".format(reason(str(error))))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
