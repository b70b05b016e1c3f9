"""The names that a cell binds are those that running it binds."""

from __future__ import annotations

import ast
import symtable

import pytest
from jaxbits_grader.authoring.name_rewriter import rename_names
from jaxbits_grader.cell_names import bound_names, local_names, without_magics

# By description: the cell, and the names that it binds or deletes in the notebook.
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
# A comparison of names before and after cannot see what a cell deletes.
DELETED = {"except": {"error"}, "delete": {"y"}}


@pytest.mark.parametrize("what", CELLS)
def test_bound_names_are_those_that_running_the_cell_binds(what: str) -> None:
    source, names = CELLS[what]
    assert bound_names(source) == set(names.split())
    namespace: dict[str, object] = {}
    exec(without_magics(source), namespace)
    namespace.pop("__builtins__")
    if what != "star import":
        assert set(namespace) == set(names.split()) - DELETED.get(what, set())


@pytest.mark.parametrize("what", CELLS)
def test_bound_names_agree_with_the_symbol_table(what: str) -> None:
    source, _ = CELLS[what]
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
def test_a_cell_that_is_not_python_has_no_names(source: str) -> None:
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
def test_local_names(source: str, names: str) -> None:
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    assert local_names(node) == set(names.split())


@pytest.mark.parametrize("what", sorted(set(CELLS) - {"star import", "magics"}))
def test_renaming_gives_every_bound_name_its_new_name(what: str) -> None:
    source, names = CELLS[what]
    wanted = set(names.split())

    def new_name(name: str, line: int) -> str | None:
        return f"_p_{name}" if name in wanted else None

    tree = rename_names(ast.parse(source), new_name, lambda name: False, "builtins")
    renamed = ast.unparse(tree)
    namespace: dict[str, object] = {"builtins": __import__("builtins")}
    exec(renamed, namespace)
    own = {name for name in namespace if name.startswith("_p_")}
    assert own == {f"_p_{name}" for name in wanted - DELETED.get(what, set())}
    assert not wanted & set(namespace)
