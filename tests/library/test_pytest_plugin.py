"""Test the pytest plugin on small projects, each of which a pytest of its own runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TRAINING = """
import functools
import jax
import jax.numpy as jnp
from flax import nnx
from steps import imported_step

@jax.jit
def clean(x):
    return 2 * x

@jax.jit
def reads_past_the_end(x):
    return x[jnp.argmax(x) + 1]

@jax.jit
def reuses_a_key(key):
    return jax.random.normal(key) + jax.random.uniform(key)

@jax.jit
def prints(x):
    print("called")
    return x

@functools.partial(jax.jit, donate_argnums=0, static_argnames=("scale", "limit"))
def donates(state, x, *, scale, limit=0):
    return {"w": state["w"] + scale * x[:limit].sum()}

@nnx.jit
def flax_step(model, x):
    return model(x).sum()

@jax.jit
def calls_inner(x):
    return inner(x) + 1

@jax.jit
def inner(x):
    return x + 1

@jax.jit
def never_called(x):
    return x

def not_jitted(x):
    return x[jnp.array([9])]

library_function = jax.numpy.mean
"""
STEPS = """
import jax

@jax.jit
def imported_step(x):
    return x

@jax.jit
def step(x):
    return x[jax.numpy.argmax(x) + 1]
"""
PROJECT = """
import jax
import jax.numpy as jnp

def init(key):
    return {"w": jax.random.normal(key, (3, 4)), "b": jnp.zeros(4)}, {"steps": jnp.zeros((), int)}

def loss(params, batch):
    logits = jax.nn.log_softmax(batch["x"] @ params["w"] + params["b"])
    return -jnp.take_along_axis(logits, batch["y"][:, None], 1).mean()

@jax.jit
def train_step(params, opt_state, batch):
    value, gradient = jax.value_and_grad(loss)(params, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)
    return params, {"steps": opt_state["steps"] + 1}, value
"""
README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def run(pytester, monkeypatch):
    """Return a function that runs a test module and returns the outcomes and the output."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    pytester.syspathinsert()
    pytester.makepyfile(training=TRAINING, steps=STEPS)

    def run_tests(source, *options):
        pytester.makepyfile(test_project=source)
        return pytester.runpytest_subprocess("-p", "jaxbits._pytest_plugin", *options)

    return run_tests


def test_findings_and_functions_that_no_test_calls(run):
    result = run(
        """
        import jax
        import jax.numpy as jnp
        import pytest
        import training
        from flax import nnx
        from steps import step as step_of_another_module
        from training import donates, reads_past_the_end as read

        audited = pytest.mark.jaxbits_audit("training")

        @audited
        def test_clean():
            assert training.clean(jnp.ones(3)).shape == (3,)
            assert training.clean.lower(jnp.ones(3)).compile()(jnp.ones(3)).shape == (3,)
            assert training.calls_inner(1.0) == 3

        @audited
        def test_imported_by_name():
            with pytest.raises(TypeError):
                read("a string")
            read(jnp.arange(3.0))

        @audited
        def test_called_again():
            read(jnp.arange(3.0))

        @audited
        def test_donated_and_static():
            state = donates({"w": jnp.ones(3)}, jnp.ones(2), scale=2, limit=1)
            state = donates(state, jnp.ones(2), scale=2, limit=1)
            assert state["w"].shape == (3,)

        @audited
        def test_flax():
            training.flax_step(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jnp.ones((4, 3)))

        @pytest.mark.jaxbits_audit("training", fail="error")
        def test_warnings_are_accepted():
            training.prints(1.0)

        @pytest.mark.jaxbits_audit("training", allow=["key_reuse"])
        def test_a_check_is_skipped():
            training.reuses_a_key(jax.random.key(0))

        @audited
        def test_that_fails_anyway():
            training.reuses_a_key(jax.random.key(0))
            assert False, "a failure of its own"

        @pytest.mark.jaxbits_audit("training", "steps")
        def test_two_modules():
            step_of_another_module(jnp.arange(3.0))

        def test_without_the_mark():
            assert type(training.clean) is type(jax.jit(len))
            read(jnp.arange(3.0))
        """
    )
    result.assert_outcomes(passed=7, failed=3)
    lines = result.stdout.str().splitlines()
    failed = [line.split(" - ")[0] for line in lines if line.startswith("FAILED")]
    assert failed == [
        f"FAILED test_project.py::test_{name}"
        for name in ("imported_by_name", "that_fails_anyway", "two_modules")
    ]
    result.stdout.fnmatch_lines_random(
        [
            "training.reads_past_the_end: 1 error by * checks of reads_past_the_end",
            "    training.py:13  return x?jnp.argmax(x) + 1?",
            "steps.step: 1 error by * checks of step",
            "E*a failure of its own",
        ]
    )
    start = next(number for number, line in enumerate(lines) if "= jaxbits audit =" in line)
    assert lines[start + 1].startswith("not audited, because no passing test with the mark")
    inner = "training.inner (except inside another transformation)"
    unused = [inner, "training.never_called", "steps.imported_step"]
    assert [line.strip() for line in lines[start + 2 : start + 5]] == unused
    assert "Recorder" not in result.stdout.str()


def test_the_mark_on_a_module_and_its_options(run):
    result = run(
        """
        import pytest
        import training

        pytestmark = pytest.mark.jaxbits_audit("training")

        def test_warnings_are_failures():
            training.prints(1.0)

        @pytest.mark.jaxbits_audit()
        def test_no_module():
            pass

        @pytest.mark.jaxbits_audit("training", alow=["leak"])
        def test_unknown_option():
            pass

        @pytest.mark.jaxbits_audit("training", allow=["no_such_check"])
        def test_unknown_check():
            training.clean(1.0)
        """,
        "--strict-markers",
    )
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "training.prints: 1 warning by * checks of prints",
            *["the mark must have modules and known options*"] * 2,
            "*allow must be*no_such_check*",
        ]
    )


def test_the_mark_is_listed_and_jax_is_not_imported_without_it(run):
    result = run(
        """
        import sys

        def test_nothing_is_imported():
            assert "jax" not in sys.modules
        """
    )
    result.assert_outcomes(passed=1)
    assert "jaxbits audit" not in result.stdout.str()
    result = run("", "--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.jaxbits_audit(*modules, fail='warning'*"])


def test_the_example_in_the_readme(run, pytester):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf8"), re.S)
    (example,) = [block for block in blocks if "jaxbits_audit" in block]
    package = pytester.mkpydir("my_project")
    (package / "training.py").write_text(PROJECT)
    result = run(example)
    result.assert_outcomes(passed=1)
    assert "not audited" not in result.stdout.str()
