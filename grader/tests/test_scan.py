"""Test which code the scan reports as tampering, which code as odd, and which code it ignores."""

from __future__ import annotations

import pytest
from jaxbits_grader.checking.scan import ScanFindings, scan_notebook
from jaxbits_grader.notebook import MAX_CELL_CHARACTERS, ParsedNotebook
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

IMPORTS = """import sys
import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import detect, testing"""
RELEASED = new_notebook(cells=[new_markdown_cell("# An assignment"), new_code_cell(IMPORTS)])


def scan(notebook: NotebookNode, released: NotebookNode) -> ScanFindings:
    to_parsed = ParsedNotebook.from_nbformat
    return scan_notebook(to_parsed(notebook), to_parsed(released))


def scan_beside_test(test: str, *sources: str) -> ScanFindings:
    """Scan cells of a notebook that has a visible test."""
    released = new_notebook(cells=[*RELEASED.cells, new_code_cell(test)])
    marks = {"grade_id": "t", "grade": True, "solution": False, "locked": True, "points": 1}
    released.cells[-1].metadata["nbgrader"] = marks
    cells = [*RELEASED.cells, *map(new_code_cell, sources), released.cells[-1]]
    return scan(new_notebook(cells=cells), released)


def scan_cells(*sources: str) -> ScanFindings:
    cells = [*RELEASED.cells, *map(new_code_cell, sources)]
    return scan(new_notebook(cells=cells), RELEASED)


TAMPERED = {
    "equal to anything": "class Any:\n    def __eq__(self, other):\n        return True",
    "equal to anything, with a docstring": (
        "class Any:\n    def __eq__(self, other):\n"
        "        'equal'\n        x = 1\n        return 1 == 1"
    ),
    "or True": "class A:\n    def __eq__(self, other):\n        return self.x == other or True",
    "lambda as __eq__": "class Any:\n    __eq__ = lambda self, other: True",
    "earlier function as __ne__": "def yes(*a):\n    return True\nclass A:\n    __ne__ = yes",
    "never unequal": "class Any:\n    def __ne__(self, other): return not True",
    "always true": "class Any:\n    def __bool__(self): return True",
    "always less": "class Any:\n    def __lt__(self, other): return True",
    "numpy's True": "class A:\n    def __array_ufunc__(self, *a, **k): return np.True_",
    "numpy's ones": "class A:\n    def __array_function__(self, *a, **k): return np.ones(3)",
    "a metaclass": "class M(type):\n    def __instancecheck__(cls, x): return True",
    "class made by type()": "Any = type('Any', (float,), {'__eq__': lambda a, b: True})",
    "__eq__ set after the class": "class A: pass\nA.__eq__ = lambda a, b: True",
    "set on a type": "type(jnp.ones(1)).__eq__ = lambda a, b: True",
    "setattr on a class": "class A: pass\nsetattr(A, '__eq__', lambda a, b: True)",
    "numpy": "np.allclose = lambda *a, **k: True",
    "numpy in a function": "def f():\n    np.allclose = max\nf()",
    "an alias": "import numpy as xyz\nxyz.allclose = max",
    "an alias of an alias": "a = np\nb = a\nb.testing.assert_allclose = print",
    "a walrus": "(m := np).allclose = max",
    "name bound by a walrus": "print(m := np)\nm.allclose = max",
    "part of a module": "from numpy import testing as t\nt.assert_allclose = print",
    "jax": "jax.tree.leaves = lambda x: []",
    "jax.numpy": "import jax.numpy as j\nj.isnan = print",
    "a function's code": "testing.assert_close.__code__ = (lambda *a, **k: None).__code__",
    "a function's defaults": "testing.assert_close.__kwdefaults__ = {'rtol': 9e9, 'atol': 9e9}",
    "private module": "testing._equality._is_close = lambda *a: True",
    "the whole package": "import jaxbits\njaxbits.testing.assert_close = print",
    "import under another name": "from jaxbits import testing as e\ne.count_traces = lambda *a: 1",
    "detect": "detect.key_reuse = lambda *a, **k: []",
    "math": "import math\nmath.isclose = lambda *a, **k: True",
    "operator": "import operator\noperator.eq = max",
    "unittest": "import unittest\nunittest.TestCase.assertEqual = print",
    "builtins": "import builtins\nbuiltins.all = lambda x: True",
    "dunder builtins": "__builtins__.all = lambda x: True",
    "dunder builtins as a dict": "__builtins__['all'] = max",
    "imported by name": "__import__('builtins').isinstance = max",
    "importlib": "import importlib\nimportlib.import_module('numpy').allclose = max",
    "sys.modules": "sys.modules['numpy'].allclose = max",
    "replaced module": "class Fake: pass\nsys.modules['numpy'] = Fake",
    "vars": "vars(np)['allclose'] = max",
    "__dict__": "np.__dict__['allclose'] = max",
    "__dict__.update": "np.__dict__.update(allclose=max)",
    "vars().update with a dict": "vars(np).update({'allclose': max})",
    "__dict__.__setitem__": "np.__dict__.__setitem__('allclose', max)",
    "setattr": "setattr(np, 'allclose', max)",
    "setattr with a name": "name = 'all' + 'close'\nsetattr(np, name, max)",
    "dunder setattr": "np.__setattr__('allclose', max)",
    "object's setattr": "object.__setattr__(np, 'allclose', max)",
    "getattr": "getattr(np, 'testing').assert_allclose = max",
    "a loop": "for m in (np, jnp):\n    m.allclose = max",
    "a list comprehension": "[setattr(m, 'allclose', max) for m in [np, jnp]]",
    "a tuple": "np.allclose, x = max, 1",
    "deleted": "del np.testing.assert_allclose",
    "augmented": "np.allclose += 1",
    "mock's patch": "from unittest import mock\nmock.patch('numpy.allclose', max).start()",
    "mock's patch.object": "from unittest import mock\nmock.patch.object(np, 'allclose').start()",
    "monkeypatch": "from pytest import MonkeyPatch\nMonkeyPatch().setattr(np, 'allclose', max)",
    "monkeypatch by name": "import pytest\npytest.MonkeyPatch().setattr('numpy.allclose', max)",
    "all": "all = lambda xs: True",
    "abs": "def abs(x):\n    return 0",
    "float": "class float:\n    pass",
    "all replaced by any": "all = any",
    "isinstance replaced by a function": "def mine(*a):\n    return len(a) > 0\nisinstance = mine",
    "a detector's class": "type(detect.out_of_bounds).__call__ = lambda *a, **k: []",
    "a function's __globals__": "testing.assert_close.__globals__['np'] = object()",
    "unbound dict.update": "dict.update(vars(testing), assert_close=print)",
    "operator on a module": "import operator\noperator.setitem(vars(np), 'allclose', max)",
    "the grader": "from jaxbits_grader import census",
    "isinstance": "isinstance = lambda *a: True",
    "an error's class": "AssertionError = int",
    "an error's class as data": "AssertionError = ()",
    "an error's class in a tuple": "x, AssertionError = 1, ValueError",
    "global": "def f():\n    global all\n    all = lambda xs: True\nf()",
    "globals": "globals()['all'] = lambda xs: True",
    "globals' update": "globals().update(np=object())",
    "main": "import __main__\n__main__.all = lambda xs: True",
    "user_ns": "get_ipython().user_ns['all'] = lambda xs: True",
    "a sum": "sum = lambda *a: 0",
    "np": "class Fake: pass\nnp = Fake()",
    "testing": "from types import SimpleNamespace\ntesting = SimpleNamespace(assert_close=print)",
    "testing as a class": "class testing:\n    def assert_close(*a, **k): pass",
    "testing from another module": "from mine import testing",
    "jnp": "import mine as jnp",
    "detect as a function": "def detect(x): return []",
    "transformers": "get_ipython().ast_transformers.append(Nothing())",
    "a shell alias": "ip = get_ipython()\nip.input_transformers_cleanup.append(lambda lines: [])",
    "events": "get_ipython().events.register('post_run_cell', print)",
    "errors": "get_ipython().set_custom_exc((Exception,), print)",
    "the traceback": "get_ipython().showtraceback = print",
    "run_cell": "ip = get_ipython()\nip.run_cell = print",
    "run_cell by setattr": "setattr(get_ipython(), 'run_cell', print)",
    "the shell's class": (
        "from IPython.core.interactiveshell import InteractiveShell as S\nS.run_cell = print"
    ),
    "the kernel": "from ipykernel.ipkernel import IPythonKernel as K\nK.do_execute = print",
    "the kernel's instance": "get_ipython().kernel.do_execute = print",
    "timed": "%time np.allclose = max",
    "timed with options": "%timeit -n 1 -r1 setattr(np, 'allclose', max)",
    "a timed cell": "%%time\nx = 1\nnp.allclose = max",
    "a magic without its sign": "time np.allclose = max",
    "awaited": "await f()\nnp.allclose = max",
    "module passed to a function": "def patch(m):\n    m.allclose = max\npatch(np)",
    "module passed to a lambda": "patch = lambda m: setattr(m.testing, 'x', max)\npatch(m=np)",
    "vars of a passed module": "def patch(m):\n    vars(m)['allclose'] = max\npatch(jnp)",
    "a fixture": "mocker.patch.object(np, 'allclose', max)",
    "executed": "exec('np.allclose = max')",
}


