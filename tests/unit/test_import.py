import subprocess
import sys

import pytest

import jaxbits

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


def test_every_public_name_is_there():
    for name in jaxbits.__all__:
        assert callable(getattr(jaxbits, name))
    assert dir(jaxbits) == sorted(jaxbits.__all__)
    with pytest.raises(AttributeError, match="no attribute 'clams'"):
        _ = jaxbits.clams


@pytest.mark.parametrize(
    "use", ["detect.key_reuse", "runtime.report", "optim.dtype_stable", "xor.evaluate"]
)
def test_a_public_module_is_reachable_after_importing_the_package_alone(use):
    assert fresh(f"import jaxbits; print(callable(jaxbits.{use}))") == ["True"]
