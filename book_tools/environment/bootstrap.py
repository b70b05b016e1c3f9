"""Create .venv and install the locked packages that a make target needs.

    python3 -m book_tools bootstrap book       install what building the book needs
    python3 -m book_tools bootstrap            also install what chapters and tests need
    python3 -m book_tools bootstrap --remake   create .venv again if its Python differs

If everything is already installed, nothing happens. The environment variable TORCH_INDEX names the
package index from which PyTorch is installed.

This file and diagnosis.py use only the standard library and syntax that old Python versions accept,
because they must be able to tell a user that the Python version is too old.
"""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

from book_tools.environment.diagnosis import (
    NEWEST,
    OLDEST,
    BootstrapError,
    check_disk,
    check_version,
    find_reason,
)

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
VENV = os.path.join(ROOT, ".venv")
LOG = os.path.join(ROOT, "_build", "bootstrap.log")

# Each layer has a lock, projects to install in editable mode, and the disk space that it needs, in
# gigabytes, including room for unpacking. The first lock is a subset of the second.
LAYERS = {
    # The page *Assignments* reads the assignments with the grader's own code, without nbgrader.
    "book": ("requirements-book.txt", (".", "grader"), 1.5),
    "all": ("requirements.txt", (".", "grader"), 3.0),
}

TORCH_NOTICE = """\
Note: on Linux, the default package index may deliver the CUDA build of PyTorch, which takes several
gigabytes. The CPU build (about 0.2 GB to download) is enough for the book and its tests. To get it,
stop now and repeat the command with TORCH_INDEX=https://download.pytorch.org/whl/cpu"""


def digest_files(*names):
    """Return a hash of the contents of the given files in the project."""
    digest = hashlib.sha256()
    for name in names:
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def project_files(project):
    """Return the files that, when changed, require an editable project to be reinstalled."""
    files = [os.path.join(project, "pyproject.toml")]
    # pyproject.toml takes the version of jaxbits from this file.
    return files + [os.path.join("src", "jaxbits", "__init__.py")] if project == "." else files


def find_projects(layer):
    """Return the folders of the projects that a layer installs in editable mode."""
    _, projects, _ = LAYERS[layer]
    return [name for name in projects if os.path.exists(os.path.join(ROOT, name, "pyproject.toml"))]


def wanted_state(layer):
    """Return the locks and projects that a layer needs in .venv, each with its hash."""
    lock = LAYERS[layer][0]
    wanted = {lock: digest_files(lock)}
    for project in find_projects(layer):
        wanted[project] = digest_files(*project_files(project))
    return wanted


def read_stamp():
    """Return a dict, possibly empty, of what is completely installed in .venv."""
    try:
        with open(os.path.join(VENV, ".installed")) as file:
            return dict(line.split(" ", 1) for line in file.read().splitlines() if " " in line)
    except (IOError, OSError):
        return {}


def write_stamp(state):
    """Record, in one atomic step, what is completely installed in .venv."""
    stamp = os.path.join(VENV, ".installed")
    with open(stamp + ".new", "w") as file:
        file.write("".join("{} {}\n".format(*item) for item in sorted(state.items())))
    os.replace(stamp + ".new", stamp)


def venv_python():
    """Return the path of the interpreter in .venv."""
    where = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(VENV, *where)


def ask_venv(program):
    """Run a one-line program in .venv and return what it prints, or None if it fails."""
    try:
        output = subprocess.check_output([venv_python(), "-c", program], stderr=subprocess.DEVNULL)
        return output.decode().strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def venv_version():
    """Return the Python version in .venv, such as (3, 11), or None if .venv is unusable."""
    # If the creation of .venv was interrupted, importing pip fails.
    program = "import pip._internal.cli.main, sys; print(*sys.version_info[:2])"
    answer = ask_venv(program)
    return tuple(int(part) for part in answer.split()) if answer else None