@pytest.mark.parametrize("source", TAMPERED.values(), ids=TAMPERED)
def test_scan_notebook_reports_tampering(source: str) -> None:
    found = scan_cells(source)
    assert found.tampering
    line_count = source.count("\n") + 1
    assert all(
        any(f"cell 3, line {n}:" in s for n in range(1, line_count + 1)) for s in found.tampering
    )


ODD = {
    "hundreds of magics": "a = !x\n" * 480 + "b = (1)\n" * 12_000,
    "the notebook's globals": "known = [x for x in globals().values() if hasattr(x, 'shape')]",
    "the student's own abs": "def abs(x):\n    return 0 * x",
    "the student's own range": "def range(a, b):\n    return list(np.arange(a, b + 1))",
    "globals of a function": "names = testing.assert_close.__globals__",
    "defaults": "testing.assert_close.__kwdefaults__.update(rtol=1)",
    "the running shell": "get = InteractiveShell._instance",
    "a jaxbits: ignore comment": "def f(x, i):\n    return x[i]  # jaxbits: ignore[out_of_bounds]",
    "a bool that counts": "class A:\n    def __bool__(self):\n        A.n += 1\n        return True",  # noqa: E501
    "frames": "f = sys._getframe(1)",
    "imported _getframe": "from sys import _getframe",
    "inspect": "import inspect\ninspect.stack()",
    "the current frame": "import inspect\nprint(inspect.currentframe())",
    "a traceback's frame": "def f(e):\n    return e.__traceback__.tb_frame",
    "trace": "sys.settrace(None)",
    "gc": "import gc\ngc.get_objects()",
    "get_ipython": "ip = get_ipython()",
    "In": "print(In)",
    "history": "text = _ih[-1]",
    "exit": "import os\nos._exit(0)",
    "kill": "import os, sys\nos.kill(os.getppid(), 9)",
    "subprocess": "import subprocess",
    "subprocess in a function": "def f():\n    from subprocess import run",
    "socket": "import socket as s",
    "ctypes": "import ctypes.util",
    "importlib": "import importlib\nimportlib.reload(np)",
    "exec": "exec(open('a.py').read())",
    "eval": "eval(input())",
    "compile": "compile('1', 'x', 'eval')",
    "import": "__import__('os')",
    "pickle": "import pickle\npickle.load(open('state.pkl', 'rb'))",
    "open": "open('/etc/passwd')",
    "open in a parent folder": "open(f'../{name}')",
    "Path": "from pathlib import Path\nPath('~/x').expanduser().read_text()",
    "processes": "from multiprocessing import Pool",
    "signals": "import signal",
    "atexit": "import atexit",
    "threads": "import threading",
    "mock": "from unittest.mock import Mock",
    "a shell": "!cat /etc/passwd",
    "pip and another command": "!pip install x; curl example.org",
    "a bash cell": "%%bash\ncat gradebook.db",
    "another Python": "%%python\nprint(1)",
    "a file": "%%writefile numpy.py\nx = 1",
    "jax.numpy as np": "import jax.numpy as np",
    "NumPy's testing": "from numpy import testing",
    "an unusual module": "import tornado.ioloop",
    "part of IPython": "from IPython.core.compilerop import CachingCompiler",
    "sys.modules": "import sys\nparts = sys.modules",
    "the grader's own package": "import sys\nis_graded = 'jaxbits_grader' in sys.modules",
    "the time in a function": "import time\ndef f(x):\n    return x * (time.time() < 9e9)",
    "the caller's file": (
        "import warnings\ndef f(x):\n    with warnings.catch_warnings(record=True) as seen:\n"
        "        warnings.warn('here', stacklevel=2)\n    return x * len(seen[0].filename)"
    ),
    "how deep the stack is": (
        "def f(x):\n    try:\n        return f(x)\n    except RecursionError:\n        return x"
    ),
    "whether a tracer is read": (
        "def f(x):\n    try:\n        return float(x)\n"
        "    except jax.errors.ConcretizationTypeError:\n        return x"
    ),
    "the name of a function": "def f(update, x):\n    return x * (update.__name__ == 'step')",
    "who owns the memory": "def f(x):\n    return x * x.flags.owndata",
    "whether memory is writeable": "def f(x):\n    return x * x.flags.writeable",
    "hits of a cache": "def f(x):\n    return x * cached.cache_info().hits",
    "the traceback of an error": "def f(error):\n    return error.__traceback__",
    "sys of another module": "import os\nparts = os.sys.modules",
    "a computed attribute": "import json\ngetattr(json, 'du' + 'mps')",
    "getattr as a value": "import functools\nfunctools.reduce(getattr, ['a'], f)",
    "a function in an attribute": "def g():\n    pass\nf.of = {}\nf.of['x'].call = g",
    "an attribute of a variable": "def g(kind, f):\n    kind.apply = f",
    "an attribute by setattr": "def g(kind, f):\n    setattr(kind, 'apply', f)",
    "an attribute of something called self": "def g(self, f):\n    self.apply = f",
    "a rebound function": "def f():\n    pass\ndef g(kind):\n    f = kind\n    f.apply = make()",
    "a method as a function": (
        "class A:\n    def set(self, f):\n        self.apply = f\nA.set(kind, f)"
    ),
    "self bound again": (
        "class A:\n    def put(self, thing):\n        self = thing\n        self.bind = make()"
    ),
    "a decorated method": (
        "class A:\n    @given_to(type(net))\n    def put(self):\n        self.apply = make()"
    ),
    "a method from vars": (
        "class A:\n    def put(self):\n        self.bind = make()\nput = vars(A)['put']\nput(x)"
    ),
    "a matched name": (
        "def tool():\n    pass\nmatch type(net):\n    case tool:\n        tool.apply = make()"
    ),
    "an item of vars": "vars(added)['bind'] = make()",
    "an update of vars": "vars(added).update(bind=make())",
    "a deleted attribute": "def f(added):\n    del added.bind",
    "a class under another name": (
        "class A:\n    def put(self, f):\n        self.apply = f\ntool = A\ntool.put(x, f)"
    ),
    "a part of a jaxpr": "inner.outvars[:] = inner.invars[:1]",
    "a part of a jaxpr by getattr": "getattr(inner, 'eqns').clear()",
    "another part of a jaxpr": "parts = inner.eqns\nparts.clear()",
    "another object's __init__": "class A:\n    pass\nA.__init__(kind)",
    "a copy of attributes": "import functools\nfunctools.wraps(holder)(added)",
    "another copy of attributes": "import functools\nfunctools.update_wrapper(added, holder)",
    "the derivative of a variable": "rule = max([relu], key=id)\nrule.defjvp(make())",
    "a function by setattr": "def g():\n    pass\nsetattr(f, 'call', g)",
    "its caller": "import logging\nlogging.getLogger('x').findCaller(stack_info=True)",
    "a false module": "class A:\n    __module__ = 'numpy'",
    "a name of internals": "name = '__code__'",
    "members": "import inspect\ninspect.getmembers(f)",
    "all names": "vars()",
    "a key's data": "import jax\nagain = jax.random.key_data(key)",
    "a hidden sys": "import sys\nparts = [sys][0].modules",
    "an unbound setter": "change = object.__setattr__",
    "a hidden shell": "from IPython.core.interactiveshell import InteractiveShell\nshell = [InteractiveShell][0].instance()",  # noqa: E501
    "the shell": "from IPython.core.interactiveshell import InteractiveShell\nshell = [InteractiveShell.instance()][0]",  # noqa: E501
    "a computed setting": "%config {text}",
    "a setting that runs code": "%config A.b = globals()",
    "an extension": "%load_ext helper",
    "an inserted value": "%cd {sys.modules}",
    "an unusual magic": "%reset",
    "a sys of any object": "def of(thing):\n    return thing.sys",
    "a private part": "watch = [jax][0]._src",
    "a passed module": "f(testing)",
    "a text as an annotation": "def g(x: '__import__'):\n    pass",
    "annotations": "import inspect\ninspect.get_annotations(f, eval_str=True)",
    "a hidden function": "def g():\n    pass\nf.call = [g][0]",
    "a wrapped function": "import functools\nf.call = functools.partial(lambda: 1)",
    "a setting in a function": "def g(x):\n    jax.config.update('jax_debug_nans', True)\n    return x",  # noqa: E501
    "a doc that grows": "def g(x):\n    g.__doc__ += 'I'\n    return x",
    "a transfer guard": "import jax\nwith jax.transfer_guard('allow'):\n    f()",
    "pickled arrays by position": "np.load(file, None, True)",
    "a pattern of any type": "match f:\n    case type(sys=found):\n        pass",
    "getattr in a list": "tools = [getattr]\ntools[0](f, name)",
    "a log's level": "def g(x):\n    log.setLevel(log.level + 1)\n    return x",
    "a level's name": "import logging\nlogging.addLevelName(77, '1')",
    "a kind of log": "import logging\nclass Where(logging.Logger):\n    pass",
    "a handler": "import logging\nlogging.getLogger('jax').addHandler(mine)",
    "a Python file": "open('helper.py', 'w')",
    "a precision in a function": "import decimal\ndef g(x):\n    decimal.getcontext().prec += 1",
    "evaluated annotations": "import inspect\ninspect.signature(f, eval_str=True)",
    "a thread": "import asyncio\nasyncio.to_thread(f)",
    "an array without elements": "np.ndarray((), 'int8').nbytes",
    "a hash, which differs between sessions": "hash('star')",
    "a saved array": "def f(x):\n    np.save('a.npy', x)",
    "a written file": "def f(x):\n    with open('a', 'w') as file:\n        file.write(x)",
    "a profiler that runs a text": "import cProfile\ncProfile.run('f' + '()')",
    "a thread of the logging library": "import logging.handlers\nlogging.handlers.QueueListener(1)",
    "a callback": "jax.debug.callback(seen.append, 1.0)",
    "a program compiled ahead of time": "jax.jit(f).lower(1.0).compile()",
    "a program lowered with named arguments": "jax.jit(f).lower(x=1.0)",
    "a place for compiled programs": "jax.config.update('jax_compilation_cache_dir', '/tmp/x')",
    "a place for compiled programs as an attribute": "jax.config.jax_compilation_cache_dir = 'x'",
    "a setting with a computed name": "import jax\njax.config.update(name, True)",
    "a function stored by a loop": "def f(): pass\nfor lib.run in [f]: pass",
    "a function stored by with": "def f(): pass\nwith nullcontext(f) as lib.run: pass",
    "a function stored with others": "def f(): pass\nlib.run, x = f, 1",
    "a function stored with an annotation": "def f(): pass\nlib.run: object = f",
    "an attribute with the name of a class": "lib.Linear = make()",
    "an exported program": "import jax\njax.export.export(f)(1.0)",
    "a class that is registered as data": (
        "import jax\nkind = [type(jax)][0]\n"
        "jax.tree_util.register_dataclass(kind, data_fields=[name], meta_fields=[])"
    ),
    "code in a text": "run('import sys\\nparts = sys.modules')",
    "code as a set-up": "import timeit\ntimeit.timeit('pass', setup=text)",
    "code for NumPy": "np.testing.runstring(text, {})",
    "a divided name": "def g():\n    pass\ngetattr(g, '__glo' + 'bals__')",
    "a task": "import asyncio\nasyncio.gather(f())",
    "an interceptor": "import flax.linen as nn\nnn.intercept_methods(f)",
    "an entered context": "f.__enter__()",
    "a text of its own": "class A(str):\n    def format(self, *a):\n        return ''",
    "a check in an attribute": "f.tools.allclose = f.real",
    "an attrgetter in a list": "from operator import attrgetter\nfind = [attrgetter][0]",
    "a program that is traced first": "f.trace(1).lower().compile()",
    "a standard function": "import warnings, logging\nwarnings.warn = logging.debug",
    "the kind of a tracer": "import jax\nisinstance(x, jax.core.Tracer)",
    "the loader": "import math\nmath.__loader__.load_module('sys')",
    "a builtin's module": "module = print.__self__",
    "a private name of a module": "import collections\ncollections._sys",
    "a module inside a module": "import inspect\ninspect.importlib.import_module('x')",
    "an inner sys": "import os, operator\noperator.attrgetter('sys.modules')(os)",
    "a pattern": "match f:\n    case object(sys=found):\n        pass",
    "a copied attribute": "import functools\nfunctools.update_wrapper(f, g, ('call',))",
    "another object's setter": "object.__setattr__(f, 'call', 1)",
    "a claimed module": "from collections import namedtuple\nnamedtuple('A', 'b', module='numpy')",
    "a set class": "f.__class__ = A",
    "text that runs": "import timeit\ntimeit.timeit('import tornado')",
    "unseen text": "import timeit\ntimeit.timeit(text)",
    "pandas and names": "import pandas as pd\ndf.query('@f.x > 0')",
    "hints": "import typing\ntyping.get_type_hints(f)",
    "logging by names": "import logging.config\nlogging.config.dictConfig(settings)",
    "the event loop": "import asyncio\nasyncio.get_event_loop_policy()",
    "the output thread": "import sys\nsys.stdout.pub_thread",
    "a primitive": "import jax\njax.lax.add_p",
    "a redirected stream": "import contextlib\nclass A(contextlib.redirect_stdout):\n    _stream = 'x'",  # noqa: E501
    "pickled arrays": "np.load('a.npy', allow_pickle=True)",
    "all local names": "print(locals())",
    "np as a number": "np = 10",
    "an opaque all": "all = make()",
    "another class": "class A:\n    @property\n    def __class__(self):\n        return jax.Array",
    "a removed NumPy name": "np.float = float",
    "star-imported module": "from numpy import *\nlinalg.norm = max",
    "star-imported function": "from jaxbits.testing import *\nassert_close.__code__ = f.__code__",
    "function passed to a function": "def counted(f):\n    f.n = 0\n    return f\ncounted(jnp.sin)",
    "deeply nested code": "x = " + "+".join(["1"] * 3000),
    "an overlong cell": f"x = '{'a' * MAX_CELL_CHARACTERS}'",
}


