"""Where a student's code runs: behind bubblewrap, with nothing of the machine but its Python.

No network, no environment, processes and users of its own; the system and this Python read-only;
folders in memory to write to; and one folder shared with the grader for the kernel's sockets.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import jaxbits
import jaxbits_grader
from jaxbits_grader.running.limits import MEGABYTE, Limits

NOBODY = 65534
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = tuple(
    f"/etc/{name}"
    for name in ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")
)
HOME, WORK = "/home/student", "/box"

HOW_TO_GET = """\
Grading needs bubblewrap, on Linux: sudo apt install bubblewrap (Debian, Ubuntu), sudo dnf install \
bubblewrap (Fedora). On macOS and Windows grade in a Linux virtual machine or in WSL 2. \
Where you trust every submission, --unsafe grades without it, and says so in the results."""


class NoSandbox(RuntimeError):
    """There is no sandbox here, or it does not hold; the message says why and what to do."""


def variables() -> dict[str, str]:
    """The environment of a student's kernel; nothing else of this process's is in it."""
    return {
        "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
        "HOME": HOME,
        "USER": "student",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "JAX_PLATFORMS": "cpu",
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": f"{HOME}/.matplotlib",
        "IPYTHONDIR": f"{HOME}/.ipython",
        "OMP_NUM_THREADS": "2",
    }


def shown() -> list[Path]:
    """The folders that a submission can read: the system, this Python, its packages, jaxbits."""
    folders = [Path(p) for p in _SYSTEM if Path(p).exists()]
    folders += [Path(sys.base_prefix), Path(sys.prefix)]
    folders += [Path(str(package.__file__)).parent for package in (jaxbits, jaxbits_grader)]
    return list(dict.fromkeys(folders))


def hides(path: Path) -> None:
    """Make sure that a submission cannot read a file or folder.

    Raises:
        NoSandbox: when it lies in a folder that a submission can read.
    """
    real = path.resolve()
    for folder in shown():
        if real == folder.resolve() or folder.resolve() in real.parents:
            raise NoSandbox(
                f"{path} lies in {folder}, which every submission can read; move it elsewhere"
            )


def bubblewrap() -> str:
    """Where bubblewrap is.

    Raises:
        NoSandbox: when it is not here.
    """
    found = shutil.which("bwrap")
    if found is None or not sys.platform.startswith("linux"):
        raise NoSandbox(f"there is no bubblewrap (bwrap) on this machine. {HOW_TO_GET}")
    return found


def command(program: list[str], shared: Path, limits: Limits) -> list[str]:
    """The command that runs a program in the sandbox.

    Args:
        program: the command inside.
        shared: the one folder that inside and outside share, at the same path; ended with the run.
        limits: what it may use.

    Raises:
        NoSandbox: when bubblewrap is not here.
    """
    bwrap = bubblewrap()
    limited = ["nice", "-n", "5", "prlimit", "--core=0", "--nofile=1024", "--"]
    limited[-1:-1] = [f"--as={limits.address_space}", f"--nproc={limits.processes}"]
    limited[-1:-1] = [f"--fsize={limits.disk_mb * MEGABYTE}"]
    root = os.geteuid() == 0
    inner = [*_closed(bwrap, shared, limits, root), "--", *limited, *program]
    # An empty environment from the start: what a process began with can be read in /proc.
    clean = ["env", "-i", f"PATH={os.defpath}"]
    if not root:
        return [*clean, *inner]
    # Root is not counted by the limit on processes, and owns too much: be nobody in particular.
    user = spare_user(shared)
    for path in (shared, *shared.iterdir()):
        os.chown(path, user, user)
    outer = [bwrap, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent"]
    outer += [*_read_only(), *_dirs(shared), "--bind", str(shared), str(shared)]
    outer += ["--proc", "/proc", "--dev", "/dev", "--cap-drop", "ALL"]
    outer += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    drop = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]
    drop += ["--inh-caps=-all", "--bounding-set=-all"]
    return [*clean, *outer, "--", *drop, *inner]


def spare_user(shared: Path) -> int:
    """A user id that nobody has, another one for each run that goes on at the same time."""
    return 61184 + shared.stat().st_ino % 4000


def _read_only() -> list[str]:
    files = [Path(file) for file in _SETTINGS if Path(file).exists()]
    binds = _dirs(*shown(), *files)
    for folder in shown():
        if folder.is_symlink() and str(folder) in _SYSTEM:
            binds += ["--symlink", os.readlink(folder), str(folder)]
        else:
            binds += ["--ro-bind", str(folder), str(folder)]
    for file in files:
        binds += ["--ro-bind", str(file), str(file)]
    return binds


def _dirs(*folders: Path) -> list[str]:
    """The folders above some; those that bubblewrap makes by itself only its own user can enter."""
    above = dict.fromkeys(p for folder in folders for p in reversed(folder.parents))
    return [part for folder in above if str(folder) != "/" for part in ("--dir", str(folder))]


def _closed(bwrap: str, shared: Path, limits: Limits, nested: bool) -> list[str]:
    parts = [bwrap, "--unshare-user", "--disable-userns", "--unshare-ipc", "--unshare-uts"]
    parts += ["--unshare-net", "--unshare-cgroup-try"]
    if not nested:
        parts += ["--unshare-pid"]
    # Inside another sandbox the kernel grants no new view of the processes; the outer one's is new.
    proc = ["--ro-bind", "/proc", "/proc"] if nested else ["--proc", "/proc"]
    parts += ["--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "grader"]
    parts += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in variables().items():
        parts += ["--setenv", name, value]
    parts += [*proc, "--dev", "/dev"]
    for folder in ("/tmp", "/dev/shm", HOME, WORK):
        parts += ["--size", str(limits.disk_mb * MEGABYTE), "--tmpfs", folder]
    # After the folders in memory: this Python may lie below one of them.
    parts += [*_read_only(), *_dirs(shared), "--bind", str(shared), str(shared)]
    # The two that bubblewrap makes by itself are in memory, too, and have no size.
    return [*parts, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORK]
