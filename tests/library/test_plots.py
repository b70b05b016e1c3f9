import functools
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits.book import figures
from jaxbits.book.figures import immutable_arrays, nans, out_of_bounds, style, tracing
from jaxbits.book.jaxpr_diff import Intermediate
from jaxbits.book.optimizer_survey import Outcome

ROOT = Path(__file__).resolve().parents[2]


def mean_of_squares(x):
    squared = x**2
    return jnp.mean(squared)


def split_twice():
    root = jax.random.key(0)
    left, right = jax.random.split(root)
    again = jax.random.fold_in(root, 0)
    return {"root": (root, ""), "l": (left, "root"), "r": (right, "root"), "0": (again, "root")}


def doubled_compiled():
    return jax.jit(lambda x: x * 2).lower(jnp.ones(1_000_000)).compile()


WITH_ARGUMENTS = {
    "async_dispatch.settings_in_time": lambda draw: draw(
        {"early": ("", "obeyed", "ignored"), "late": ("obeyed", "obeyed", "refused")}
    ),
    "debugging.traceback_of": lambda draw: draw(jax.jit(mean_of_squares), "three"),
    "debugging.what_repairs_bought": lambda draw: draw(
        {"as found": [0.5] * 15 + [np.nan] * 15, "mended": [0.5] * 10 + [0.1] * 20}, 0.3
    ),
    "random_numbers.key_tree": lambda draw: draw(split_twice(), "Split, and folded in"),
    "random_numbers.units_kept": lambda draw: draw(
        {"one key": np.eye(1, 4, dtype=bool).repeat(3, 0), "a key each": np.eye(3, 4, dtype=bool)}
    ),
    "precision.bits_of": lambda draw: draw(1763645590.25),
    "precision.brightened": lambda draw: draw(
        jnp.zeros((2, 2), jnp.uint8), {"wrapped": jnp.full((2, 2), 44, jnp.uint8)}
    ),
    "promotion.column_minus_row": lambda draw: draw([1.0, 2.0], [1.0, 2.0]),
    "promotion.scalar_table": lambda draw: draw(
        {on: {"2.0": ["bfloat16", "float16", "float64"]} for on in (False, True)}
    ),
    "dtype_stability.survey_table": lambda draw: draw(
        {
            "adam": {("bfloat16", "float32", "float32"): Outcome(("mu: bfloat16 -> float32",))},
            "sgd": {("bfloat16", "float32", "float32"): Outcome(updates=("float32",))},
        },
        "What one update does",
    ),
    "dtype_stability.step_sizes": lambda draw: draw({"float16": [1, 9], "float32": [1, 1]}),
    "dtype_stability.losses_of": lambda draw: draw({"half": [1, 0.1], "master": [1, 0.01]}, 2),
    "immutable_arrays.memory_held": lambda draw: draw({"doubled": doubled_compiled()}),
    "non_array_inputs.who_answers": lambda draw: draw({"np.max(x)": np.max, "np.sin(x)": np.sin}),
    "stateful_layers.over_steps": lambda draw: draw(
        {"jax.jit": [3.0, 3.0], "nnx.jit": [3.0, 1.0]}, "Two kinds of jit", "loss"
    ),
    "tracing.jaxpr_beside_source": lambda draw: draw(mean_of_squares, jnp.ones(3)),
    "control_flow.where_it_works": lambda draw: draw(
        {"if": {"grad": (1, 1), "vmap": "TracerBoolConversionError"}, "cond": {"grad": (2, 1)}}
    ),
    "control_flow.two_climbs": lambda draw: draw({"one": [1.0, 2.0], "other": [1.0, 0.5]}),
    "control_flow.lanes_that_wait": lambda draw: draw([3, 1, 2], 3),
    "nans.gradients_of": lambda draw: draw({"root": lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0)}),
    "nans.what_finds_a_nan": lambda draw: draw(
        nans.verdicts({"log": (jnp.log, -1.0)}, {"square": (jnp.square, 2.0)}), 1
    ),
    "pytrees.tree_of": lambda draw: draw({"w": jnp.ones((2, 3)), "b": None, "sub": [1.0, (2.0,)]}),
    "pytrees.who_holds_what": lambda draw: draw(
        {"cut": {"0": [[0, 4], [0, 2]], "1": [[4, 8], [0, 2]]}, "whole": {"0": [[0, 8], [0, 2]]}},
        {"0": 0, "1": 1},
    ),
    "data_loading.drawn": lambda draw: draw({"no worker": [[1, 2]], "two": [[3, 3], [3, 3]]}),
    "data_loading.handed_out": lambda draw: draw({"1 ahead": [0, 1], "2 ahead": [1, 1]}),
    "lists_or_arrays.dtypes_side_by_side": lambda draw: draw(
        {
            "lists": [Intermediate("mul", "float32", ""), Intermediate("add", "float32", "")],
            "arrays": [Intermediate("mul", "float32", ""), Intermediate("add", "float64", "")],
        }
    ),
    "nans.which_are_nan": lambda draw: draw({"sgd": [{"w": jnp.zeros(1)}, {"w": jnp.nan}]}),
}