@pytest.mark.parametrize("source", ODD.values(), ids=ODD)
def test_scan_notebook_reports_odd_code_without_tampering(source: str) -> None:
    found = scan_cells(source)
    assert found.odd
    assert not found.tampering


HONEST = {
    "config": "jax.config.update('jax_enable_x64', True)\njax.config.jax_debug_nans = False",
    "environment": "import os\nos.environ['XLA_FLAGS'] = '--xla_dump_to=x'",
    "pip": "!pip install -q optax",
    "pip as a module": "!python -m pip install --upgrade jax",
    "pip's magic": "%pip install -q optax",
    "pip without a percent sign": "pip install optax",
    "the graphics card": "!nvidia-smi",
    "magics": "%load_ext autoreload\n%autoreload 2\n%load_ext jaxbits\n%config InlineBackend.figure_format = 'retina'\n%cd data\n%env A=b",  # noqa: E501
    "commands": "version = '0.10'\n!pip install jax=={version}",
    "results in attributes": "def f():\n    return 1\nf.found = f()\nf.found = max(f(), 2)",
    "attributes of its own": (
        "class A:\n    def __init__(self, g):\n        super().__init__()\n        self.g = g\n"
        "    def run(self):\n        def inner():\n            self.n, self.found = g(), []\n"
        "        return inner\nA.count = A.of(1)"
    ),
    "a class that sets its own attributes": (
        "class A:\n    def put(self, f):\n        self.apply = f\n        return self\n"
        "def g(a: A) -> A:\n    return A().put(1) if isinstance(a, A) else a\nclass B(A):\n    pass"
    ),
    "plain values in attributes": "scale.factor = 0.2\nscale.names = ['a', -1]\nscale.n += 1",
    "the mode of a layer": "def f(layer, mode):\n    layer.deterministic = mode",
    "derivatives of its own": (
        "import jax\n@jax.custom_jvp\ndef f(x):\n    return x\n@f.defjvp\ndef g(p, t):\n"
        "    return p, t\ndef h(x):\n    return x\nk = jax.custom_vjp(h)\nk.defvjp(f, g)"
    ),
    "annotations that are texts": "class A:\n    def f(self, x: 'A') -> 'list[A]':\n        y: 'A' = x\n        return [y]",  # noqa: E501
    "timing": "%timeit jnp.ones(3).sum()",
    "timing a cell": "%%time\nx = jnp.ones(3)",
    "captured": "%%capture out\nprint(1)",
    "help": "jnp.sum?",
    "figures": "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.rcParams['figure.dpi'] = 90",  # noqa: E501
    "printing": "np.set_printoptions(precision=3)",
    "old JAX": "import jax.numpy as jnp\nfrom jax import numpy as jnp, random",
    "re-imports": "import jax, numpy as np, jax.numpy as jnp\nfrom jaxbits import testing, detect",
    "NumPy assigned to np": "import numpy\nnp = numpy",
    "random seeds": "np.random.seed(0)\nrng = np.random.default_rng(0)",
    "the time between calls": "import time\nbegan = time.time()\nprint(time.time() - began)",
    "the time in a comprehension": "import time\ntimes = [time.time() for _ in range(3)]",
    "Colab": "if 'google.colab' in sys.modules:\n    print('there')",
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    x: float\n    y: int = 0"  # noqa: E501
    ),
    "__eq__ that compares": (
        "class P:\n    def __eq__(self, other):\n"
        "        return type(self) is type(other) and self.x == other.x"
    ),
    "__eq__ in several steps": (
        "class P:\n    def __eq__(self, other):\n        if not isinstance(other, P):\n"
        "            return False\n        return self.x == other.x\n"
        "    def __hash__(self):\n        return hash(self.x)"
    ),
    "__eq__ with a loop": (
        "class P:\n    def __eq__(self, other):\n        for a, b in zip(self.x, other.x):\n"
        "            if a != b:\n                return False\n        return True"
    ),
    "not implemented": "class P:\n    def __lt__(self, other):\n        return NotImplemented",
    "__array_ufunc__ is None": "class P:\n    __array_ufunc__ = None",
    "__bool__ that raises": "class P:\n    def __bool__(self):\n        raise TypeError('no')",
    "a pytree": (
        "@jax.tree_util.register_pytree_node_class\nclass P:\n    def tree_flatten(self):\n"
        "        return (self.x,), None\n    @classmethod\n    def tree_unflatten(cls, aux, leaves):\n"  # noqa: E501
        "        return cls(*leaves)\njax.tree_util.register_dataclass"
    ),
    "a registered pytree": "jax.tree_util.register_pytree_node(P, lambda p: ((p.x,), None), lambda a, c: P(*c))",  # noqa: E501
    "a variable all": "all = jnp.zeros(3)\ntype = 'adam'\nlen = 3",
    "a variable sum": "sum = 0\nfor x in range(3):\n    sum += x\nmin, max = 0, 1\nid = 3\ninput = [1]",  # noqa: E501
    "the student's own sum": "def sum(xs):\n    s = 0\n    for x in xs:\n        s += x\n    return s",  # noqa: E501
    "imported builtins": "from jax.numpy import abs, all, sum\nfrom math import pow",
    "JAX functions as builtins": "abs = jnp.abs\nall = jnp.all",
    "star": "from jax.numpy import *\na = zeros(3)\na.x = 1\ndef f():\n    b = a\n    b.x = 2",
    "a star import and an error": "from numpy import *\ntry:\n    f()\nexcept E as e:\n    e.x = 1",
    "config as an argument": "def f(c):\n    c.x = 1\n    return c\nf(jax.config)\nf(np.zeros(3))",
    "array as an argument": "def f(x):\n    x[0] = 1\n    return x\nf(np.pi)",
    "parameters": "def f(np, all, isinstance):\n    np.x = 1\n    return np",
    "either module": "def relu(x, xp=np):\n    return xp.where(x > 0, x, 0)\nrelu(1, jnp)",
    "locals": "def f(xs):\n    all = [x for x in xs]\n    abs = 3\n    return all",
    "methods": "class A:\n    def all(self): return True\n    abs = 3",
    "student's class attributes": "class A: pass\na = A()\na.allclose = 3\nsetattr(a, 'x', 1)",
    "frozen": (
        "class A:\n    def __init__(self, x):\n        object.__setattr__(self, 'x', x)\n"
        "        super().__setattr__('y', x)"
    ),
    "indices": "x = np.zeros(3)\nx[0] = 1\nx.flags.writeable = False\nvars(x)\nd = dict(a=1)\nd['all'] = 2",  # noqa: E501
    "lower and compile": "name.lower()\nimport re\nre.compile('x')",
    "eval of a model": "model.eval()\ndf.eval('a')\njax.eval_shape(f, 1)",
    "signals": "signal = jnp.sin(t)\nsignal.sum()\nfrom scipy import signal\nsignal.stft(x)",
    "a loop variable": "for _i in range(3):\n    print(_i)\n[_i for _i in range(3)]",
    "a file": "open('data.csv').read()\nopen('a/b.npy', 'wb')",
    "versions": "import importlib.metadata\nimportlib.metadata.version('jax')",
    "inspect and gc": "import inspect\ninspect.signature(f)\ninspect.getsource(f)\nimport gc\ngc.collect()",  # noqa: E501
    "own attributes": "class A:\n    def __init__(self, f):\n        self.f = f\na = A(len)\nvars(a)\nf.calls = 0",  # noqa: E501
    "getattr with a name": "getattr(f, 'calls', 0)\nfor name in ('a', 'b'):\n    getattr(f, name, None)",  # noqa: E501
    "special attributes": (
        "class A(B):\n    def __init__(self):\n        super().__init__()\n"
        "        self._x = type(self).__name__ + self.__class__.__doc__\n"
        "    def __getattr__(self, name):\n"
        "        return object.__getattribute__(self, name)\n"
        "    def __eq__(self, other):\n        return self.x.__eq__(other.x)\n"
        "f.__name__ = 'f'\ng = f.__wrapped__\nif __name__ == '__main__':\n    print(f.__doc__)"
    ),
    "modules that share a name": (
        "import datetime, collections.abc, os.path, time, random, copy\n"
        "datetime.time(1)\ntime.time()\nrandom.random()\ncopy.copy(x)\nos.path.join('a', 'b')\n"
        "collections.abc.Mapping\njax.random.split(key)\nnp.random.rand()\njnp.copy(x)"
    ),
    "patterns": "match x:\n    case P(x=a):\n        pass\n    case {'a': b} | (b, *_):\n        pass",  # noqa: E501
    "decorators": (
        "import functools\n@functools.wraps(f)\ndef g(*a):\n    return f(*a)\n"
        "def h():\n    pass\nfunctools.update_wrapper(h, f)\n"
        "@functools.lru_cache(None)\ndef k(n):\n    return n"
    ),
    "time it": "import timeit\ntimeit.timeit(lambda: f(1), number=3)\ntimeit.timeit(f)\ndef f(): pass",  # noqa: E501
    "data frames": "import pandas as pd\ndf = pd.DataFrame({'a': [1]})\ndf.query('a > 0')",
    "an array saved outside a function": "np.save('a.npy', 1)",
    "a file that is read": "with open('a.txt') as file:\n    text = file.read()",
    "a check for arrays": "isinstance(1, np.ndarray)",
    "a print in a program": "jax.debug.print('{}', 1.0)",
    "no pickles": "np.load('a.npy', allow_pickle=False)",
    "pickle.dumps": "import pickle\npickle.dumps(1)",
    "display": (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell.ast_node_interactivity = 'all'\nfrom IPython.display import Image, display"  # noqa: E501
    ),
    "globals": "count = 0\ndef f(x):\n    global count\n    count += 1\n    return x\nglobals()['count'] = 0",  # noqa: E501
    "errors": "try:\n    f()\nexcept Exception as error:\n    print(error)\nassert True",
    "patched jit": "f = jax.jit(f)\nf.name = 'f'",
    "invalid Python": "this is not\n  Python = np.allclose",
    "a null character": "x = '\0'",
    "empty": "",
}


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST)
def test_scan_notebook_finds_nothing_in_honest_code(source: str) -> None:
    assert scan_cells(source) == ScanFindings((), ())