def run(title, command):
    """Run a command, and write its output to the log.

    Args:
        title: A description of what the command does, which is shown in the terminal.
        command: The command as a list of strings.

    Raises:
        BootstrapError: If the command fails. The message gives the reason on one line.
    """
    begin = time.time()
    print(title + " ...")
    sys.stdout.flush()
    with open(LOG, "ab") as log:
        start = log.tell()
        status = subprocess.call(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    if status:
        with open(LOG, "rb") as log:
            log.seek(start)
            output = log.read().decode("utf-8", "replace")
        raise BootstrapError(
            "{} failed: {}. Full log: {}".format(
                title, find_reason(output), os.path.relpath(LOG, ROOT)
            )
        )
    print("  done in {:.0f} s".format(time.time() - begin))


def run_pip(title, *arguments):
    """Run ``pip install`` in .venv. See `run` for the title and the error."""
    options = ["--disable-pip-version-check", "--no-input", "--retries", "2"]
    options += ["--progress-bar", "off"]
    run(title, [venv_python(), "-m", "pip", "install"] + options + list(arguments))


def create_venv(needed):
    """Create an empty .venv with the Python that runs this program.

    Args:
        needed: The disk space that .venv will need, in gigabytes.

    Raises:
        BootstrapError: If the disk is too full, or if this Python cannot create environments.
    """
    check_disk(shutil.disk_usage(ROOT).free / 1e9, needed)
    if os.path.lexists(VENV):
        shutil.rmtree(VENV)
    version = "{}.{}".format(*sys.version_info[:2])
    try:
        run("Creating .venv with Python " + version, [sys.executable, "-m", "venv", VENV])
        return
    except BootstrapError as error:
        failure = error
    with open(LOG, "rb") as log:
        if b"ensurepip" in log.read():  # Debian ships ensurepip as python3.x-venv.
            failure = BootstrapError(
                "This Python cannot create environments. Install the package python"
                + version
                + "-venv, or choose a different Python: make PYTHON=python3.11 book"
            )
    raise failure


def remove_unfinished():
    """Remove the metadata of partly installed packages, so that pip installs them again."""
    for folder in ("lib/python*", "Lib"):
        for info in glob.glob(os.path.join(VENV, folder, "site-packages", "*.dist-info")):
            # pip writes INSTALLER after all other files of a package:
            # https://github.com/pypa/pip/blob/23.2.1/src/pip/_internal/operations/install/wheel.py
            if not os.path.exists(os.path.join(info, "INSTALLER")):
                shutil.rmtree(info)


def prepare_torch():
    """Install PyTorch from TORCH_INDEX or, if that is not set, explain what pip will install."""
    with open(os.path.join(ROOT, "requirements.txt")) as file:
        pin = re.search(r"^torch==([\w.]+)", file.read(), re.M)
    installed = ask_venv("from importlib.metadata import version; print(version('torch'))")
    # The CPU build of 2.13.0 is called 2.13.0+cpu, and it satisfies the pin.
    if not pin or (installed or "").split("+")[0] == pin.group(1):
        return
    index = os.environ.get("TORCH_INDEX")
    if index:
        title = "Installing PyTorch from " + re.sub("//[^/@]*@", "//", index)
        # The lock pins the dependencies, so do not install them here.
        run_pip(title, "--no-deps", "--index-url", index, "torch==" + pin.group(1))
    elif sys.platform.startswith("linux"):
        print(TORCH_NOTICE)


def install(layer, missing, state):
    """Install the packages that .venv lacks, and record them.

    Args:
        layer: The layer to install, ``"book"`` or ``"all"``.
        missing: The locks and projects to install, as a dict like the one from `wanted_state`.
        state: A dict of what is completely installed, which is updated in place.
    """
    # Nothing counts as installed while pip runs, because an interruption can break any package.
    write_stamp({"python": state["python"]})
    remove_unfinished()
    lock, projects = LAYERS[layer][0], find_projects(layer)
    if lock in missing:
        if layer == "all":
            prepare_torch()
        run_pip("Installing {} into .venv (minutes)".format(lock), "-r", lock)
        # The book's lock is a subset of the full lock.
        state["requirements-book.txt"] = digest_files("requirements-book.txt")
    editable = [part for project in projects for part in ("-e", os.path.join(ROOT, project))]
    run_pip("Installing jaxbits and its grader", "--no-deps", "--no-build-isolation", *editable)
    state.update(missing)
    write_stamp(state)


def set_up(layer, remake=False):
    """Create or complete .venv for a layer, and report each step.

    Args:
        layer: ``"book"`` or ``"all"``.
        remake: Whether .venv must use the Python that runs this program. Otherwise, it may use any
            supported Python.

    Raises:
        BootstrapError: If a step fails.
    """
    check_version(sys.version_info, sys.executable)
    state, wanted = read_stamp(), wanted_state(layer)
    this_python = "{}.{}".format(*sys.version_info[:2])
    is_other_python = remake and state.get("python") != this_python
    missing = {key: value for key, value in wanted.items() if state.get(key) != value}
    if not missing and not is_other_python and os.path.exists(venv_python()):
        return
    os.makedirs(os.path.dirname(LOG), exist_ok=True)
    open(LOG, "w").close()
    version = venv_version()
    if version is None or not OLDEST <= version <= NEWEST:
        is_other_python = True
    elif remake:
        is_other_python = version != sys.version_info[:2]
    if is_other_python:
        create_venv(LAYERS[layer][2])
        state, missing, version = {}, wanted, sys.version_info[:2]
    state["python"] = "{}.{}".format(*version)
    install(layer, missing, state)


def main(arguments=None):
    """Run the command-line program, and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    layers = [argument for argument in arguments if argument != "--remake"] or ["all"]
    if len(layers) > 1 or layers[0] not in LAYERS:
        sys.stderr.write("usage: python -m book_tools bootstrap [book] [--remake]\n")
        return 2
    try:
        set_up(layers[0], "--remake" in arguments)
    except BootstrapError as error:
        sys.stderr.write(str(error) + "\n")
        return 1
    except (IOError, OSError) as error:
        sys.stderr.write("Setting up .venv failed: {}\n".format(find_reason(str(error))))
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. The next make target will complete .venv.\n")
        return 130
    return 0
