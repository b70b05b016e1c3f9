"""Take a census of what tests rely on in a student's kernel.

The grader sends the source of this file to the kernel again for each census, and it keeps the
results in its own process. It takes the first census before any of the student's cells runs. After
that, a submission must change neither the project's modules nor the code that runs cells.
"""

import contextlib
import importlib
import pkgutil
import sys
from collections.abc import Iterable

# A submission can replace functions of `hashlib` and the names in `types`, but not these.
_FunctionType, _ModuleType = type(lambda: None), type(sys)
_OWN = ("jaxbits", "jaxbits_grader")
# NumPy imports these modules on first use, which would look like a change.
_LAZY = ("char", "ctypeslib", "fft", "ma", "polynomial", "rec", "strings")
# These packages contain the functions that tests call. Some are imported only when they are used.
_IMPORTED = ("jaxbits.detect", "jaxbits._analysis", "jaxbits._jax_compat")


def take(given: dict[str, str]) -> str:
    """Return one line with a fingerprint and a name per module, given name, or part of IPython.

    Args:
        given: Maps the private names of what given cells define to the notebook's names. Only
            functions, classes, and constants are compared.
    """
    notebook = vars(sys.modules["__main__"])
    parts = _parts() | {
        f"the given {name}": {name: _given_value(notebook.get(private))}
        for private, name in given.items()
        if name.isupper() or isinstance(notebook.get(private), _FunctionType | type)
    }
    # A module that a submission has made could have a name with another line in it.
    return "\n".join(
        [f"{_fingerprint(members)} {name}" for name, members in parts.items() if name.isprintable()]
    )


def _given_value(value: object, depth: int = 0) -> object:
    """Return what stays the same as long as nobody changes a given constant."""
    if isinstance(value, dict | list | tuple) and depth < 3:
        items = [*value.items()] if isinstance(value, dict) else [*enumerate(value)]
        return repr([(repr(key), _given_value(item, depth + 1)) for key, item in items])
    if isinstance(value, _FunctionType | type):
        return value if depth == 0 else _identity(value)
    is_plain = isinstance(value, int | float | str | bytes | type(None))
    return repr(value) if is_plain else str(id(value))


def prepare(given: dict[str, str], modules: Iterable[str] = ()) -> str:
    """Import the modules that a test could import, and take the first census.

    Args:
        given: See `take`.
        modules: Modules of libraries to import, and names in such modules.
    """
    for name in modules:
        with contextlib.suppress(Exception):  # It may not exist or not work here.
            importlib.import_module(name)
    for name in _LAZY:
        importlib.import_module(f"numpy.{name}")
    importlib.import_module("jaxbits.testing")
    importlib.import_module("jaxbits_grader.checking.detector_watch")
    importlib.import_module("jaxbits_grader.judging.comparisons")
    importlib.import_module("jaxbits_grader.judging.answer_server")
    for package in _IMPORTED:
        found = importlib.import_module(package)
        for part in pkgutil.walk_packages(found.__path__, f"{package}."):
            importlib.import_module(part.name)
    for package in ("jaxbits", "jaxbits.detect"):
        # These packages import a member only when it is used.
        for name in dir(sys.modules[package]):
            getattr(sys.modules[package], name)
    copies = importlib.import_module("jaxbits_grader.checking.library_copies")
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "jaxbits":
            copies.use_copies(module)
    # From the first program on, JAX does not let a submission choose where it reads programs.
    sys.modules["jax"].numpy.zeros(1).block_until_ready()
    watch = sys.modules["jaxbits_grader.checking.detector_watch"]
    watch.start()  # From now on, no comment hides a finding.
    watch.stop()
    return take(given)


def _parts() -> dict[str, dict[str, object]]:
    parts = {
        name: vars(module)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in _OWN and isinstance(module, _ModuleType)
    }
    for value in list(vars(sys.modules["__main__"]).values()):
        # Tests use private copies of some modules.
        if isinstance(value, _ModuleType) and sys.modules.get(value.__name__) is not value:
            parts[f"the tests' copy of {value.__name__}"] = vars(value)
            for part in list(vars(value).values()):
                is_copy = isinstance(part, _ModuleType)
                if is_copy and sys.modules.get(part.__name__) is not part:
                    parts[f"the tests' copy of {part.__name__}"] = vars(part)
    return parts | _shell_parts()


def _shell_parts() -> dict[str, dict[str, object]]:
    shell = getattr(sys.modules.get("ipykernel.zmqshell"), "ZMQInteractiveShell", None)
    shell = shell.instance() if shell is not None and shell.initialized() else None
    kernel = getattr(shell, "kernel", None)
    transformers = getattr(shell, "input_transformer_manager", None)
    owners = {"shell": shell, "compiler": getattr(shell, "compile", None), "kernel": kernel}
    owners |= {"transformers": transformers, "session": getattr(kernel, "session", None)}
    parts = {}
    for name, owner in owners.items():
        fields = getattr(owner, "__dict__", {})
        kept = {key: value for key, value in fields.items() if callable(value)}
        for key in ("shell_handlers", "control_handlers"):
            kept |= {f"{key} {request}": f for request, f in fields.get(key, {}).items()}
        for key in ("cleanup_transforms", "line_transforms", "token_transformers"):
            kept |= {f"{key} {n}": f for n, f in enumerate(fields.get(key, ()))}
        if owner is not None:
            parts[f"IPython's {name}"] = kept
    return parts


def _fingerprint(names: dict[str, object]) -> str:
    known = [
        (name, repr(value) if _is_constant(name, value) else _identity(value))
        for name, value in list(names.items())
    ]
    text = "\n".join(sorted(f"{name} {identity}" for name, identity in known if identity))
    return str(text.__hash__())


def _is_constant(name: str, value: object) -> bool:
    return name.isupper() and isinstance(value, int | float | str)


def _identity(value: object) -> str:
    """Return a string that changes if a value or a part of it is replaced, or an empty string."""
    value = getattr(value, "__func__", value)
    if isinstance(value, _FunctionType):
        return f"{id(value)} {id(value.__code__)} {value.__defaults__!r} {value.__kwdefaults__!r}"
    owner = value if isinstance(value, type) else type(value)
    is_own = owner.__module__.partition(".")[0] in (*_OWN, "__main__")
    if is_own and (owner is value or callable(value)):
        fields = list(getattr(value, "__dict__", {}).items())
        # Copying an object adds the attribute `__slotnames__` to its class.
        members = [f"{name} {_member(part)}" for name, part in fields if name != "__slotnames__"]
        return f"{id(value)} {sorted(members)}"
    if isinstance(value, tuple | frozenset | type) or callable(value):
        return str(id(value))
    # Other values may change, such as caches, counters, and the names of modules imported later.
    return ""


def _member(part: object) -> str:
    part = getattr(part, "fget", None) or getattr(part, "__func__", part)
    if isinstance(part, _FunctionType):
        return f"{id(part)} {id(part.__code__)}"
    return str(id(part)) if callable(part) or isinstance(part, tuple) else ""
