"""Test how `explain` finds the sharp bits that match an error, and how it shows them."""

import dataclasses
import functools
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import explain
from jaxbits._error_origin import user_frame


def error_raised_by(function, *args):
    try:
        function(*args)
    except Exception as error:
        return error
    raise AssertionError("the function did not raise an error")


def branch(x):
    if x > 0:
        return x
    return -x


@dataclasses.dataclass
class StaticLine:
    slope: float

    @functools.partial(jax.jit, static_argnums=0)
    def at(self, x):
        return self.slope * x


X = jnp.arange(3.0)
STATIC = jax.jit(lambda x, widths: x * len(widths), static_argnums=1)


@pytest.mark.parametrize(
    ("function", "bit"),
    [
        (lambda: jax.jit(branch)(1.0), "value-needed-while-tracing"),
        (lambda: jax.jit(lambda x: float(x))(1.0), "value-needed-while-tracing"),
        (lambda: jax.jit(lambda i: np.arange(3)[i])(1), "numpy-table-traced-index"),
        (lambda: jax.jit(lambda x: np.sin(x))(1.0), "numpy-sees-a-tracer"),
        (lambda: jax.jit(lambda i: [1, 2][i])(1), "list-traced-index"),
        (lambda: jax.jit(lambda i: {0: 1}[i])(0), "dict-traced-key"),
        (lambda: X[[0, 1]], "list-as-index"),
        (lambda: X[1.0], "float-index"),
        (lambda: StaticLine(2.0).at(3.0), "static-self-without-hash"),
        (lambda: jnp.zeros(0)[0], "empty-axis-index"),
        (lambda: X[jnp.array([True])], "mask-of-other-length"),
        (lambda: X.device(), "device-is-a-property"),
        (lambda: jax.tree_map(jnp.shape, X), "tree-map-moved"),
        (lambda: jax.jit(lambda x: f"{x:.2f}")(1.0), "format-of-a-tracer"),
        (lambda: jax.jit(lambda x: x[x > 1])(X), "boolean-mask-under-jit"),
        (lambda: jax.jit(lambda x: jnp.nonzero(x))(X), "value-dependent-size"),
        (lambda: jax.jit(lambda n: jnp.arange(n))(3), "traced-size"),
        (lambda: STATIC(X, [1]), "static-value-recompiles"),
    ],
)
def test_explain_ranks_matching_bit_first(function, bit):
    explanation = explain(error_raised_by(function))
    assert explanation.bits[0].id == bit
    assert len(explanation.bits) <= 3
    assert explanation.bits[0].fix.replace("`", "") in str(explanation)
    assert explanation.bits[0].reference.replace("`", "") in str(explanation)


class Net:
    hidden = None

    def loss(self, x):
        self.hidden = 2 * x
        return self.hidden


@functools.cache
def positions(size):
    return jnp.arange(size)


def assert_positive(x):
    assert x > 0
    return x


def use_leaked_attribute():
    net = Net()
    jax.jit(net.loss)(1.0)
    return net.hidden.mean()


def use_leaked_list_item():
    leaked = []
    jax.jit(lambda x: leaked.append(2 * x) or x)(1.0)
    return leaked[0] + 1


def use_leaked_cache_entry():
    positions.cache_clear()
    jax.jit(lambda x: x + positions(3))(1.0)
    return positions(3) * 2


def layer_with_train_flag(x, train):
    if train:
        return 2 * x
    return x


@pytest.mark.parametrize(
    ("function", "bit"),
    [
        (use_leaked_attribute, "kept-tracer"),
        (use_leaked_list_item, "side-effect-vanishes"),
        (use_leaked_cache_entry, "cache-filled-while-tracing"),
        (lambda: jax.jit(assert_positive)(1.0), "exception-while-tracing"),
        (lambda: jax.jit(lambda x: 0 < x < 1)(1.0), "python-logic-on-tracer"),
        (lambda: jax.jit(lambda x: max(x, 0))(1.0), "python-logic-on-tracer"),
        (lambda: jax.jit(branch)(1.0), "value-needed-while-tracing"),
        (lambda: jax.jit(layer_with_train_flag)(1.0, True), "train-flag-traced"),
    ],
)
def test_explain_prefers_bit_whose_code_matches_user_line(function, bit):
    assert explain(error_raised_by(function)).bits[0].id == bit


def test_explain_recognizes_write_to_memory_of_jax_array():
    view = np.asarray(jnp.arange(3.0))
    with pytest.raises(ValueError, match="read-only") as raised:
        view[1:][0] = 1.0
    assert [bit.id for bit in explain(raised.value).bits] == ["numpy-view-read-only"]
    numpy_array = np.arange(3.0)
    numpy_array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only") as raised:
        numpy_array[0] = 1.0
    assert not explain(raised.value).bits


def test_explain_recognizes_deleted_array():
    x = jnp.arange(3.0)
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert explain(error_raised_by(np.asarray, x)).bits[0].id == "use-after-donation"


