"""Test that `bound_names` finds the names a cell binds and that `rename_names` renames them."""

from __future__ import annotations

import ast
import symtable

import pytest
from jaxbits_grader.authoring.name_rewriter import rename_names
from jaxbits_grader.cell_names import bound_names, local_names, without_magics

# Each description maps to a cell and to the names that the cell binds or deletes.
CELLS = {
    "assignment": ("x, (y, *z) = 1, (2, 3)", "x y z"),
    "attribute and item": ("import types\na = types.SimpleNamespace()\na.b = 1", "types a"),
    "import": ("import os.path, json as j\nfrom math import pi, e as euler", "os j pi euler"),
    "star import": ("from math import *", ""),
    "function": ("def f(a, b=1):\n    c = a\n    return c", "f"),
    "lambda": ("f = lambda a: [b for b in a]", "f"),
    "global in a function": ("def f():\n    global g\n    g = 1\nf()", "f g"),
    "global import in a function": ("def f():\n    global m\n    import math as m\nf()", "f m"),
    "global in a nested function": (
        "def f():\n    def inner():\n        global g\n        g = 1\n    inner()\nf()",
        "f g",
    ),
    "global in a class": ("class A:\n    global g\n    g = 1", "A g"),
    "global that is only read": ("g = 1\ndef f():\n    global g\n    return g", "g f"),
    "class body": ("class A:\n    x = 1\n    def f(self):\n        y = 2", "A"),
    "function inside a branch": ("if True:\n    def f():\n        y = 1\n        return y", "f"),
    "comprehension": ("x = [y for y in range(3) if y]", "x"),
    "nested comprehension": ("x = {y: [z for z in range(y)] for y in range(3)}", "x"),
    "walrus": ("print(x := 1)", "x"),
    "walrus in a comprehension": ("x = [last := y for y in range(3)]", "x last"),
    "walrus in a function": ("def f():\n    return (y := 1)", "f"),
    "loop": ("for i, (j, k) in [(1, (2, 3))]:\n    l = i\nelse:\n    m = 1", "i j k l m"),
    "with": (
        "import contextlib\nwith contextlib.nullcontext(1) as c:\n    d = c",
        "contextlib c d",
    ),
    "except": (
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    x = str(error)",
        "error x",
    ),
    "delete": ("x = y = 1\ndel y", "x y"),
    "match": (
        "match [1, 2, {'a': 3, 'b': 4}]:\n    case [first, *rest]:\n        pass\n"
        "match {'a': 3, 'b': 4}:\n    case {'a': int() as a, **others}:\n        pass",
        "first rest a others",
    ),
    "augmented": ("x = 1\nx += 1", "x"),
    "magics": ("%matplotlib inline\n!ls\nx = 1", "x"),
}
# After a cell has run, the namespace no longer contains the names that the cell deleted.
DELETED = {"except": {"error"}, "delete": {"y"}}


@pytest.mark.parametrize("case", CELLS)
def test_bound_names_match_names_bound_by_exec(case: str) -> None:
    source, names = CELLS[case]
    assert bound_names(source) == set(names.split())
    namespace: dict[str, object] = {}
    exec(without_magics(source), namespace)
    namespace.pop("__builtins__")
    if case != "star import":
        assert set(namespace) == set(names.split()) - DELETED.get(case, set())


@pytest.mark.parametrize("case", CELLS)
def test_bound_names_match_symbol_table(case: str) -> None:
    source, _ = CELLS[case]
    tables = [symtable.symtable(without_magics(source), "<cell>", "exec")]
    found = {s.get_name() for s in tables[0].get_symbols() if s.is_assigned() or s.is_imported()}
    while tables:
        table = tables.pop()
        tables += table.get_children()
        found |= {
            s.get_name()
            for s in table.get_symbols()
            if s.is_declared_global() and (s.is_assigned() or s.is_imported())
        }
    assert bound_names(source) == found


@pytest.mark.parametrize("source", ["x = ", "def f(:\n    pass", "x = !ls"])
def test_bound_names_raises_for_invalid_python(source: str) -> None:
    with pytest.raises(SyntaxError):
        bound_names(source)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(a):\n    import os\n    b = a\n    c: int = 1", "os b c"),
        ("def f():\n    global g\n    g = h = 1", "h"),
        ("def f():\n    x = 1\n    def inner():\n        nonlocal x\n        x = 2", "x inner"),
        ("class A:\n    y = 1\n    def f(self): z = 1", "y f"),
        ("def f(a):\n    match a:\n        case [b]:\n            return b", "b"),
        ("def f():\n    try:\n        pass\n    except E as error:\n        pass", "error"),
    ],
)
def test_local_names_exclude_parameters_and_globals(source: str, names: str) -> None:
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    assert local_names(node) == set(names.split())


@pytest.mark.parametrize("case", sorted(set(CELLS) - {"star import", "magics"}))
def test_rename_names_renames_every_bound_name(case: str) -> None:
    source, names = CELLS[case]
    old_names = set(names.split())

    def new_name(name: str, line: int) -> str | None:
        return f"_p_{name}" if name in old_names else None

    tree = rename_names(ast.parse(source), new_name, lambda name: False, "builtins")
    renamed = ast.unparse(tree)
    namespace: dict[str, object] = {"builtins": __import__("builtins")}
    exec(renamed, namespace)
    new_names = {name for name in namespace if name.startswith("_p_")}
    assert new_names == {f"_p_{name}" for name in old_names - DELETED.get(case, set())}
    assert not old_names & set(namespace)
