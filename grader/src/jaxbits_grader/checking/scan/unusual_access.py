"""Describe ways of reaching an object that no assignment needs, although they may be honest."""

from __future__ import annotations

import ast
import re

from jaxbits_grader.checking.scan import usual_names
from jaxbits_grader.checking.scan.ast_utils import string_name
from jaxbits_grader.checking.scan.foreign_attributes import assignments
from jaxbits_grader.checking.scan.name_resolution import NameResolver
from jaxbits_grader.checking.scan.suspicious_patterns import describe_attribute
from jaxbits_grader.checking.scan.unusual_paths import describe_name, describe_special

_ACCESSORS = {f"builtins.{name}" for name in ("getattr", "setattr", "delattr", "vars", "globals")}
_ACCESSORS |= {"operator.attrgetter", "operator.methodcaller"}
_ACCESS_METHODS = ("__getattribute__", "__setattr__", "__delattr__", "__getattr__")
_NAMES_CLASSES = ("collections.namedtuple", "dataclasses.make_dataclass", "enum.", "typing.")
_FOREIGN_COPY = "copies attributes to an object that it does not define"
_PROGRAM_CACHE = re.compile("compilation_cache|persistent_cache", re.I)
_CALLBACKS = {"jax.debug.callback", "jax.experimental.io_callback", "jax.pure_callback"}
_SAVE = {"numpy.save", "numpy.savetxt", "numpy.savez", "numpy.savez_compressed", "torch.save"}
_REGISTERS = ("jax.tree_util.register_", "jax.tree.register")
_UNUSUAL_MODULE_NAMES = {"__builtins__", "__loader__", "__spec__"}


def describe_access(node: ast.AST, names: NameResolver) -> str | None:
    """Return what is odd about how a node reaches an object, or None if nothing is.

    Args:
        node: A syntax node.
        names: What the names at this point refer to.
    """
    for child in ast.iter_child_nodes(node):
        if not _calls(node, child) and (_is_accessor(child) or names.path(child) in _ACCESSORS):
            return "uses getattr, __setattr__, or the like without calling it"
    match node:
        case ast.Constant(value=str(text)):
            if _PROGRAM_CACHE.search(text):
                return "changes where JAX keeps compiled programs"
            if text in usual_names.NEVER_ASSIGNED[:3]:
                return f"mentions a special attribute ({text})"
            return describe_attribute(text) or describe_special(text)
        case ast.Name(id=name) if name in _UNUSUAL_MODULE_NAMES and not names.is_bound(name):
            return f"uses {name}"
        case ast.Attribute():
            return _describe_attribute(node, names)
        case ast.MatchClass(cls=cls, kwd_attrs=attributes):
            if attributes and names.path(cls) == "builtins.object":
                return "reads attributes with a pattern that matches any object (match)"
            return next(filter(None, map(describe_name, attributes)), None)
        case ast.Call(func=function) if names.path(node) == "ipython":
            return "uses get_ipython"
        case ast.ClassDef(bases=bases, body=body):
            paths = [names.path(base) or "" for base in bases]
            if odd := [path for path in paths if path.startswith("contextlib.redirect_")]:
                return f"derives a class from {odd[0]}"
            formats = any(getattr(part, "name", "") in ("format", "__format__") for part in body)
            if formats and "builtins.str" in paths:
                return "defines a str subclass with its own format"
        case ast.Call(func=function, args=args, keywords=keywords):
            path = (names.path(function) or "").removeprefix("builtins.")
            return (
                _describe_keywords(path, keywords)
                or _describe_call(node, path, args, names)
                or _describe_change(node, names)
            )
    for target, value in assignments(node):
        is_attribute = isinstance(target, ast.Attribute) and not _is_self(target.value)
        if is_attribute and _mentions_function(value, names):
            return "stores a function in an attribute"
    return None


def _is_accessor(node: ast.AST) -> bool:
    """Return whether a node is a method such as ``object.__setattr__``."""
    return isinstance(node, ast.Attribute) and node.attr in _ACCESS_METHODS


def _calls(node: ast.AST, function: ast.AST) -> bool:
    return isinstance(node, ast.Call) and node.func is function


