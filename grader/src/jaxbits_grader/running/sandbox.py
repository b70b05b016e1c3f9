"""Build the bubblewrap command that isolates a student's code from the machine.

Inside the sandbox, a program has no network access, inherits no environment variables, and cannot
see the machine's processes and users. The operating system and this Python installation are
read-only, and the writable folders are in memory. The only folder that the sandbox shares with the
grader contains the kernel's sockets.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import jaxbits
import jaxbits_grader
from jaxbits_grader.running import library_programs
from jaxbits_grader.running.limits import MEGABYTE, Limits

NOBODY = 65534
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = tuple(
    f"/etc/{name}"
    for name in ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")
)
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
HOME, WORK = "/home/student", "/box"

HOW_TO_INSTALL = """\
Grading requires bubblewrap on Linux: sudo apt install bubblewrap (Debian, Ubuntu), sudo dnf \
install bubblewrap (Fedora). On macOS and Windows, grade in a Linux virtual machine or in WSL 2. \
If you trust every submission, --unsafe grades without it and says so in the results."""


class SandboxUnavailable(RuntimeError):
    """Raised if the sandbox is missing or does not work. The message says why and how to fix it."""


def student_environment(programs: Path | None = None) -> dict[str, str]:
    """Return the environment variables for a student's kernel, which inherits no others.

    Args:
        programs: A folder with compiled programs for JAX to read, or None.
    """
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
        **library_programs.environment(programs),
    }


def visible_folders() -> list[Path]:
    """Return the folders that a submission can read.

    These folders contain the operating system, this Python installation, and the packages jaxbits
    and jaxbits_grader.
    """
    folders = [Path(p) for p in _SYSTEM if Path(p).exists()]
    folders += [Path(sys.base_prefix), Path(sys.prefix)]
    # A `.pth` file can add the packages of another environment.
    folders += [Path(p) for p in sys.path if Path(p).name in _PACKAGE_FOLDERS and Path(p).is_dir()]
    folders += [Path(str(package.__file__)).parent for package in (jaxbits, jaxbits_grader)]
    return list(dict.fromkeys(folders))


def check_hidden(path: Path) -> None:
    """Check that a file or folder is hidden from submissions.

    Raises:
        SandboxUnavailable: If the path is in a folder that every submission can read.
    """
    real = path.resolve()
    for folder in visible_folders():
        if real == folder.resolve() or folder.resolve() in real.parents:
            raise SandboxUnavailable(
                f"{path} is in {folder}, which every submission can read; move it elsewhere"
            )


def find_bubblewrap() -> str:
    """Return the path of the bubblewrap program.

    Raises:
        SandboxUnavailable: If bubblewrap is not installed or the operating system is not Linux.
    """
    found = shutil.which("bwrap")
    if found is None or not sys.platform.startswith("linux"):
        raise SandboxUnavailable(
            f"bubblewrap (bwrap) is not installed on this machine. {HOW_TO_INSTALL}"
        )
    return found


def sandbox_command(
    program: list[str], shared: Path, limits: Limits, programs: Path | None = None
) -> list[str]:
    """Return the command that runs a program in the sandbox.

    Args:
        program: The command to run inside the sandbox.
        shared: The only writable folder that the sandbox shares with the machine. Its path is the
            same inside and outside the sandbox.
        limits: The resources that the program may use.
        programs: A folder with compiled programs for JAX to read, or None.

    Raises:
        SandboxUnavailable: If bubblewrap is not installed.
    """
    bwrap = find_bubblewrap()
    limited = ["nice", "-n", "5", "prlimit", "--core=0", "--nofile=1024"]
    limited += [f"--as={limits.address_space}", f"--nproc={limits.processes}"]
    limited += [f"--fsize={limits.disk_mb * MEGABYTE}", "--"]
    is_root = os.geteuid() == 0
    inner = [*_isolate(bwrap, shared, limits, programs, is_root), "--", *limited, *program]
    # Start with an empty environment, because /proc shows the initial environment of a process.
    clean = ["env", "-i", f"PATH={os.defpath}"]
    if not is_root:
        return [*clean, *inner]
    # RLIMIT_NPROC does not apply to root, so an outer sandbox switches to an unused user id.
    user = unused_user_id(shared)
    for path in (shared, *shared.iterdir()):
        os.chown(path, user, user)
    outer = [bwrap, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent"]
    # The inner bubblewrap needs /tmp, on which it builds its root.
    outer += ["--dir", "/tmp"]
    outer += [*_read_only(programs), *_dirs(shared), "--bind", str(shared), str(shared)]
    outer += ["--proc", "/proc", "--dev", "/dev", "--cap-drop", "ALL"]
    outer += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    drop = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]
    drop += ["--inh-caps=-all", "--bounding-set=-all"]
    return [*clean, *outer, "--", *drop, *inner]


def unused_user_id(shared: Path) -> int:
    """Return a user id that belongs to no account and differs between simultaneous runs."""
    return 61184 + shared.stat().st_ino % 4000


def _read_only(programs: Path | None) -> list[str]:
    files = [Path(file) for file in _SETTINGS if Path(file).exists()]
    folders = [*visible_folders(), *([programs] if programs else [])]
    binds = _dirs(*folders, *files)
    for folder in folders:
        if folder.is_symlink() and str(folder) in _SYSTEM:
            binds += ["--symlink", os.readlink(folder), str(folder)]
        else:
            binds += ["--ro-bind", str(folder), str(folder)]
    for file in files:
        binds += ["--ro-bind", str(file), str(file)]
    return binds


def _dirs(*folders: Path) -> list[str]:
    """Return the bubblewrap options that create the parents of the given folders.

    Without these options, bubblewrap would create the parents with mode 0700.
    """
    above = dict.fromkeys(p for folder in folders for p in reversed(folder.parents))
    return [part for folder in above if str(folder) != "/" for part in ("--dir", str(folder))]


def _isolate(
    bwrap: str, shared: Path, limits: Limits, programs: Path | None, nested: bool
) -> list[str]:
    parts = [bwrap, "--unshare-user", "--disable-userns", "--unshare-ipc", "--unshare-uts"]
    parts += ["--unshare-net", "--unshare-cgroup-try"]
    if not nested:
        parts += ["--unshare-pid"]
    # A nested sandbox reuses the outer one's /proc, because Linux does not let it mount its own.
    proc = ["--ro-bind", "/proc", "/proc"] if nested else ["--proc", "/proc"]
    parts += ["--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "grader"]
    parts += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in student_environment(programs).items():
        parts += ["--setenv", name, value]
    parts += [*proc, "--dev", "/dev"]
    for folder in ("/tmp", "/dev/shm", HOME, WORK):
        parts += ["--size", str(limits.disk_mb * MEGABYTE), "--tmpfs", folder]
    # Add these after the in-memory folders, because this Python may be inside one of them.
    parts += [*_read_only(programs), *_dirs(shared), "--bind", str(shared), str(shared)]
    # Make / and /dev read-only, because they are also in memory and have no size limit.
    return [*parts, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORK]