def test_scan_notebook_reports_new_meanings_of_given_imports() -> None:
    given = new_code_cell("from flax import nnx\nfrom jax import lax\nimport functools")
    released = new_notebook(cells=[*RELEASED.cells, given])
    same = new_code_cell("import jax\nlax = jax.lax\ndef f(nnx):\n    lax = 3\n    return lax")
    assert scan(new_notebook(cells=[*released.cells, same]), released) == ScanFindings((), ())
    walrus = scan(
        new_notebook(cells=[*released.cells, new_code_cell("[nnx := x for x in (1,)]")]), released
    )
    assert "rebinds the given nnx" in walrus.odd[0]
    for source in ("globals()['nnx'] = 1", "match 1:\n    case nnx:\n        pass"):
        found = scan(new_notebook(cells=[*released.cells, new_code_cell(source)]), released)
        assert "rebinds nnx, which was flax.nnx" in found.odd[0]
    other = new_code_cell("nnx = make()\ndef lax():\n    pass")
    found = scan(new_notebook(cells=[*released.cells, other]), released)
    assert [line.partition(": ")[2] for line in found.odd] == [
        "rebinds nnx, which was flax.nnx",
        "rebinds lax, which was jax.lax",
    ]


def test_scan_notebook_reports_changes_of_given_data() -> None:
    given = new_code_cell("RATES = {'a': 1}\ncount = [0]")
    released = new_notebook(cells=[*RELEASED.cells, given])
    own = new_code_cell("mine = dict(RATES)\nmine.update(a=2)\nRATES['a']\nRATES.items()")
    assert scan(new_notebook(cells=[*released.cells, own]), released) == ScanFindings((), ())
    change = new_code_cell("def f():\n    RATES.update(a=2)\n    count.append(1)")
    found = scan(new_notebook(cells=[*released.cells, change]), released)
    assert [line.partition(": ")[2] for line in found.odd] == ["changes the given constant RATES"]


