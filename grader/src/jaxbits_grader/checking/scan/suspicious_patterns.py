"""What an assignment has no use for, though now and then an honest person has."""

from __future__ import annotations

import ast
import re

from jaxbits_grader.checking.scan.protected_names import within

_FRAMES = "f_back f_globals f_locals tb_frame gi_frame cr_frame __subclasses__".split()  # noqa: SIM905
_PARTS = "__globals__ __kwdefaults__ __defaults__ __code__ cell_contents _instance".split()  # noqa: SIM905
# Other code's frames, what ends or leaves the kernel, and what runs or loads hidden code.
_ODD = frozenset(
    """
    sys._getframe sys._current_frames sys.settrace sys.setprofile sys.meta_path sys.path_hooks
    inspect.stack inspect.currentframe inspect.getouterframes inspect.trace
    gc.get_objects gc.get_referrers gc.get_referents
    os._exit os.kill os.killpg os.abort os.fork os.forkpty os.system os.popen
    os.posix_spawn os.posix_spawnp os.execl os.execle os.execlp os.execv os.execve os.execvp
    os.execvpe os.spawnl os.spawnle os.spawnlp os.spawnv os.spawnve os.spawnvp
    subprocess socket multiprocessing signal atexit threading _thread concurrent.futures runpy
    asyncio.get_event_loop asyncio.get_running_loop code.InteractiveInterpreter traceback.walk_stack
    ctypes cffi ipykernel unittest.mock importlib
    builtins.exec builtins.eval builtins.compile builtins.__import__ __main__
    pickle.load pickle.loads pickle.Unpickler _pickle.load _pickle.loads marshal.load marshal.loads
    dill.load dill.loads cloudpickle.load cloudpickle.loads joblib.load shelve.open
    """.split()  # noqa: SIM905
)
_HARMLESS = ("importlib.metadata.", "importlib.resources.")
_OPENS = frozenset(
    """
    builtins.open io.open os.open codecs.open pathlib.Path pathlib.PosixPath os.listdir os.scandir
    os.walk glob.glob glob.iglob
    """.split()  # noqa: SIM905
)
_OTHER_CELLS = re.compile(r"In|_ih|_i{1,3}|_i[0-9]+")


def in_use_of(path: str) -> str | None:
    """What is odd in using the thing with this dotted name."""
    if path == "get_ipython" or path.startswith("ipython."):
        return "uses get_ipython"
    if within(path, _HARMLESS):
        return None
    parts = path.split(".")
    wholes = (".".join(parts[:length]) for length in range(1, min(len(parts), 2) + 1))
    odd = next((whole for whole in wholes if whole in _ODD), None)
    return odd and f"uses {odd.removeprefix('builtins.')}"


def in_reading(name: str) -> str | None:
    """What is odd in reading a name that the notebook gives no value."""
    if _OTHER_CELLS.fullmatch(name):
        return f"reads the text of other cells ({name})"
    return None


def in_attribute(name: str) -> str | None:
    """What is odd in an attribute, whatever it is of."""
    if name in _PARTS:
        return f"looks into the parts of other code ({name})"
    return f"looks into other code's frames ({name})" if name in _FRAMES else None


def in_names(node: ast.AST) -> str | None:
    """What is odd in a part of the syntax that asks for all of the notebook's names at once."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Call(func=ast.Name(id="globals"), args=[]):
                match node:
                    case ast.Subscript(slice=ast.Constant()) | ast.Compare():
                        continue
                    case ast.Attribute(attr="get" | "pop" | "update" | "setdefault"):
                        continue
                return "goes through all names of the notebook (globals)"
    return None


def in_opening(path: str | None, call: ast.Call) -> str | None:
    """What is odd in a call that opens a file, where it is one."""
    if path not in _OPENS or not call.args:
        return None
    texts = (part.value for part in ast.walk(call.args[0]) if isinstance(part, ast.Constant))
    outside = re.compile(r"[/~]|[A-Za-z]:[\\/]|.*\.\.", re.DOTALL)
    if any(isinstance(text, str) and outside.match(text) for text in texts):
        return "opens a file outside of its folder"
    return None
