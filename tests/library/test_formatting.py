"""Test the functions that format values and errors to fit on one line of a message."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import _formatting


@pytest.mark.parametrize(
    ("message", "line"),
    [("one\ntwo", "one"), ("", ""), ("\n one", "one"), ("x" * 200, "x" * 100), ("a\r\nb", "a")],
)
def test_first_line_returns_first_line_of_error(message, line):
    assert _formatting.first_line(ValueError(message)) == line
    assert len(_formatting.first_line(ValueError("x" * 200), limit=None)) == 200


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("`x < 1` fails", "<code>x &lt; 1</code> fails"),
        ("it's `x`", "it&#x27;s <code>x</code>"),
        ("a single ` is text", "a single ` is text"),
    ],
)
def test_html_with_code_converts_backticks(text, html):
    assert _formatting.html_with_code(text) == html
    assert _formatting.html_with_code("it's", quote=False) == "it's"


class FailingRepr:
    def __repr__(self):
        raise RuntimeError


def double(x):
    return 2 * x


# Each entry contains a value and the strings that represent it in a claim, in an assignment's test,
# in an exercise, in a report about state, and as an argument in a call. None means that the test
# skips that function.
FORMATTED_VALUES = {
    "a float": (0.1 + 0.2, "0.30000000000000004", "0.30000000000000004", "0.3", None, "0.3"),
    "a string": ("a'b", '"a\'b"', '"a\'b"', '"a\'b"', '"a\'b"', '"a\'b"'),
    "a scalar": (np.float32(9), "9.0", "9. (float32[])", "9.0", "float32", "9.0"),
    "an array": (
        np.array([[1.0, 0.123456789]]),
        "[[1. 0.12345679]]",
        "[[1. , 0.123457]] (float64[1, 2])",
        "[[1.0, 0.123457]]",
        "ndarray",
        "[[1.0, 0.123457]]",
    ),
    "a large array": (
        np.zeros(20, np.int8),
        "[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]",
        "[0, 0, 0, ..., 0, 0, 0] (int8[20])",
        f"[{', '.join('0' * 20)}]",
        "ndarray",
        "int8[20]",
    ),
    "a container": (
        {"w": (np.ones(1),)},
        "{'w': (array([1.]),)}",
        "{'w': (array([1.]),)}",
        "{'w': ([1.0],)}",
        "dict of 1",
        "{'w': ([1.0],)}",
    ),
    "a function": (double, None, None, None, "function", "double"),
    "None": (None, "None", "None", "None", "None", "None"),
}


@pytest.mark.parametrize("name", FORMATTED_VALUES)
def test_format_functions_format_each_type(name):
    value, line, with_dtype, plain, state, argument = FORMATTED_VALUES[name]
    formats = {
        "format_line": line,
        "format_with_dtype": with_dtype,
        "format_value": plain,
        "format_state": state,
        "format_argument": argument,
    }
    for function, text in formats.items():
        if text is not None:
            assert getattr(_formatting, function)(value) == text, function


def test_format_functions_truncate_long_values():
    assert _formatting.format_line("x" * 200) == "'" + "x" * 116 + "..."
    assert _formatting.format_state("x" * 200) == "'" + "x" * 38 + "…"
    assert len(_formatting.format_with_dtype("x" * 200)) == 160


def test_format_with_dtype_handles_failing_repr():
    assert _formatting.format_with_dtype(FailingRepr()) == "a FailingRepr"


def test_format_functions_support_keys_tracers_and_brief():
    assert _formatting.format_argument(jax.random.key(0)) == "a key"
    assert _formatting.format_value(jax.random.split(jax.random.key(0))) == "2 keys"
    assert _formatting.format_argument(np.ones((2, 3)), brief=True) == "float64[2, 3]"
    assert _formatting.format_argument([1, 2], brief=True) == "a list of 2"
    assert _formatting.format_argument(object()) == "an object"
    formatted = []
    jax.jit(lambda x: formatted.append(_formatting.format_state(x)))(jnp.ones(3))
    assert formatted == ["a traced float32[3]"]
