"""Test the library's public names, each of which is imported on first use."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jaxbits
from jaxbits import xor

OPTIONAL_PACKAGES = ("flax", "optax", "orbax", "torch", "matplotlib", "IPython")


def run_python(code):
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_import_jaxbits_imports_no_other_modules():
    code = (
        "import sys; before = set(sys.modules); import jaxbits;"
        "print(*(m for m in set(sys.modules) - before))"
    )
    assert {"jaxbits", "jaxbits._lazy"} <= set(run_python(code))
    assert not {"jax", "numpy", "jaxbits._jax_compat"} & set(run_python(code))


def test_import_jaxbits_after_jax_imports_only_what_caches_depend_on():
    code = (
        "import sys, jax; before = set(sys.modules); import jaxbits;"
        "print(*(m for m in set(sys.modules) - before))"
    )
    imported = run_python(code)
    assert "jaxbits._jax_compat" in imported
    assert {name.partition(".")[0] for name in imported} <= {"jax", "jaxlib", "jaxbits"}
    own = [name for name in imported if name.startswith("jaxbits.")]
    assert not [m for m in own if not m.startswith(("jaxbits._jax_compat", "jaxbits._lazy"))]


def test_first_use_of_audit_keeps_compiled_programs():
    code = (
        "import jax, jaxbits; traces = []\n"
        "f = jax.jit(lambda x: traces.append(1) or x + 1); f(1.0); jaxbits.audit; f(1.0)\n"
        "print(len(traces))"
    )
    assert run_python(code) == ["1"]


def test_core_names_import_no_optional_packages():
    code = (
        "import sys, jaxbits; from jaxbits import claims, check, explain;"
        "from jaxbits.book.exercises import all_exercises; all_exercises();"
        f"print(*(m for m in {OPTIONAL_PACKAGES} if m in sys.modules))"
    )
    assert run_python(code) == []


def test_dotted_import_returns_module():
    code = (
        "import importlib, pkgutil, types, jaxbits\n"
        "for m in pkgutil.walk_packages(jaxbits.__path__, 'jaxbits.'):\n"
        "    if m.name.endswith('__main__'): continue\n"
        "    exec(f'import {m.name} as found')\n"
        "    if not isinstance(found, types.ModuleType): print(m.name)"
    )
    assert run_python(code) == []


def stub_imports(package):
    """Return a dict from each name that a package's stub imports to the name's module."""
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text("utf8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    # Type checkers treat an imported name in a stub as public only if it has an `as` clause.
    assert all(alias.asname == alias.name for statement in imports for alias in statement.names)
    return {alias.name: statement.module for statement in imports for alias in statement.names}


@pytest.mark.parametrize("package", [jaxbits, xor], ids=lambda package: package.__name__)
def test_stub_and_package_have_same_names(package):
    stub = stub_imports(package)
    modules = {name for name, module in stub.items() if module == package.__name__}
    assert package.__all__ == [name for name in stub if name not in modules]
    assert dir(package) == sorted(stub)
    for name in modules:
        assert getattr(package, name) is importlib.import_module(f"{package.__name__}.{name}")
    for name in package.__all__:
        value = getattr(package, name)
        assert callable(value)
        assert value is getattr(importlib.import_module(stub[name]), name)
    with pytest.raises(
        AttributeError, match=f"module '{package.__name__}' has no attribute 'clams'"
    ):
        _ = package.clams


def test_dir_of_jaxbits_lists_modules_without_underscore():
    folder = Path(jaxbits.__file__).parent
    files = {path.stem for path in (*folder.glob("*.py"), *folder.glob("*/__init__.py"))}
    folders = {path.parent.name for path in folder.glob("*/__init__.py")}
    public = {name for name in (files - {"__init__"}) | folders if name[0] != "_"}
    # Only the chapters use `jaxbits.book`, so `dir` does not list it.
    assert set(dir(jaxbits)) - set(jaxbits.__all__) == public - {"book"}


def test_version_is_literal_that_setuptools_can_read():
    source = Path(jaxbits.__file__).read_text("utf8")
    assert re.search(r'^__version__ = "(.*)"$', source, re.M)[1] == jaxbits.__version__


@pytest.mark.parametrize(
    "attribute", ["detect.key_reuse", "runtime.report", "optim.dtype_stable", "xor.evaluate"]
)
def test_public_module_is_available_after_import_jaxbits(attribute):
    assert run_python(f"import jaxbits; print(callable(jaxbits.{attribute}))") == ["True"]
