"""Describe code that no assignment needs, although it may be honest."""

from __future__ import annotations

import ast
import re

from jaxbits_grader.checking.scan.protected_names import is_within

_FRAME_ATTRIBUTES = {
    "f_back", "f_globals", "f_locals", "tb_frame", "gi_frame", "cr_frame", "__subclasses__",
}  # fmt: skip
_CODE_ATTRIBUTES = {
    "__globals__", "__kwdefaults__", "__defaults__", "__code__", "cell_contents", "_instance",
}  # fmt: skip
# These functions and modules can read other code's frames, end the kernel, reach outside it, or run
# code that the scan cannot see.
_ODD_FUNCTIONS = frozenset(
    """
    sys._getframe sys._current_frames sys.settrace sys.setprofile sys.meta_path sys.path_hooks
    inspect.stack inspect.currentframe inspect.getouterframes inspect.trace
    gc.get_objects gc.get_referrers gc.get_referents
    os._exit os.kill os.killpg os.abort os.fork os.forkpty os.system os.popen
    os.posix_spawn os.posix_spawnp os.execl os.execle os.execlp os.execv os.execve os.execvp
    os.execvpe os.spawnl os.spawnle os.spawnlp os.spawnv os.spawnve os.spawnvp
    subprocess socket multiprocessing signal atexit threading _thread concurrent.futures runpy
    bdb cProfile codeop doctest logging.config logging.handlers pdb profile trace
    asyncio.get_event_loop asyncio.get_running_loop code.InteractiveInterpreter
    traceback.walk_stack traceback.extract_stack traceback.format_stack traceback.print_stack
    traceback.StackSummary linecache jax.monitoring jax._src jaxbits._analysis jaxbits._jax_compat
    jaxbits_grader
    ctypes cffi ipykernel unittest.mock importlib
    builtins.exec builtins.eval builtins.compile builtins.__import__ __main__
    pickle.load pickle.loads pickle.Unpickler _pickle.load _pickle.loads marshal.load marshal.loads
    dill.load dill.loads cloudpickle.load cloudpickle.loads joblib.load shelve.open
    """.split()  # noqa: SIM905
)
_HARMLESS_MODULES = ("importlib.metadata.", "importlib.resources.")
_FILE_FUNCTIONS = frozenset(
    """
    builtins.open io.open os.open codecs.open pathlib.Path pathlib.PosixPath os.listdir os.scandir
    os.walk glob.glob glob.iglob
    """.split()  # noqa: SIM905
)
_HISTORY_NAMES = re.compile(r"In|_ih|_i{1,3}|_i[0-9]+")


def describe_use(path: str) -> str | None:
    """Return what is odd about using the object with this dotted name, or None if nothing is."""
    if path == "get_ipython" or path.startswith("ipython."):
        return "uses get_ipython"
    if is_within(path, _HARMLESS_MODULES):
        return None
    parts = path.split(".")
    wholes = (".".join(parts[:length]) for length in range(1, min(len(parts), 2) + 1))
    odd = next((whole for whole in wholes if whole in _ODD_FUNCTIONS), None)
    return odd and f"uses {odd.removeprefix('builtins.')}"


def describe_unbound_name(name: str) -> str | None:
    """Return what is odd about reading this unbound name, or None if nothing is."""
    if _HISTORY_NAMES.fullmatch(name):
        return f"reads the source of other cells ({name})"
    return None


def describe_attribute(name: str) -> str | None:
    """Return what is odd about using an attribute with this name, or None if nothing is."""
    if name in _CODE_ATTRIBUTES:
        return f"looks into the internals of other code ({name})"
    return f"looks into other code's frames ({name})" if name in _FRAME_ATTRIBUTES else None


def describe_globals_call(node: ast.AST) -> str | None:
    """Return a message if a node reads all the notebook's names at once, or None otherwise."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Call(func=ast.Name(id="globals"), args=[]):
                match node:
                    case ast.Subscript(slice=ast.Constant()) | ast.Compare():
                        continue
                    case ast.Attribute(attr="get" | "pop" | "update" | "setdefault"):
                        continue
                return "accesses all names in the notebook (globals)"
    return None


def describe_file_access(path: str | None, call: ast.Call) -> str | None:
    """Return a message if a call accesses a file outside the notebook's folder, or None otherwise.

    Args:
        path: The dotted name of the called function, or None if it has none.
        call: The syntax node of the call.
    """
    if path not in _FILE_FUNCTIONS or not call.args:
        return None
    last = call.args[0]
    if isinstance(last, ast.Constant) and str(last.value).endswith(".py"):
        return "opens a Python file"
    texts = (part.value for part in ast.walk(call.args[0]) if isinstance(part, ast.Constant))
    outside = re.compile(r"[/~]|[A-Za-z]:[\\/]|.*\.\.", re.DOTALL)
    if any(isinstance(text, str) and outside.match(text) for text in texts):
        return "opens a file outside its folder"
    return None