def test_scan_notebook_skips_released_cells() -> None:
    odd = new_code_cell("import threading\nnp.allclose = max")
    released = new_notebook(cells=[*RELEASED.cells, odd])
    assert scan(new_notebook(cells=[odd, *RELEASED.cells]), released) == ScanFindings((), ())


def test_scan_notebook_names_cells_by_released_ids() -> None:
    def cell(source: str, grade_id: str) -> NotebookNode:
        metadata = {"grade_id": grade_id, "solution": True}
        return new_code_cell(source, metadata={"nbgrader": metadata})

    released = new_notebook(cells=[*RELEASED.cells, cell("# YOUR CODE HERE", "mean")])
    submitted = [cell("x = 1\n\nnp.allclose = max", "mean"), cell("import socket", "<b>forged</b>")]
    found = scan(new_notebook(cells=[*RELEASED.cells, *submitted]), released)
    finding = "cell mean, line 3: assigns to numpy.allclose, which the tests rely on"
    assert found == ScanFindings((finding,), ("cell 4, line 1: uses socket",))


def test_scan_notebook_tracks_names_across_cells() -> None:
    found = scan_cells(
        "mine = np", "mine.allclose = max\nmine.allclose = min", "x = " + "-" * 2000 + "1"
    )
    assert [s.partition(":")[0] for s in found.tampering] == ["cell 4, line 1"]