def _describe_attribute(node: ast.Attribute, names: NameResolver) -> str | None:
    name, owner = node.attr, node.value
    if name == "findCaller":
        return "looks for its caller (findCaller)"
    if name == "__name__" and isinstance(owner, ast.Name) and names.is_local(owner.id):
        return "reads the name of an object that a function is given (__name__)"
    if name == "__dict__" and not _is_own(owner, names):
        return "accesses all attributes of an object (__dict__)"
    if isinstance(node.ctx, ast.Store):
        # The scan judges attributes of a known module elsewhere.
        is_known = _is_self(owner) or (
            isinstance(owner, ast.Name)
            and (names.path(owner) is not None or owner.id in names.function_names)
        )
        if name in usual_names.TEST_FUNCTIONS and not isinstance(owner, ast.Name):
            return f"sets an attribute named like a function that tests call ({name})"
        if name[:1].isupper() and not name.isupper() and not is_known:
            return f"sets an attribute that is named like a class ({name})"
        if _PROGRAM_CACHE.search(name):
            return "changes where JAX keeps compiled programs"
        is_special = describe_special(name) or name in usual_names.SPECIAL_NAMES
        if name in usual_names.NEVER_ASSIGNED or (is_special and names.is_in_function):
            return f"sets a special attribute ({name})"
        if (names.path(owner) or "") == "jax.config" and names.is_in_function:
            return f"changes a setting inside a function (jax.config.{name})"
    elif name == "writeable":  # Large arrays that an answer keeps are read-only during a test.
        return "asks whether an array is writeable"
    if _is_accessor(node):
        return None  # Such a call is judged as a whole.
    return describe_name(name)


def _describe_keywords(path: str, keywords: list[ast.keyword]) -> str | None:
    for keyword in keywords:
        if keyword.arg == "eval_str":
            return "runs annotations as code (eval_str)"
        if keyword.arg == "stack_info":
            return "looks for its caller (stack_info)"
        if keyword.arg == "allow_pickle" and not _is_constant(keyword.value, False):
            return "reads pickled objects (allow_pickle)"
        names_class = path.startswith(_NAMES_CLASSES) and keyword.arg == "module"
        if names_class or keyword.arg == "qualname":
            return f"defines a class that claims to be a different one ({keyword.arg})"
        if path == "functools.update_wrapper" and keyword.arg in ("assigned", "updated"):
            return "copies attributes whose names are computed"
    return None


def _describe_change(node: ast.Call, names: NameResolver) -> str | None:
    """Describe a call that changes a dictionary, list, or set that is a given constant."""
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        owner = function.value.id
        is_constant = owner.isupper() and owner in names.given and not names.is_local(owner)
        if is_constant and function.attr in usual_names.MUTATORS:
            return f"changes the given constant {owner}"
    return None


def _describe_call(
    call: ast.Call, function: str, args: list[ast.expr], names: NameResolver
) -> str | None:
    lists_names = function == "vars" or (function == "dir" and not args)
    if lists_names and not (args and _is_own(args[0], names)):
        what = "all attributes of an object" if args else "all names"
        return f"accesses {what} ({function})"
    if function in ("functools.update_wrapper", "functools.wraps"):
        is_wraps = function.endswith("wraps")
        if len(args) > (1 if is_wraps else 2):
            return "copies attributes whose names are computed"
        if is_wraps or (args and (names.is_function(args[0]) or _is_self(args[0]))):
            return None
        return _FOREIGN_COPY
    if isinstance(call.func, ast.Call) and names.path(call.func.func) == "functools.wraps":
        return None if args and names.is_function(args[0]) else _FOREIGN_COPY
    if isinstance(call.func, ast.Attribute) and _is_accessor(call.func):
        return _describe_special_call(call.func, args)
    if isinstance(call.func, ast.Attribute) and not function:
        name = call.func.attr
        if name == "compile" or (name == "lower" and (args or call.keywords)):
            return f"compiles a program ahead of time ({name})"
    if function == "numpy.ndarray":
        return "creates an array without setting its elements (np.ndarray)"
    if names.is_in_function and (function in _SAVE or _writes(call, function, args)):
        return "writes a file inside a function"
    if function == "hash" and args and isinstance(args[0], ast.Constant | ast.JoinedStr):
        return "uses the hash of a string, which differs between sessions"
    if function in _CALLBACKS:
        return f"calls Python code from a compiled program ({function})"
    if function == "numpy.load" and len(args) > 2:
        return "reads pickled objects (allow_pickle)"
    if function == "jax.config.update" and args and string_name(args[0]) is None:
        return "changes a setting whose name is computed"
    if function in usual_names.SETTINGS and names.is_in_function:
        return f"changes a setting inside a function ({function})"
    if function.startswith(_REGISTERS) and args:
        name = args[0].id if isinstance(args[0], ast.Name) else ""
        is_own = name in names.function_names or (name and not names.is_bound(name))
        return None if is_own else f"registers a class that it does not define ({function})"
    if args and _runs_unseen_text(call, function, args[0], names):
        return "may run a string as code"
    if function == "setattr" and len(args) > 2 and _mentions_function(args[2], names):
        return None if _is_self(args[0]) else "stores a function in an attribute"
    named = {"getattr": args[1:2], "operator.attrgetter": args, "operator.methodcaller": args[:1]}
    texts = [string_name(arg) for arg in named.get(function, ())]
    is_known = len(args) > 1 and getattr(args[1], "id", None) in names.literal_names
    if None in texts and not (is_known and _is_own(args[0], names)):
        return "reads an attribute whose name is computed"
    parts = [part for text in texts if text for part in text.split(".")]
    if function != "getattr" and {"sys", "modules"} & set(parts):
        return f"uses {'.'.join(parts)}"
    return next(filter(None, map(describe_name, parts)), None)


