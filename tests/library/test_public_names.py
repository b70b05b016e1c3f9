"""The public names of the library, which are imported when they are first used."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jaxbits
from jaxbits import xor

HEAVY = ("flax", "optax", "orbax", "torch", "matplotlib", "IPython")


def fresh(code):
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, jax; before = set(sys.modules); import jaxbits;"
        "print(*(m for m in set(sys.modules) - before))"
    )
    assert sorted(fresh(code)) == ["jaxbits", "jaxbits._lazy"]


def test_the_core_imports_nothing_heavy():
    code = (
        "import sys, jaxbits; from jaxbits import claims, check, explain;"
        "from jaxbits.book.exercises import all_exercises; all_exercises();"
        f"print(*(m for m in {HEAVY} if m in sys.modules))"
    )
    assert fresh(code) == []


def test_importing_a_module_by_its_dotted_name_gives_a_module():
    code = (
        "import importlib, pkgutil, types, jaxbits\n"
        "for m in pkgutil.walk_packages(jaxbits.__path__, 'jaxbits.'):\n"
        "    if m.name.endswith('__main__'): continue\n"
        "    exec(f'import {m.name} as found')\n"
        "    if not isinstance(found, types.ModuleType): print(m.name)"
    )
    assert fresh(code) == []


def stub_of(package):
    """The imports in a package's stub: the name, and the module that it comes from."""
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text("utf8"))
    lines = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    # Without `as`, type checkers would not take the name for a public one.
    assert all(alias.asname == alias.name for line in lines for alias in line.names)
    return {alias.name: line.module for line in lines for alias in line.names}


@pytest.mark.parametrize("package", [jaxbits, xor], ids=lambda package: package.__name__)
def test_the_stub_and_the_package_have_the_same_names(package):
    stub = stub_of(package)
    modules = {name for name, module in stub.items() if module == package.__name__}
    assert package.__all__ == [name for name in stub if name not in modules]
    assert dir(package) == sorted(stub)
    for name in modules:
        assert getattr(package, name) is importlib.import_module(f"{package.__name__}.{name}")
    for name in package.__all__:
        thing = getattr(package, name)
        assert callable(thing)
        assert thing is getattr(importlib.import_module(stub[name]), name)
    with pytest.raises(
        AttributeError, match=f"module '{package.__name__}' has no attribute 'clams'"
    ):
        _ = package.clams


def test_public_modules_are_those_without_an_underscore():
    folder = Path(jaxbits.__file__).parent
    files = {path.stem for path in (*folder.glob("*.py"), *folder.glob("*/__init__.py"))}
    folders = {path.parent.name for path in folder.glob("*/__init__.py")}
    public = {name for name in (files - {"__init__"}) | folders if name[0] != "_"}
    # jaxbits.book is only for the chapters.
    assert set(dir(jaxbits)) - set(jaxbits.__all__) == public - {"book"}


def test_the_version_is_a_literal_that_setuptools_can_read():
    source = Path(jaxbits.__file__).read_text("utf8")
    assert re.search(r'^__version__ = "(.*)"$', source, re.M)[1] == jaxbits.__version__


@pytest.mark.parametrize(
    "use", ["detect.key_reuse", "runtime.report", "optim.dtype_stable", "xor.evaluate"]
)
def test_a_public_module_is_reachable_after_importing_the_package_alone(use):
    assert fresh(f"import jaxbits; print(callable(jaxbits.{use}))") == ["True"]
