import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import explain
from jaxbits._error_origin import user_frame


def error_of(function, *args):
    try:
        function(*args)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


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
def test_a_jax_error_is_explained_by_its_sharp_bit(function, bit):
    explanation = explain(error_of(function))
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


def checked(x):
    assert x > 0
    return x


def use_of_an_attribute():
    net = Net()
    jax.jit(net.loss)(1.0)
    return net.hidden.mean()


def use_of_a_list():
    kept = []
    jax.jit(lambda x: kept.append(2 * x) or x)(1.0)
    return kept[0] + 1


def use_of_a_cache():
    positions.cache_clear()
    jax.jit(lambda x: x + positions(3))(1.0)
    return positions(3) * 2


def shape_of_a_layer(x, train):
    if train:
        return 2 * x
    return x


@pytest.mark.parametrize(
    ("function", "bit"),
    [
        (use_of_an_attribute, "kept-tracer"),
        (use_of_a_list, "side-effect-vanishes"),
        (use_of_a_cache, "cache-filled-while-tracing"),
        (lambda: jax.jit(checked)(1.0), "exception-while-tracing"),
        (lambda: jax.jit(lambda x: 0 < x < 1)(1.0), "python-logic-on-tracer"),
        (lambda: jax.jit(lambda x: max(x, 0))(1.0), "python-logic-on-tracer"),
        (lambda: jax.jit(branch)(1.0), "value-needed-while-tracing"),
        (lambda: jax.jit(shape_of_a_layer)(1.0, True), "train-flag-traced"),
    ],
)
def test_of_bits_that_raise_the_same_words_the_readers_line_tells(function, bit):
    assert explain(error_of(function)).bits[0].id == bit


def test_a_write_into_the_memory_of_a_jax_array_is_explained():
    window = np.asarray(jnp.arange(3.0))
    with pytest.raises(ValueError, match="read-only") as raised:
        window[1:][0] = 1.0
    assert [bit.id for bit in explain(raised.value).bits] == ["numpy-view-read-only"]
    own = np.arange(3.0)
    own.flags.writeable = False
    with pytest.raises(ValueError, match="read-only") as raised:
        own[0] = 1.0
    assert not explain(raised.value).bits


def test_a_deleted_array_is_explained():
    x = jnp.arange(3.0)
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert explain(error_of(np.asarray, x)).bits[0].id == "use-after-donation"


LEAKED = []


@jax.jit
def keep(x):
    LEAKED.append(x)
    return x


def one_more(x):
    return x + 1


def in_a_list(x):
    return np.asarray([x])


@pytest.mark.parametrize("use", [one_more, float, np.mean, bool, in_a_list])
def test_a_tracer_that_outlived_its_trace_is_explained_as_that(use):
    LEAKED.clear()
    keep.clear_cache()
    keep(jnp.float32(1.0))
    assert explain(error_of(use, LEAKED[0])).bits[0].id == "side-effect-vanishes"


def test_a_deleted_array_given_to_a_jitted_function_is_explained():
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(3.0)
    step(x)
    assert explain(error_of(lambda: step(x))).bits[0].id == "use-after-donation"


def test_a_class_of_jaxs_own_is_known_by_its_name():
    assert explain("TracerBoolConversionError").bits
    assert not explain("TypeError")


def test_the_printed_explanation_has_no_markup():
    assert "`" not in str(explain(error_of(jax.jit(branch), 1.0)))


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
def test_errors_that_are_not_jaxs_are_left_alone(function):
    assert not explain(error_of(function))


def test_the_readers_own_line_is_named():
    error = error_of(jax.jit(branch), 1.0)
    frame = user_frame(error)
    assert frame is not None
    assert frame.code == "if x > 0:"
    assert "test_explain.py, line" in str(explain(error))


def test_a_pasted_traceback_will_do():
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


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="error must be an exception or a traceback, got 3"):
        explain(3)