def all_figures():
    """Yield every figure that needs no arguments, and those listed in WITH_ARGUMENTS."""
    for module in pkgutil.iter_modules(figures.__path__):
        loaded = importlib.import_module(f"jaxbits.book.figures.{module.name}")
        for name, draw in vars(loaded).items():
            if getattr(draw, "__module__", "") != loaded.__name__:
                continue
            if not hasattr(draw, "__wrapped__"):
                continue
            parameters = inspect.signature(draw).parameters.values()
            needs_arguments = any(p.default is p.empty for p in parameters)
            listed = WITH_ARGUMENTS.get(f"{module.name}.{name}")
            if listed or not needs_arguments:
                finished = functools.partial(listed, draw) if listed else draw
                yield pytest.param(finished, id=f"{module.name}.{name}")


FIGURES = list(all_figures())


@pytest.mark.slow  # The lint checks the same of the figures that the chapters store.
@pytest.mark.parametrize("draw", FIGURES)
def test_figure_is_deterministic_and_describes_itself(draw):
    figure = draw()
    assert figure == draw()
    assert len(figure.alt) > 40
    root = re.match(r"<svg [^>]*>", figure.svg)
    assert root is not None
    assert 'role="img"' in root[0]
    assert "aria-label=" in root[0]
    assert "http" not in re.sub(
        r'xmlns(:\w+)?="[^"]*"|<metadata>.*?</metadata>', "", figure.svg, flags=re.S
    )
    assert figure._repr_svg_() == figure.svg
    assert figure.alt in repr(figure)


def test_the_figure_of_the_readme_is_the_one_of_the_chapter():
    stored = (ROOT / "_static" / "where-indices-land.svg").read_text("utf8")
    same = stored == out_of_bounds.where_indices_land().svg
    assert same, "run: .venv/bin/python -m book_tools pages --readme"


def test_landings_are_found_by_indexing():
    assert out_of_bounds.read_landing(lambda x, i: x[i], -11).cells == (0,)
    assert out_of_bounds.read_landing(jnp.take, -11).cells == ()
    assert out_of_bounds.write_landing(-4).cells == (6,)
    assert out_of_bounds.write_landing(-11).cells == ()
    assert out_of_bounds.slice_landing(-11, 4).cells == (0, 1, 2, 3)


def test_memory_is_shared_where_a_write_is_seen():
    for offset in (0, 4, 16):
        given = immutable_arrays.buffer(16, offset=offset)
        assert given.ctypes.data % 64 == offset
        assert not immutable_arrays.shares(lambda a: jax.device_put(a.copy()), given)
    on_cpu = jax.default_backend() == "cpu"
    assert immutable_arrays.shares(jax.device_put, immutable_arrays.buffer(16)) == on_cpu


def test_each_equation_is_found_on_its_line():
    rows = tracing.equations_by_line(mean_of_squares, jnp.ones(3))
    assert rows[0] == (1, "b = integer_pow a")
    assert [line for line, _ in rows[1:]] == [2] * (len(rows) - 1)


def test_a_colour_without_a_dark_twin_is_refused():
    @style.drawing
    def strange():
        fig, axes = style.figure(2, 2)
        axes.plot([0, 1], color="#123456")
        return fig, "A line of a colour of its own."

    with pytest.raises(ValueError, match="#123456"):
        strange()


def test_a_figure_without_words_is_refused():
    @style.drawing
    def silent():
        return style.figure(2, 2)[0], " "

    with pytest.raises(ValueError, match="should say what it shows"):
        silent()


def contrast(one, other):
    def light(colour):
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        line = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * line[0] + 0.7152 * line[1] + 0.0722 * line[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read_on_every_ground(theme):
    def seen(colour):
        return style.DARK[colour] if theme == "dark" else colour

    grounds = (style.PAPER, style.FILL, style.PALE_BLUE, style.PALE_ORANGE, style.PALE_GREEN,
               style.PALE_PURPLE, style.PALE_RED)  # fmt: skip
    for ground in grounds:
        assert contrast(seen(style.INK), seen(ground)) >= 7
        assert contrast(seen(style.MUTED), seen(ground)) >= 4.5
    for tone in (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.RED):
        assert contrast(seen(tone), seen(style.PAPER)) >= 4.5


def test_ids_say_nothing_of_coordinates_and_differ_between_figures():
    @style.drawing
    def line(shift, alt):
        fig, axes = style.figure(3, 2)
        axes.plot([0, 1], [0, 1 + shift], color=style.BLUE)
        return fig, alt

    drawn = [line(0.0, "one").svg, line(1e-12, "one").svg, line(0.0, "other").svg]
    ids = [set(re.findall(r'\bid="([a-z]\d+-[0-9a-f]{8})"', svg)) for svg in drawn]
    assert ids[0] == ids[1]
    assert ids[0]
    assert not ids[0] & ids[2]
    for svg, names in zip(drawn, ids, strict=True):
        assert set(re.findall(r"#([a-z]\d+-[0-9a-f]{8})", svg)) <= names
        assert not re.search(r'\bid="[a-z][0-9a-f]{10}"', svg)