def test_scan_notebook_skips_text_cells() -> None:
    submitted = new_notebook(cells=[*RELEASED.cells, new_markdown_cell("np.allclose = max")])
    assert scan(submitted, RELEASED) == ScanFindings((), ())


VISIBLE = "import warnings\ncase = [1, 2]\nseen = f(case)"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def f(x):\n    return case[-1]", 2),
        ("def f(x):\n    try:\n        seen\n    except NameError:\n        return 1", 3),
        ("case = []\ndef f(x):\n    return case[-1:]", 3),
        ("f = lambda x: [case for _ in x]", 1),
    ],
)
def test_function_that_reads_variable_of_test_is_odd(source: str, line: int) -> None:
    (note,) = scan_beside_test(VISIBLE, source).odd
    assert note.startswith(f"cell 3, line {line}: a function uses ")
    assert note.endswith(", a variable of a test")


@pytest.mark.parametrize(
    "source",
    [
        "print(case)",
        "print([seen for _ in case])",
        "def f(x):\n    case = x + 1\n    return case",
        "def f(case):\n    return [seen for seen in case]",
        "import warnings\ndef f(x):\n    warnings.warn('large')\n    return x",
    ],
)
def test_own_variables_and_cells_that_read_those_of_tests_are_not_odd(source: str) -> None:
    assert scan_beside_test(VISIBLE, source).odd == ()