def _describe_special_call(function: ast.Attribute, args: list[ast.expr]) -> str | None:
    """Describe a call such as ``object.__setattr__(thing, "name", value)``."""
    owner, texts = function.value, [string_name(arg) for arg in args[:2]]
    is_super = isinstance(owner, ast.Call) and getattr(owner.func, "id", "") == "super"
    on_self = is_super or _is_self(owner) or (bool(args) and _is_self(args[0]))
    if not on_self:
        return f"reads or sets an attribute of another object ({function.attr})"
    # A method that forwards each access to an attribute of its object may compute the name.
    return next(filter(None, (describe_name(text) for text in texts if text)), None)


def _writes(call: ast.Call, function: str, args: list[ast.expr]) -> bool:
    """Return whether a call opens a file to write it, or writes it at once."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("write_bytes", "write_text"):
        return True
    modes = [*args[1:2], *(one.value for one in call.keywords if one.arg == "mode")]
    texts = [str(mode.value) for mode in modes if isinstance(mode, ast.Constant)]
    return function in ("open", "io.open") and any(set("wax+") & set(text) for text in texts)


def _mentions_function(value: ast.expr, names: NameResolver) -> bool:
    """Return whether a value may be or contain one of the notebook's functions.

    The result of calling one does not count.
    """
    if isinstance(value, ast.Call):
        parts = [*value.args, *(keyword.value for keyword in value.keywords)]
        return any(_mentions_function(part, names) for part in parts)
    if names.is_function(value):
        return True
    children = (child for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr))
    return any(_mentions_function(child, names) for child in children)


def _runs_unseen_text(call: ast.Call, function: str, first: ast.expr, names: NameResolver) -> bool:
    """Return whether a call may run a string as code that the scan does not see."""
    if function in ("timeit.timeit", "timeit.repeat", "timeit.Timer"):
        if len(call.args) > 1 or any(keyword.arg in ("stmt", "setup") for keyword in call.keywords):
            return True
        return not (isinstance(first, ast.Constant) or names.is_function(first))
    is_query = isinstance(call.func, ast.Attribute) and call.func.attr in ("eval", "query")
    if not is_query or "pandas" not in names.notebook.paths.values():
        return False
    text = first.value if isinstance(first, ast.Constant) else None
    # Such a string may use the notebook's names (`@f`) and their attributes.
    return not isinstance(text, str) or "@" in text or "__" in text


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _is_own(owner: ast.expr, names: NameResolver) -> bool:
    """Return whether an expression is a name that refers to something other than a module."""
    return isinstance(owner, ast.Name) and names.path(owner) is None


def _is_self(owner: ast.expr) -> bool:
    return isinstance(owner, ast.Name) and owner.id in ("self", "cls")
