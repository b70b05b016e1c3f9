"""Take a census of the libraries and given classes that tests use in a student's kernel.

The grader uses this file in the same way as `census.py`. It records which objects the names in
modules and the attributes of classes refer to. CPython also counts the changes to each dictionary,
which reveals a replaced function even if the submission has put the original back.
"""

import copyreg
import ctypes
import gc
import sys

_FunctionType, _ModuleType = type(lambda: None), type(sys)
_JAX = {"jax", "jaxlib"}
# What tests call, directly or through the project's modules.
_LIBRARIES = {*_JAX, "numpy", "flax", "optax", "IPython", "ipykernel", "traitlets"}
_LIBRARIES |= {"math", "operator"}
_NEVER_CALLED = ("jaxlib.mlir", "jaxlib.mosaic", "numpy.f2py", "numpy.ma", "numpy.typing")
# JAX adds attributes to the classes in these modules.
_CHANGED_BY_JAX = "jaxlib._jax."
# A detector that records what Python reads changes the class of arrays for a time.
_ARRAY_MODULE, _ARRAY = "jaxlib._jax", "ArrayImpl"
_WRAPPERS = (property, classmethod, staticmethod)
# The version of a dictionary comes after its number of references, its type, and its length:
# https://github.com/python/cpython/blob/v3.11.7/Include/cpython/dictobject.h
_VERSION_OFFSET = 24


def take(given: dict[str, str]) -> str:
    """Return a line for each module or class, with its fingerprint, last change, and name.

    The number of the last change grows with each change to the module or one of its classes. It
    is 0 in a Python that does not count changes, such as 3.14.

    Args:
        given: Maps the private names of what given cells define to the notebook's names. This
            census compares only the classes.
    """
    seen: set[int] = set()
    found = {}
    array = getattr(sys.modules.get(_ARRAY_MODULE), _ARRAY, None)
    if isinstance(array, type):
        seen.add(id(array))
        found[f"{_ARRAY_MODULE}.{_ARRAY}"] = _class_identities(array)
    for name, module in list(sys.modules.items()):
        is_called = name.partition(".")[0] in _LIBRARIES and not name.startswith(_NEVER_CALLED)
        # A module that a submission has made could have a name with another line in it.
        if is_called and isinstance(module, _ModuleType) and name.isprintable():
            found[name] = _identities(name, module, seen)
    notebook = vars(sys.modules["__main__"])
    for private, name in given.items():
        if isinstance(cls := notebook.get(private), type):
            found[f"an attribute of {name}"] = _class_identities(cls)
    version = _version_in_memory if _counts_changes() else _no_version
    return "\n".join(
        [
            f"{tuple(identities).__hash__()}/{max([0, *map(version, names)])} {name}"
            for name, (identities, names) in found.items()
        ]
    )


def _version_in_memory(names: dict[str, object]) -> int:
    return ctypes.c_uint64.from_address(id(names) + _VERSION_OFFSET).value


def _no_version(names: dict[str, object]) -> int:
    return 0


def _counts_changes() -> bool:
    if sys.implementation.name != "cpython" or sys.version_info >= (3, 14):
        return False
    names: dict[str, object] = {}
    versions = []
    for value in (1, 2, 1):
        names["x"] = value
        versions.append(_version_in_memory(names))
    return versions[0] < versions[1] < versions[2] == _version_in_memory(names)


def _identities(
    module_name: str, module: object, seen: set[int]
) -> tuple[list[object], list[dict[str, object]]]:
    """Return what identifies the members of a module and those of its classes.

    Args:
        module_name: The name of the module.
        module: The module.
        seen: The classes that other modules have. The classes in this module are added.

    Returns:
        The names and identities, and the dictionaries of the module and its classes.
    """
    found: list[object] = []
    # Libraries change the variables of their private modules.
    names = [] if "._" in module_name else [vars(module)]
    for name, value in list(vars(module).items()):
        kind = type(value)
        if kind is _FunctionType:
            found += name, id(value), id(value.__code__), id(value.__defaults__)
        elif kind is _ModuleType:
            if not _is_submodule(module_name, name, value):
                found += name, id(value)
        elif isinstance(value, type):
            found += name, id(value)
            if id(value) not in seen and value.__module__.partition(".")[0] in _LIBRARIES:
                seen.add(id(value))
                attributes, namespace = _class_identities(value)
                found += attributes
                names += [] if module_name.startswith(_CHANGED_BY_JAX) else namespace
        else:
            if callable(value):
                found += name, id(value)
            # These are primitives and functions with derivatives of their own, among others.
            own = getattr(value, "__dict__", None)
            if kind.__module__.partition(".")[0] in _LIBRARIES and type(own) is dict:
                functions = [(key, part) for key, part in list(own.items()) if callable(part)]
                found += [(key, id(part)) for key, part in functions]
                names += [own] if functions else []
    return found, names


def _class_identities(cls: type) -> tuple[list[object], list[dict[str, object]]]:
    """Return what identifies the attributes of a class, and its dictionary in a list."""
    found: list[object] = []
    attributes = vars(cls)  # This is a view, which refers to the class's own dictionary.
    if "__slotnames__" not in attributes:
        # The first copy of an object would add this attribute to its class:
        # https://github.com/python/cpython/blob/v3.11.7/Lib/copyreg.py
        copyreg._slotnames(cls)  # type: ignore[attr-defined]
    for name, value in list(attributes.items()):
        # Some of jaxlib's classes get the classes of their iterators later.
        if (callable(value) and not isinstance(value, type)) or type(value) in _WRAPPERS:
            found += name, id(value)
    return found, [part for part in gc.get_referents(attributes) if type(part) is dict]


def _is_submodule(parent: str, name: str, value: object) -> bool:
    """Return whether a name refers to a submodule, which may have been imported later."""
    if not isinstance(value, _ModuleType) or sys.modules.get(value.__name__) is not value:
        return False
    roots = {part.partition(".")[0] for part in (parent, value.__name__)}
    return value.__name__.rpartition(".")[2] == name and (len(roots) == 1 or roots <= _JAX)
