"""Format values and errors so that they fit on one line of a message."""

from __future__ import annotations

import collections
import html
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_MAX_SHOWN_SIZE = 16  # `format_argument` shows only the dtype and shape of larger arrays.


def first_line(error: BaseException, limit: int | None = 100) -> str:
    r"""Return the first line of an error's message.

    Args:
        error: The exception whose message to shorten.
        limit: The maximum number of characters to keep, or None to keep all of them.

    >>> first_line(ValueError("shapes differ\nsee the documentation"))
    'shapes differ'
    """
    lines = str(error).strip().splitlines()
    return lines[0][:limit] if lines else ""


def html_with_code(text: str, *, quote: bool = True) -> str:
    """Return text as HTML, with everything between backticks formatted as code.

    Args:
        text: Plain text with backticks around code.
        quote: Whether to escape quotation marks as well, which is necessary in an HTML attribute.

    >>> html_with_code("`x < 1` fails")
    '<code>x &lt; 1</code> fails'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=quote))


def format_line(value: Any) -> str:
    """Return a value as one line of at most 120 characters, with arrays as NumPy prints them.

    >>> format_line(np.float32(9)), format_line([1.5, None])
    ('9.0', '[1.5, None]')
    """
    text = str(_as_numpy(value)) if _is_number(value) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:117] + "..."


def format_with_dtype(value: Any) -> str:
    """Return a value as one line. For an array, the line ends with the dtype and shape.

    If a value's `__repr__` raises an error, the line shows only the value's type.

    >>> format_with_dtype(np.arange(3.0))
    '[0., 1., 2.] (float64[3])'
    """
    try:
        if _is_array(value):
            text = np.array2string(np.asarray(value), threshold=6, separator=", ", precision=6)
            return f"{' '.join(text.split())[:120]} ({value.dtype}{list(value.shape)})"
        return " ".join(repr(value).split())[:160]
    except Exception:
        return f"a {type(value).__name__}"


def format_value(value: Any, digits: int = 6) -> str:
    """Return a value as you would type it, with arrays as lists and numbers without their dtypes.

    Args:
        value: A number, an array, or a container of them. Other values are formatted with `repr`.
        digits: The number of significant digits to show for floats.

    >>> format_value({"w": np.array([0.81, 2.1], np.float32), "steps": 5})
    "{'w': [0.81, 2.1], 'steps': 5}"
    """
    if _is_key(value):
        return format_argument(value, brief=True)
    if _is_array(value):
        return format_line(_round(np.asarray(value).tolist(), digits))
    if type(value) in (float, complex):
        return format_line(_round(value, digits))
    if type(value) in (tuple, list, dict):
        return _format_container(value, lambda part: format_value(part, digits))
    if _is_ref(value):
        return f"a Ref of {format_value(value[...], digits)}"
    return format_line(value)


def format_argument(value: Any, brief: bool = False) -> str:
    """Return an argument as `format_value` formats it, or a brief description if that is too long.

    Args:
        value: The argument. A large array is described by its dtype and shape, and a function by
            its name. An object whose `repr` is long or not informative is described by its type.
        brief: Whether to describe all arrays and containers by their type and size.

    >>> format_argument(np.zeros(3)), format_argument(np.zeros(3), brief=True)
    ('[0.0, 0.0, 0.0]', 'float64[3]')
    """
    if _is_ref(value):
        return format_value(value)
    if _is_key(value):
        return "a key" if value.shape == () else f"{value.size} keys"
    if _is_array(value) and (value.size > _MAX_SHOWN_SIZE or (brief and value.shape)):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    is_plain = value is None or isinstance(value, bool | int | float | complex | str)
    if is_plain or _is_array(value):
        return format_value(value)
    if name := getattr(value, "__name__", ""):
        return str(name)
    if brief and isinstance(value, Mapping | list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    if type(value) in (dict, list, tuple):
        return _format_container(value, lambda part: format_argument(part, brief))
    kind = type(value).__name__
    article = "an" if kind[:1].lower() in "aeiou" else "a"
    text = format_line(value)
    return f"{article} {kind}" if brief or text.startswith("<") or len(text) > 60 else text


def format_state(value: Any) -> str:
    """Describe a piece of Python state in at most 40 characters.

    A tracer is described by its dtype and shape, a container by its type and length, and any other
    object that is not a plain value by its type.

    >>> format_state([1, 2]), format_state("text"), format_state(np.random)
    ('list of 2', "'text'", 'module')
    """
    import jax

    if isinstance(value, jax.core.Tracer):
        return f"a traced {value.aval.str_short()}"
    if isinstance(value, (list, dict, set, collections.deque)):
        return f"{type(value).__name__} of {len(value)}"
    is_plain = isinstance(value, (bool, int, float, complex, str, bytes, type(None)))
    text = repr(value) if is_plain else type(value).__name__
    return text if len(text) <= 40 else text[:39] + "…"


def _format_container(value: Any, format_part: Callable[[Any], str]) -> str:
    if isinstance(value, dict):
        parts = (f"{key!r}: {format_part(part)}" for key, part in value.items())
        return "{" + ", ".join(parts) + "}"
    inside = ", ".join(map(format_part, value))
    if isinstance(value, tuple):
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return f"[{inside}]"


def _round(value: Any, digits: int) -> Any:
    if isinstance(value, list):
        return [_round(part, digits) for part in value]
    if isinstance(value, complex):
        return complex(_round(value.real, digits), _round(value.imag, digits))
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def _is_array(value: Any) -> bool:
    import jax

    return isinstance(value, jax.Array | np.ndarray | np.generic)


def _is_number(value: Any) -> bool:
    return _is_array(value) or isinstance(value, bool | int | float | complex)


def _is_key(value: Any) -> bool:
    import jax

    return isinstance(value, jax.Array) and jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key)


def _is_ref(value: Any) -> bool:
    kind = type(value)
    return kind.__name__ in ("Ref", "ArrayRef") and kind.__module__.startswith("jax")


def _as_numpy(value: Any) -> np.ndarray[Any, Any]:
    import jax

    return np.asarray(jax.random.key_data(value) if _is_key(value) else value)
