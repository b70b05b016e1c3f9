"""Test that the integrity check and the census find changes, and nothing in an honest session.

One process tries each kind of tampering in a separate fork, and another process runs an honest
session. Both run IPython's shell with the file names that the kernel gives to cells. The last test
runs the shell with its own file names.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

IMPORTS = """import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxbits import detect, testing"""
NAMES = ["np", "jnp", "jax", "lax", "testing", "detect", "isinstance", "abs", "f"]

TAMPERED = {
    "numpy.allclose": "np.allclose = lambda *a, **k: True",
    "numpy.array_equal": "import functools\nnp.array_equal = functools.partial(lambda *a: True)",
    "numpy.isclose": "np.isclose = np.frompyfunc(lambda *a: True, 2, 1)",
    "numpy.all": "np.all = np.vectorize(lambda a: True)",
    "jax.numpy.allclose": "jnp.allclose = jax.jit(lambda a, b: jnp.array(True))",
    "jax.numpy.array_equal": (
        "def yes(a, b): return True\nyes.__module__ = 'numpy'\njnp.array_equal = yes"
    ),
    "numpy.testing.assert_allclose": (
        "from unittest import mock\nmock.patch('numpy.testing.assert_allclose').start()"
    ),
    "numpy.testing.assert_array_equal": (
        "class Yes:\n    def __call__(self, *a): pass\nnp.testing.assert_array_equal = Yes()"
    ),
    "numpy.linalg.norm": ("class Yes:\n    def no(self, *a): return 0\nnp.linalg.norm = Yes().no"),
    "builtins.isinstance": (
        "import builtins\nreally = isinstance\n"
        "builtins.isinstance = lambda a, b: b is str or really(a, b)"
    ),
    "builtins.AssertionError": (
        "import builtins\nclass Never(Exception): pass\nbuiltins.AssertionError = Never"
    ),
    "jax._src.array.ArrayImpl.__eq__": ("type(jnp.ones(1)).__eq__ = lambda a, b: np.True_"),
    "jax.Array.__eq__": "jax.Array.__eq__ = lambda a, b: np.True_",
    "numpy.testing": ("import sys, types\nsys.modules['numpy.testing'] = types.SimpleNamespace()"),
    "the name np": "import types\nnp = types.ModuleType('numpy')",
    "the name testing": "class testing:\n    assert_close = print",
    "the name jnp": "jnp = np",
    "the name isinstance": "def isinstance(a, b): return True",
    "the name abs": "abs = jax.jit(lambda x: 0 * x)",
    "IPython's ast_transformers": (
        "import ast\nclass NoAsserts(ast.NodeTransformer):\n"
        "    def visit_Assert(self, node): return ast.Pass()\n"
        "get_ipython().ast_transformers.append(NoAsserts())"
    ),
    "IPython's input_transformers_post": (
        "get_ipython().input_transformers_post.append(lambda lines: [])"
    ),
    "IPython's input_transformers_cleanup": (
        "get_ipython().input_transformers_cleanup.append(lambda lines: [])"
    ),
    "IPython's line_transforms": (
        "get_ipython().input_transformer_manager.line_transforms.append(lambda lines: [])"
    ),
    "IPython's event pre_run_cell": (
        "get_ipython().events.register('pre_run_cell', lambda info: None)"
    ),
    "IPython's event post_execute": ("get_ipython().events.register('post_execute', lambda: None)"),
    "IPython's traceback": (
        "get_ipython().set_custom_exc((AssertionError,), lambda *a, **k: None)"
    ),
    "IPython's showtraceback": ("def quiet(*a, **k): pass\nget_ipython().showtraceback = quiet"),
    "IPython's run_code": (
        "async def nothing(self, *a, **k): return False\ntype(get_ipython()).run_code = nothing"
    ),
}

OWN = {
    "assert_close": ("jaxbits.testing", "testing.assert_close = lambda *a, **k: None"),
    "assert_array": ("jaxbits.testing", "testing.assert_array = print"),
    "assert_raises": ("jaxbits.testing", "testing.assert_raises = np.array"),
    "_is_close": ("jaxbits._equality", "testing._equality._is_close = lambda *a: True"),
    "format_with_dtype": (
        "jaxbits._formatting",
        "testing._formatting.format_with_dtype = print",
    ),
    "code": (
        "jaxbits.testing",
        "testing.reject_custom_equality.__code__ = (lambda *a, **k: None).__code__",
    ),
    "key_reuse": ("jaxbits.detect", "detect.key_reuse = lambda *a: []"),
    "side_effect": ("jaxbits.detect", "detect.side_effect = testing.assert_close"),
    # Functions of the libraries themselves take the place of others here.
    "jax.numpy.argmax": ("jax.numpy", "jnp.argmax = jnp.argmin"),
    "another function of NumPy": ("numpy", "np.allclose = np.array_equal"),
    "another module of NumPy": ("numpy", "np.testing = np.random"),
    "optax.apply_updates": ("optax", "import copy, optax; optax.apply_updates = copy.deepcopy"),
    "a method": (
        "jaxlib._jax.ArrayImpl",
        "type(jnp.ones(1)).__eq__ = type(jnp.ones(1)).__ne__",
    ),
    "a constant": (
        "jaxbits.detect._side_effect",
        "import sys\nsys.modules['jaxbits.detect._side_effect'].OUTPUT = 'state'",
    ),
}

HONEST = [
    "%load_ext jaxbits",
    "import dataclasses, functools, math, operator, itertools",
    "import flax, optax, torch\nfrom flax import nnx",
    "import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"
    "%matplotlib inline\nfigure = plt.figure()\nplt.close(figure)",
    "@jax.tree_util.register_pytree_node_class\nclass Own:\n"
    "    def __init__(self, x): self.x = x\n"
    "    def tree_flatten(self): return (self.x,), None\n"
    "    @classmethod\n    def tree_unflatten(cls, aux, children): return cls(*children)",
    "@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass State:\n"
    "    x: float\n    n: int",
    "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int",
    "half = functools.partial(operator.mul, 0.5)\nsteps = np.vectorize(lambda x: x + 1)\n"
    "rows = jnp.vectorize(lambda x: x * 2)\nodd = np.frompyfunc(lambda x: x % 2, 1, 1)",
    "@jax.custom_vjp\ndef f(x): return x\nf.defvjp(lambda x: (x, None), lambda r, g: (g,))\n"
    "assert jax.grad(f)(1.0) == 1.0",
    "@functools.lru_cache\ndef table(n): return n\n@functools.wraps(np.sum)\ndef sum(x): return x",
    "sum = jax.jit(lambda x: jnp.cumsum(x)[-1])\nassert sum(jnp.ones(3)) == 3",
    "loss = lambda w: optax.l2_loss(w).sum()\nopt = optax.adam(0.1)\n"
    "state = opt.init(jnp.ones(2))\nopt.update(jax.grad(loss)(jnp.ones(2)), state)",
    "class Linear(nnx.Module):\n    def __init__(self): self.w = nnx.Param(jnp.ones(2))\n"
    "model = Linear()\nnnx.jit(lambda m: m.w.sum())(model)",
    "twice = lambda k: jax.random.normal(k) + jax.random.normal(k)\n"
    "found = detect.key_reuse(twice, jax.random.key(1))",
    "assert testing.count_traces(lambda x: x, [(1.0,), (2.0,)]) == 1",
    "with jax.debug_nans(True), jax.checking_leaks():\n    jnp.ones(2) + 1",
    "import warnings\nwith warnings.catch_warnings(record=True):\n    warnings.warn('x')",
    "%time 1 + 1",
    "1 / 0",
]

SESSION_SCRIPT = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from IPython.core.interactiveshell import InteractiveShell
request = json.load(sys.stdin)
shell = InteractiveShell.instance()
if request["as_kernel"]:
    from ipykernel.compiler import XCachingCompiler
    shell.compile = XCachingCompiler()
found = {}
shell.run_cell(request["imports"])
from jaxbits_grader.checking import census, library_census
from jaxbits_grader.checking.integrity_check import find_replaced
def take():
    lines = [*census.take({}).splitlines(), *library_census.take({}).splitlines()]
    return {line.partition(" ")[2]: line.partition(" ")[0].partition("/")[0] for line in lines}
census.prepare({})
first = take()
def changed_parts():
    now = take()
    return [name for name in first if now.get(name) != first[name]]
if request["one_by_one"]:
    for name, source in request["cells"].items():
        read_end, write_end = os.pipe()
        if os.fork() == 0:
            result = shell.run_cell(source)
            replaced = find_replaced(request["names"]) if result.success else "it failed"
            replaced = "\\n".join([replaced, *changed_parts()])
            os.write(write_end, replaced.encode())
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as pipe:
            found[name] = pipe.read()
        os.wait()
else:
    for name, source in request["cells"].items():
        shell.run_cell(source)
        found[name] = "\\n".join(filter(None, [find_replaced(request["names"]), *changed_parts()]))
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""


def check_sessions(folder: Path, cells: dict[str, str], **options: object) -> dict[str, str]:
    result_file = folder / "found.json"
    process = subprocess.run(
        [sys.executable, "-c", SESSION_SCRIPT, str(result_file)],
        input=json.dumps({"cells": cells, "imports": IMPORTS, "names": NAMES, **options}),
        text=True,
        capture_output=True,
        timeout=120,
        cwd=folder,
    )
    assert result_file.exists(), process.stdout[-2000:] + process.stderr[-2000:]
    found: dict[str, str] = json.loads(result_file.read_text())
    return found


@pytest.fixture(scope="module")
def tampered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tampered")
    cells = TAMPERED | {name: source for name, (_, source) in OWN.items()}
    return check_sessions(folder, cells, one_by_one=True, as_kernel=True)


@pytest.mark.parametrize("name", TAMPERED)
def test_find_replaced_names_replaced_functions(tampered: dict[str, str], name: str) -> None:
    assert name in tampered[name].splitlines()


@pytest.mark.parametrize("name", OWN)
def test_census_names_changed_modules_of_this_project(tampered: dict[str, str], name: str) -> None:
    assert OWN[name][0] in tampered[name].splitlines()


def test_find_replaced_finds_nothing_in_honest_session(tmp_path: Path) -> None:
    cells = {f"{n}: {source}": source for n, source in enumerate(HONEST)}
    found = check_sessions(tmp_path, cells, one_by_one=False, as_kernel=True)
    assert [cell for cell, replaced in found.items() if replaced] == []
    assert len(found) == len(HONEST)


def test_find_replaced_works_without_kernel(tmp_path: Path) -> None:
    cells = {"honest": HONEST[4], "numpy.allclose": TAMPERED["numpy.allclose"]}
    found = check_sessions(tmp_path, cells, one_by_one=False, as_kernel=False)
    assert found["honest"] == ""
    assert found["numpy.allclose"].splitlines() == ["numpy.allclose", "numpy"]
