"""The integrity check finds what was replaced in a session, and nothing in an honest one.

Two processes run IPython's shell: one a cell for each way to tamper, each in a fork of its own, the
other an honest session. The real kernel names the text of its cells otherwise; both are tried.
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
    "jaxbits.testing.assert_close": "testing.assert_close = lambda *a, **k: None",
    "jaxbits.testing.assert_array": "testing.assert_array = print",
    "jaxbits.testing.assert_raises": "testing.assert_raises = np.array",
    "jaxbits._equality._is_close": "testing._equality._is_close = lambda *a: True",
    "jaxbits._formatting.format_with_dtype": "testing._formatting.format_with_dtype = print",
    "jaxbits.testing.reject_custom_equality": (
        "testing.reject_custom_equality.__code__ = (lambda *a, **k: None).__code__"
    ),
    "jaxbits.detect.key_reuse": "detect.key_reuse = lambda *a: []",
    "jaxbits.detect.side_effect": "detect.side_effect = testing.assert_close",
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

SHELL = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from IPython.core.interactiveshell import InteractiveShell
told = json.load(sys.stdin)
shell = InteractiveShell.instance()
if told["as_kernel"]:
    from IPython.core.compilerop import CachingCompiler
    called = lambda self, raw, cell, number: f"/tmp/ipykernel_{number}/{abs(hash(cell))}.py"
    CachingCompiler.get_code_name = called
found = {}
shell.run_cell(told["imports"])
from jaxbits_grader.checking.integrity_check import find_replaced
if told["one_by_one"]:
    for name, source in told["cells"].items():
        there, back = os.pipe()
        if os.fork() == 0:
            ran = shell.run_cell(source)
            said = find_replaced(told["names"]) if ran.success else "it failed"
            os.write(back, said.encode())
            os._exit(0)
        os.close(back)
        with os.fdopen(there) as pipe:
            found[name] = pipe.read()
        os.wait()
else:
    for name, source in told["cells"].items():
        shell.run_cell(source)
        found[name] = find_replaced(told["names"])
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""


def check_sessions(folder: Path, cells: dict[str, str], **told: object) -> dict[str, str]:
    outcome = folder / "found.json"
    done = subprocess.run(
        [sys.executable, "-c", SHELL, str(outcome)],
        input=json.dumps({"cells": cells, "imports": IMPORTS, "names": NAMES, **told}),
        text=True,
        capture_output=True,
        timeout=120,
        cwd=folder,
    )
    assert outcome.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    found: dict[str, str] = json.loads(outcome.read_text())
    return found


@pytest.fixture(scope="module")
def tampered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("tampered")
    return check_sessions(place, TAMPERED, one_by_one=True, as_kernel=True)


@pytest.mark.parametrize("what", TAMPERED)
def test_replaced_functions_are_named(tampered: dict[str, str], what: str) -> None:
    assert what in tampered[what].splitlines()


def test_honest_sessions_are_clean(tmp_path: Path) -> None:
    cells = {f"{n}: {source}": source for n, source in enumerate(HONEST)}
    found = check_sessions(tmp_path, cells, one_by_one=False, as_kernel=True)
    assert [cell for cell, said in found.items() if said] == []
    assert len(found) == len(HONEST)


def test_a_shell_without_a_kernel(tmp_path: Path) -> None:
    cells = {"honest": HONEST[4], "numpy.allclose": TAMPERED["numpy.allclose"]}
    found = check_sessions(tmp_path, cells, one_by_one=False, as_kernel=False)
    assert found == {"honest": "", "numpy.allclose": "numpy.allclose"}