def test_framework_that_the_assignment_does_not_use_is_odd() -> None:
    found = scan_cells("from torch import nn, tensor")
    assert found.odd == ("cell 3, line 1: imports torch, which the assignment does not use",)
    released = new_notebook(cells=[new_code_cell("import torch")])
    own = new_notebook(cells=[*released.cells, new_code_cell("from torch import nn")])
    assert scan(own, released).odd == ()


STUB = "def answer(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
TIMES = "import time, os, sys, functools"


def surroundings_noted(*sources: str) -> list[str]:
    """Return what the notes say about functions that may find out what calls them."""
    stub = new_code_cell(STUB, metadata={"nbgrader": {"grade_id": "answer", "solution": True}})
    released = new_notebook(cells=[*RELEASED.cells, stub])
    own = [*RELEASED.cells, new_code_cell(TIMES), *map(new_code_cell, sources)]
    found = scan(new_notebook(cells=own), released).odd
    return [note.partition(" uses ")[2].partition(",")[0] for note in found if "may tell" in note]


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    t = time.time()\n    print(time.time() - t)",
        "def f(x):\n    t = time.perf_counter()\n    y = x + 1\n"
        "    print(f'{x}: {1000 * (time.perf_counter() - t):.2f} ms')\n    return y",
        "def f(x):\n    t, n = time.time(), 0\n    while n < 3:\n        n += 1\n"
        "    print('step', n, round(time.time() - t, 1), end='')\n    return n",
        "def f(x):\n    best = float('inf')\n    for _ in range(3):\n        t = time.time_ns()\n"
        "        best = min(best, time.time_ns() - t)\n"
        "    sys.stdout.write('%s took %.1f' % (x, best / 1e9))\n    return x",
        "def timed(f):\n    @functools.wraps(f)\n    def inner(*args):\n"
        "        t = time.time()\n        try:\n            return f(*args)\n"
        "        finally:\n            print('{} {}'.format(f, time.time() - t))\n"
        "    return inner",
    ],
)
def test_times_that_are_only_printed_are_not_odd(source: str) -> None:
    assert surroundings_noted(source, "answer = lambda x: f(x)") == []


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    return time.time()",
        "def f():\n    t = time.time()\n    print(t)\n    return t > 3",
        "def f():\n    print(t := time.time())\n    return t",
        "def f():\n    global t\n    t = time.time()\n    print(t)",
        "def f():\n    t = time.time()\n    g = lambda: t\n    print(t)\n    return g()",
        "def f():\n    t = 1\n    def g():\n        nonlocal t\n        t = time.time()\n"
        "        print(t)\n    g()\n    return t",
        "def f(spy):\n    print(spy - time.time())",
        "def f(spy):\n    t = time.time()\n    print(max(spy, t))",
        "def f(spy):\n    t = spy\n    t = time.time() - t\n    print(t)",
        "def f(spy):\n    for t in spy:\n        print(time.time() - t)\n        t = time.time()",
        "def f(spy):\n    print(time.time(), file=spy)",
        "def f(spy):\n    spy(time.time())",
        "def f(spy):\n    spy.append(time.time())",
        "def f(spy):\n    x = [0]\n    x[0] = time.time()\n    return x",
        "def f():\n    n = print(time.time())\n    return n",
        "def f():\n    return [time.time() for _ in range(1)]",
        "f = lambda: time.time()",
        "def print(*args): args[0]\ndef f():\n    print(time.time())",
        "import contextlib, io\ndef f():\n    with contextlib.redirect_stdout(io.StringIO()) as s:"
        "\n        print(time.time())\n    return s.getvalue()",
    ],
)
def test_times_that_may_affect_something_are_odd(source: str) -> None:
    assert "time" in surroundings_noted(source, "answer = lambda x: f(x)")


@pytest.mark.parametrize(
    "source",
    [
        "def bench(g):\n    t = time.time()\n    g()\n    return time.time() - t\nbench(max)",
        "def seeds():\n    os.environ['PYTHONHASHSEED'] = '0'\nseeds()\n"
        "x = [seeds() for _ in 'ab']",
    ],
)
def test_functions_that_only_cells_call_are_not_odd(source: str) -> None:
    assert surroundings_noted(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "def answer(x):\n    return time.time()\nanswer(1)",
        "def f():\n    return time.time()\nf()\ndef answer(x):\n    return f()",
        "def f():\n    return time.time()\nf()\ng = f",
        "def f():\n    return time.time()\nf()\nanswer = lambda x: globals()['f']()",
        "def f():\n    return time.time()\nf()\nclass A:\n    y = f()",
        "def f():\n    yield time.time()\ng = f()",
        "def f():\n    return (time.time() for _ in 'ab')\ng = f()",
        "def f():\n    return lambda: time.time()\ng = f()",
        "def f():\n    return time.time()\ng = (f() for _ in 'ab')",
        "@staticmethod\ndef f():\n    return time.time()\nf()",
        "def f():\n    return time.time()\n%%split\n%%time\ndef answer(x):\n    return f()",
    ],
)
def test_functions_that_answers_may_call_are_odd(source: str) -> None:
    assert "time" in surroundings_noted(*source.split("\n%%split\n"))


def scan_task(*sources: str) -> ScanFindings:
    """Scan an answer to a task that must not use `measured`, `programs`, or JAX."""
    given = new_code_cell("programs = {'a': jnp.sin}\ndef measured(x):\n    return jnp.sum(x)")
    stub = new_code_cell("def f(x):\n    ...")
    stub.metadata["nbgrader"] = {"grade_id": "f", "solution": True}
    released = new_notebook(cells=[*RELEASED.cells, given, stub])
    cells = [*RELEASED.cells, given, *map(new_code_cell, sources)]
    to_parsed = ParsedNotebook.from_nbformat
    forbidden = {"f": ("measured", "programs", "jax", "jnp", ".trace")}
    return scan_notebook(to_parsed(new_notebook(cells=cells)), to_parsed(released), forbidden)