LEAKED = []


@jax.jit
def leak(x):
    LEAKED.append(x)
    return x


def add_one(x):
    return x + 1


def convert_list_to_numpy(x):
    return np.asarray([x])


@pytest.mark.parametrize("use", [add_one, float, np.mean, bool, convert_list_to_numpy])
def test_explain_recognizes_leaked_tracer(use):
    LEAKED.clear()
    leak.clear_cache()
    leak(jnp.float32(1.0))
    assert explain(error_raised_by(use, LEAKED[0])).bits[0].id == "side-effect-vanishes"


def test_explain_recognizes_deleted_array_passed_to_jit():
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(3.0)
    step(x)
    assert explain(error_raised_by(lambda: step(x))).bits[0].id == "use-after-donation"


def test_explain_accepts_jax_error_class_name():
    assert explain("TracerBoolConversionError").bits
    assert not explain("TypeError")


def test_explanation_str_has_no_markup():
    assert "`" not in str(explain(error_raised_by(jax.jit(branch), 1.0)))


def user_error():
    raise IndexError("index is out of bounds for axis 0 with size 0")


@pytest.mark.parametrize(
    "function",
    [
        lambda: [][1],
        lambda: {}["x"],
        lambda: np.arange(3)[7],
        lambda: np.zeros(0)[0],
        lambda: int("x"),
        user_error,
        lambda: jax.jit(lambda x: user_error())(1.0),
        lambda: (lambda: 0).nothing,
    ],
)
def test_explain_ignores_errors_that_are_not_from_jax(function):
    assert not explain(error_raised_by(function))


def test_user_frame_returns_line_of_user_code():
    error = error_raised_by(jax.jit(branch), 1.0)
    frame = user_frame(error)
    assert frame is not None
    assert frame.code == "if x > 0:"
    assert "test_explain.py, line" in str(explain(error))


def test_explain_accepts_pasted_traceback():
    text = """Traceback (most recent call last):
  File "train.py", line 12, in <module>
    step(params)
  File "train.py", line 7, in step
    if loss > best:
       ^^^^^^^^^^^
jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array with shape
bool[].
The error occurred while tracing the function step at train.py:5 for jit.
See https://docs.jax.dev/en/latest/errors.html#jax.errors.TracerBoolConversionError
--------------------
For simplicity, JAX has removed its internal frames from the traceback of the following exception.
"""
    assert explain(text).bits[0].id == "value-needed-while-tracing"
    assert not explain("ValueError: nothing of this book")
    assert not explain("")
    assert "No sharp bit" in str(explain("ValueError: nothing of this book"))


def test_explain_rejects_unsupported_types():
    with pytest.raises(TypeError, match="error must be an exception or a traceback, got 3"):
        explain(3)


def test_explain_recognizes_a_name_that_jax_lacks():
    with pytest.raises(ImportError) as raised:
        from jax import linear_util  # noqa: F401
    assert explain(raised.value).bits[0].id == "library-needs-another-jax"


def test_explain_blames_the_library_that_uses_a_name_that_jax_lacks(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "omega_uses_old_names"
    package.mkdir(parents=True)
    package.joinpath("__init__.py").write_text("import jax\n\nPlace = jax.zork\n", "utf8")
    monkeypatch.syspath_prepend(package.parent)
    with pytest.raises(AttributeError) as caught:
        importlib.import_module(package.name)
    found = [bit.id for bit in explain(caught.value).bits]
    assert found == ["library-needs-another-jax", "names-that-are-gone"]


def test_explain_ignores_a_name_that_another_module_lacks():
    with pytest.raises(ImportError) as raised:
        from math import linear_util  # noqa: F401
    assert not explain(raised.value)


def test_explain_looks_into_containers_on_the_line():
    grads = {"w": jnp.ones(3)}
    with pytest.raises(TypeError) as raised:
        0.1 * grads
    assert explain(raised.value).bits[0].id == "gradient-of-another-tree"


def test_explain_ignores_a_container_without_arrays():
    settings = {"rate": 0.1}
    with pytest.raises(TypeError) as raised:
        0.1 * settings
    assert not explain(raised.value)


@jax.jit
def times_factor(x, factor):
    return x * factor.astype(x.dtype)


def test_explain_recognizes_a_jitted_function_that_runs_without_a_trace():
    x = np.ones(2, np.float32)
    with pytest.raises(AttributeError) as raised, jax.disable_jit():
        times_factor(x, 0.5)
    # The line with `disable_jit` is not the one that Python shows.
    assert explain(raised.value).bits[0].id == "disable-jit-other-types"


def test_explain_recognizes_a_class_that_inherits_from_flax():
    from flax import linen

    class Stack(linen.Module):
        def setup(self):
            self.layers = [linen.Dense(1)]

    with pytest.raises(AttributeError) as raised:
        Stack().bind({}).layers.append(1)
    assert explain(raised.value).bits[0].id == "list-becomes-a-tuple"
