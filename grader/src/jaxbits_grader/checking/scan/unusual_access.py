"""Describe imports and ways of access that no assignment needs, although they may be honest.

An answer that wants to change or to read what a test uses has to get hold of it first. These rules
list what answers usually need instead of what is dangerous, so that a new way of getting hold of
something is noticed as well.
"""

from __future__ import annotations

import ast

from jaxbits_grader.checking.scan.ast_utils import string_name
from jaxbits_grader.checking.scan.name_resolution import NameResolver
from jaxbits_grader.checking.scan.suspicious_patterns import describe_attribute

_USUAL_MODULES = frozenset(
    """
    __future__ abc absl altair array asyncio base64 beartype bisect blackjax bokeh calendar chex
    clu cmath collections contextlib copy cProfile csv cupy cv2 dataclasses datasets datetime
    decimal diffrax distrax einops enum equinox flax fractions functools gc google grain gzip
    h5py haiku hashlib heapq html hypothesis importlib inspect io ipywidgets itertools jax
    jaxbits jaxlib jaxopt jaxtyping jraph json keras keyword lineax locale logging math
    matplotlib ml_collections ml_dtypes networkx numba numbers numpy numpyro operator optax
    optimistix orbax os pandas pathlib penzai pickle PIL platform plotly pprint pstats psutil
    pytest queue random re requests rich rlax scipy seaborn secrets shutil sklearn statistics
    string struct sympy sys tabulate tempfile tensorflow tensorflow_datasets textwrap time
    timeit torch torchaudio torchvision tqdm traceback transformers treescope types typing
    typing_extensions unicodedata urllib uuid warnings weakref xarray zipfile zlib
    """.split()  # noqa: SIM905
)
# Many notebooks set `InteractiveShell.ast_node_interactivity`.
_USUAL_IPYTHON = ("IPython", "IPython.display", "IPython.core.interactiveshell.InteractiveShell")
_USUAL_SYS = frozenset(
    """argv byteorder exit executable flags float_info getrecursionlimit getsizeof implementation
    int_info maxsize path platform setrecursionlimit stderr stdin stdout version
    version_info""".split()  # noqa: SIM905
)
# These make code, list the parts of any object, or make copies of keys that no detector follows.
_UNUSUAL = {"types.CodeType", "types.FunctionType", "types.LambdaType", "types.MethodType"}
_UNUSUAL |= {"inspect.getmembers", "inspect.getmembers_static", "inspect.getattr_static"}
_UNUSUAL |= {"jax.random.clone", "jax.random.key_data", "jax.random.wrap_key_data"}

_ACCESSORS = {"builtins.getattr", "builtins.setattr", "builtins.delattr"}


def describe_import(module: str) -> str | None:
    """Return what is odd about importing from a module, or None if nothing is.

    Example:
        >>> describe_import("numpy.linalg"), describe_import("IPython.core.compilerop")
        (None, 'imports IPython.core.compilerop')
    """
    root = module.partition(".")[0]
    if root == "IPython":
        usual = module in _USUAL_IPYTHON or module.startswith("IPython.display.")
    else:
        usual = root in _USUAL_MODULES
    return None if usual else f"imports {module}"


def describe_path(path: str) -> str | None:
    """Return what is odd about using the object with this dotted name, or None if nothing is."""
    parts = path.split(".")
    # Other modules import `sys`, too, as in `os.sys`.
    after = parts[parts.index("sys") + 1 :] if "sys" in parts else []
    if after and after[0] not in _USUAL_SYS:
        return f"uses sys.{after[0]}"
    return f"uses {path}" if path in _UNUSUAL else None


def describe_access(node: ast.AST, names: NameResolver) -> str | None:
    """Return what is odd about how a node reaches an object, or None if nothing is.

    Args:
        node: A syntax node.
        names: What the names at this point refer to.
    """
    match node:
        case ast.Constant(value=str(text)):
            return describe_attribute(text)
        case ast.Attribute(attr="findCaller"):
            return "looks for its caller (findCaller)"
        case ast.Attribute(attr="__dict__", value=owner) if not _is_own(owner, names):
            return "goes through the attributes of an object (__dict__)"
        case ast.Call(keywords=keywords) if any(k.arg == "stack_info" for k in keywords):
            return "looks for its caller (stack_info)"
        case ast.Call(func=function, args=args):
            return _describe_call(names.path(function), args, names)
        case ast.Assign(targets=targets, value=value) if names.is_function(value):
            if any(isinstance(t, ast.Attribute) and not _is_self(t.value) for t in targets):
                return "stores a function in an attribute"
    return None


def _describe_call(path: str | None, args: list[ast.expr], names: NameResolver) -> str | None:
    function = (path or "").removeprefix("builtins.")
    lists_names = function == "vars" or (function == "dir" and not args)
    if lists_names and not (args and _is_own(args[0], names)):
        return f"goes through the attributes of an object ({function})"
    if any(names.path(arg) in _ACCESSORS for arg in args):
        return "passes on a function that gets or sets attributes"
    if function == "setattr" and len(args) > 2 and names.is_function(args[2]):
        return None if _is_self(args[0]) else "stores a function in an attribute"
    named = {"getattr": args[1:2], "operator.attrgetter": args, "operator.methodcaller": args[:1]}
    is_computed = any(string_name(arg) is None for arg in named.get(function, ()))
    if is_computed and not (function == "getattr" and _is_own(args[0], names)):
        return "reads an attribute whose name is computed"
    return None


def _is_own(owner: ast.expr, names: NameResolver) -> bool:
    """Return whether an expression is a name of the notebook that refers to no module."""
    return isinstance(owner, ast.Name) and names.path(owner) is None


def _is_self(owner: ast.expr) -> bool:
    return isinstance(owner, ast.Name) and owner.id in ("self", "cls")