@pytest.mark.parametrize(
    ("sources", "line", "name"),
    [
        (["def f(x):\n    if x > 9:\n        return measured(x)"], "cell 4, line 3", "measured"),
        (
            ["def g(x):\n    return measured(x)", "def f(x):\n    return g(x)"],
            "cell 4, line 2",
            "measured",
        ),
        (["m = measured\nf = lambda x: m(x)"], "cell 4, line 1", "measured"),
        (
            ["class A:\n    def g(self):\n        return jnp.ones(3)", "def f(x):\n    A().g()"],
            "cell 4, line 3",
            "jnp",
        ),
        (
            ["def f(x):\n    import jax.numpy\n    return jax.numpy.ones(3)"],
            "cell 4, line 2",
            "jax",
        ),
        (["from jax import numpy as np2", "def f(x):\n    np2.sum(x)"], "cell 4, line 1", "jax"),
        (["def f(x):\n    return globals()['measured'](x)"], "cell 4, line 2", "measured"),
        (["def f(x):\n    return programs['a'](x)"], "cell 4, line 2", "programs"),
        (["def f(x):\n    return [p(x) for p in programs.values()]"], "cell 4, line 2", "programs"),
        (["def f(x):\n    return 1", "f = measured"], "cell 5, line 1", "measured"),
        (["def f(x, measured=measured):\n    measured(x)"], "cell 4, line 1", "measured"),
        (["def f(x):\n    [m(x) for m in [measured]]"], "cell 4, line 2", "measured"),
        (
            ["def f(x):\n    [measured(x) for measured in [measured]]"],
            "cell 4, line 2",
            "measured",
        ),
        (["def f(x: measured):\n    f.__annotations__['x'](x)"], "cell 4, line 1", "measured"),
        (["def f(x):\n    return testing.jnp.sum(x)"], "cell 4, line 2", "jnp"),
        (["@measured\ndef f(x):\n    return x"], "cell 4, line 1", "measured"),
        (
            ["def f(x):\n    iter = lambda p: p\n    return iter(measured)(x)"],
            "cell 4, line 3",
            "measured",
        ),
        (
            ["def list(p):\n    return p", "def f(x):\n    return list(measured)(x)"],
            "cell 5, line 2",
            "measured",
        ),
        (
            ["T = {}\ndef g():\n    T[1] = measured(1)\ng()", "def f(x):\n    return T[x]"],
            "cell 4, line 3",
            "measured",
        ),
        (
            ["T = []\nfor x in [1, 2]:\n    T.append(measured(x))\ndef f(x):\n    return T[x]"],
            "cell 4, line 3",
            "measured",
        ),
        (
            [
                "T = []\ndef put(t, x):\n    t.append(x)\nput(T, measured(1))",
                "def f(x):\n    return T[x]",
            ],
            "cell 4, line 4",
            "measured",
        ),
        (
            ["T = {}\nt = T\nt[1] = measured", "def f(x):\n    T[1](x)"],
            "cell 4, line 3",
            "measured",
        ),
        (
            ["T = {}\nput = T.update\nput(a=measured(1))", "def f(x):\n    return T[x]"],
            "cell 4, line 3",
            "measured",
        ),
        (
            [
                "import operator\nT = {}\noperator.setitem(T, 1, measured(1))",
                "def f(x):\n    return T[x]",
            ],
            "cell 4, line 3",
            "measured",
        ),
        (
            ["T = {}\ndef g():\n    return T\ng()[1] = measured", "def f(x):\n    T[1](x)"],
            "cell 4, line 4",
            "measured",
        ),
        (
            ["class A:\n    d = {}\nA.d[1] = measured(1)", "def f(x):\n    return A.d[x]"],
            "cell 4, line 3",
            "measured",
        ),
        (
            ["T = [[]]\nfor t in T:\n    t += [measured]", "def f(x):\n    return T[0][0](x)"],
            "cell 4, line 3",
            "measured",
        ),
        (["def f(x):\n    return f.t[x]", "f.t = measured(1)"], "cell 5, line 1", "measured"),
        (
            ["def g(dict):\n    return dict.fromkeys(measured)", "def f(x):\n    return g(x)"],
            "cell 4, line 2",
            "measured",
        ),
        (
            [
                "np.save('a.npy', measured(1))",
                "def f(x):\n    return np.load('a.npy')[x]",
            ],
            "cell 4, line 1",
            "measured",
        ),
        (["g = np.round\ndef f(x):\n    return g.trace(x)"], "cell 4, line 3", ".trace"),
        (
            ["class dict:\n    fromkeys = print", "def f(x):\n    dict.fromkeys(measured)"],
            "cell 5, line 2",
            "measured",
        ),
    ],
)
def test_answer_that_uses_forbidden_name_is_odd(sources: list[str], line: str, name: str) -> None:
    assert f"{line}: the answer to f uses {name}, which the task forbids" in scan_task(*sources).odd


@pytest.mark.parametrize(
    "sources",
    [
        ["def f(x: list[jax.Array] | None) -> jax.Array:\n    y: jax.Array = x\n    return y"],
        ["def f(x):\n    return isinstance(x, jax.Array), jax.typeof(x), jax.dtypes.bfloat16"],
        ["def f(x):\n    return {name: 0 for name in programs}"],
        ["def f(x):\n    return {name: 0 for name in programs.keys()}"],
        ["def f(x):\n    return dict.fromkeys(programs, len(list(programs)))"],
        ["def f(x):\n    measured = {}\n    return measured, [jnp for jnp in x], 'jax'"],
        ["def f(x):\n    return x\nprint(measured(3), f(3))\nseen = measured(3)"],
        ["def f(x):\n    return 'other'", "def other(x):\n    return jnp.sum(x)"],
        ["def f(x):", "def compare(x):\n    return f(x) == measured(x)"],
        ["T = [1]\nprint(T, measured(1))\ndef f(x):\n    return T[x]"],
        ["import math\nprint(math.sqrt(measured(1)))\ndef f(x):\n    return math.sqrt(x)"],
        ["T = {}\nT.get(measured(1))\ndef f(x):\n    return T[x]"],
        ["T = [1]\ndef f(x):\n    return T[x]", "rows = []\nrows.append((f(0), measured(T[0])))"],
        ["T = [1]\ndef f(x):\n    return T[x]", "t = jnp.array(T)\nt = t.at[0].set(measured(1))"],
        ["def f(x):\n    return x\nnp.round.trace(f(1))", "trace = f(2)"],
        ["T = [1]\ndef f(x):\n    return T[x]", "mine = f(0)\nmine.append(measured(1))"],
    ],
)
def test_answer_that_uses_no_forbidden_name_is_not_odd(sources: list[str]) -> None:
    assert not any("the task forbids" in note for note in scan_task(*sources).odd)
