"""Test that the figures are accessible and show what JAX does.

nbval tests that the figures in the chapters are drawn the same way every time.
"""

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
from matplotlib.colors import to_hex

from jaxbits.book import figures
from jaxbits.book.experiments import index_landing
from jaxbits.book.experiments.jaxpr_diff import Intermediate
from jaxbits.book.experiments.optimizer_survey import UpdateOutcome
from jaxbits.book.figures import immutable_arrays, nans, out_of_bounds, style, tracing

ROOT = Path(__file__).resolve().parents[2]


def mean_of_squares(x):
    squared = x**2
    return jnp.mean(squared)


def split_twice():
    root = jax.random.key(0)
    left, right = jax.random.split(root)
    again = jax.random.fold_in(root, 0)
    return {"root": (root, ""), "l": (left, "root"), "r": (right, "root"), "0": (again, "root")}


WITH_ARGUMENTS = {
    "async_dispatch.config_timing": lambda draw: draw(
        {"early": ("", "obeyed", "ignored"), "late": ("obeyed", "obeyed", "refused")}
    ),
    "debugging.traceback_frames": lambda draw: draw(jax.jit(mean_of_squares), "three"),
    "debugging.loss_after_fixes": lambda draw: draw(
        {"as found": [0.5] * 15 + [np.nan] * 15, "mended": [0.5] * 10 + [0.1] * 20}, 0.3
    ),
    "random_numbers.key_tree": lambda draw: draw(split_twice(), "Split, and folded in"),
    "random_numbers.dropout_masks": lambda draw: draw(
        {"one key": np.eye(1, 4, dtype=bool).repeat(3, 0), "a key each": np.eye(3, 4, dtype=bool)}
    ),
    "precision.float_bits": lambda draw: draw(1763645590.25),
    "precision.image_comparison": lambda draw: draw(
        jnp.zeros((2, 2), jnp.uint8), {"wrapped": jnp.full((2, 2), 44, jnp.uint8)}
    ),
    "promotion.column_minus_row": lambda draw: draw([1.0, 2.0], [1.0, 2.0]),
    "promotion.scalar_table": lambda draw: draw(
        {x64: {"2.0": ["bfloat16", "float16", "float64"]} for x64 in (False, True)}
    ),
    "dtype_stability.survey_table": lambda draw: draw(
        {
            "adam": {
                ("bfloat16", "float32", "float32"): UpdateOutcome(("mu: bfloat16 -> float32",))
            },
            "sgd": {("bfloat16", "float32", "float32"): UpdateOutcome(updates=("float32",))},
        },
        "What one update does",
    ),
    "dtype_stability.numbers_near_one": lambda draw: draw(0.001),
    "dtype_stability.step_sizes": lambda draw: draw({"float16": [1, 9], "float32": [1, 1]}),
    "dtype_stability.loss_curves": lambda draw: draw({"half": [1, 0.1], "master": [1, 0.01]}, 2),
    "non_array_inputs.numpy_function_table": lambda draw: draw(
        {"np.max(x)": np.max, "np.sin(x)": np.sin}
    ),
    "stateful_layers.step_plot": lambda draw: draw(
        {"jax.jit": [3.0, 3.0], "nnx.jit": [3.0, 1.0]}, "Two kinds of jit", "loss"
    ),
    "tracing.jaxpr_and_source": lambda draw: draw(mean_of_squares, jnp.ones(3)),
    "control_flow.transformation_support": lambda draw: draw(
        {"if": {"grad": (1, 1), "vmap": "TracerBoolConversionError"}, "cond": {"grad": (2, 1)}}
    ),
    "control_flow.ascent_curves": lambda draw: draw({"one": [1.0, 2.0], "other": [1.0, 0.5]}),
    "control_flow.wasted_vmap_iterations": lambda draw: draw([3, 1, 2], 3),
    "nans.gradient_plots": lambda draw: draw(
        {"root": lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0)}
    ),
    "nans.nan_tool_table": lambda draw: draw(
        nans.nan_reports({"log": (jnp.log, -1.0)}, {"square": (jnp.square, 2.0)}), 1
    ),
    "pytrees.tree_diagram": lambda draw: draw(
        {"w": jnp.ones((2, 3)), "b": None, "sub": [1.0, (2.0,)]}
    ),
    "sharding.device_layout": lambda draw: draw(
        {"cut": {"0": [[0, 4], [0, 2]], "1": [[4, 8], [0, 2]]}, "whole": {"0": [[0, 8], [0, 2]]}},
        {"0": 0, "1": 1},
    ),
    "devices_and_memory.memory_by_program": lambda draw: draw(
        {
            name: jax.jit(f).lower(jnp.ones((64, 64))).compile().memory_analysis()
            for name, f in {"sum": jnp.sum, "sorted": lambda x: jnp.sort(x) @ x}.items()
        }
    ),
    "data_loading.augmentation_draws": lambda draw: draw(
        {"no worker": [[1, 2]], "two": [[3, 3], [3, 3]]}
    ),
    "data_loading.prefetched_batches": lambda draw: draw({"1 ahead": [0, 1], "2 ahead": [1, 1]}),
    "lists_or_arrays.dtypes_side_by_side": lambda draw: draw(
        {
            "lists": [Intermediate("mul", "float32", ""), Intermediate("add", "float32", "")],
            "arrays": [Intermediate("mul", "float32", ""), Intermediate("add", "float64", "")],
        }
    ),
}


def all_figures():
    """Yield test parameters for all figures that need no arguments and those in WITH_ARGUMENTS."""
    for module in pkgutil.iter_modules(figures.__path__):
        figure_module = importlib.import_module(f"jaxbits.book.figures.{module.name}")
        for name, draw in vars(figure_module).items():
            if getattr(draw, "__module__", "") != figure_module.__name__:
                continue
            if not hasattr(draw, "__wrapped__"):
                continue
            parameters = inspect.signature(draw).parameters.values()
            needs_arguments = any(p.default is p.empty for p in parameters)
            listed = WITH_ARGUMENTS.get(f"{module.name}.{name}")
            if listed or not needs_arguments:
                bound = functools.partial(listed, draw) if listed else draw
                yield pytest.param(bound, id=f"{module.name}.{name}")


FIGURES = list(all_figures())


# The gate tests the alt texts and the requests of the figures in the built pages.
@pytest.mark.slow
@pytest.mark.parametrize("draw", FIGURES)
def test_figure_has_alt_text_and_no_external_links(draw):
    figure = draw()
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


def test_readme_figure_is_up_to_date():
    stored = (ROOT / "_static" / "where-indices-land.svg").read_text("utf8")
    is_current = stored == out_of_bounds.where_indices_land().svg
    assert is_current, "run: .venv/bin/python -m book_tools pages --readme"


def test_read_and_written_cells_follow_jax_indexing():
    assert index_landing.read_cells(lambda x, i: x[i], -11).cells == (0,)
    assert index_landing.read_cells(jnp.take, -11).cells == ()
    assert index_landing.written_cells(-4).cells == (6,)
    assert index_landing.written_cells(-11).cells == ()
    assert index_landing.sliced_cells(-11, 4).cells == (0, 1, 2, 3)


def test_shares_memory_detects_shared_writes():
    for offset in (0, 4, 16):
        buffer = immutable_arrays.aligned_buffer(16, offset=offset)
        assert buffer.ctypes.data % 64 == offset
        assert not immutable_arrays.shares_memory(lambda a: jax.device_put(a.copy()), buffer)
    on_cpu = jax.default_backend() == "cpu"
    assert (
        immutable_arrays.shares_memory(jax.device_put, immutable_arrays.aligned_buffer(16))
        == on_cpu
    )


def test_update_times_has_readable_numbers_in_alt_text():
    alt = immutable_arrays.update_times().alt
    ranges = re.findall(r"from ([\d.,]+) to ([\d.,]+) µs", alt)
    assert len(ranges) == 4
    assert all(float(end.replace(",", "")) > 0 for pair in ranges for end in pair)


def test_equations_by_line_returns_source_lines():
    rows = tracing.equations_by_line(mean_of_squares, jnp.ones(3))
    assert rows[0] == (1, "b = integer_pow a")
    assert [line for line, _ in rows[1:]] == [2] * (len(rows) - 1)


def test_drawing_rejects_color_without_dark_variant():
    @style.drawing
    def unknown_color():
        fig, axes = style.figure(2, 2)
        axes.plot([0, 1], color="#123456")
        return fig, "A line in a color of its own."

    with pytest.raises(ValueError, match="#123456"):
        unknown_color()


def test_drawing_rejects_figure_without_alt_text():
    @style.drawing
    def no_alt_text():
        return style.figure(2, 2)[0], " "

    with pytest.raises(ValueError, match="alternative text of a figure must not be empty"):
        no_alt_text()


def test_drawing_rejects_text_that_is_too_small_for_a_phone():
    @style.drawing
    def small_text():
        fig, axes = style.figure(2, 2)
        axes.set_xlabel("seconds", fontsize=8)
        return fig, "An axis with a small label."

    with pytest.raises(ValueError, match="text must have at least 10 points, got 8"):
        small_text()


def contrast(first, second):
    def luminance(color):
        channels = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_style_colors_have_enough_contrast(theme):
    def themed(color):
        return style.DARK[color] if theme == "dark" else color

    backgrounds = (style.PAPER, style.FILL, style.PALE_BLUE, style.PALE_ORANGE, style.PALE_GREEN,
               style.PALE_PURPLE, style.PALE_RED)  # fmt: skip
    for background in backgrounds:
        assert contrast(themed(style.INK), themed(background)) >= 7
        assert contrast(themed(style.MUTED), themed(background)) >= 4.5
    for color in (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.RED):
        assert contrast(themed(color), themed(style.PAPER)) >= 4.5


def bars_and_lines(fig):
    """Yield the colors of each bar and line of a plot, and leave out the parts of diagrams."""
    for axes in fig.axes:
        if not axes.axison:
            continue
        for bar in (bar for bars in axes.containers for bar in getattr(bars, "patches", [])):
            if bar.get_width() and bar.get_height():
                edge = [bar.get_edgecolor()] if bar.get_linewidth() else []
                yield [bar.get_facecolor(), *edge]
        for line in axes.lines:
            effects = [effect._gc["foreground"] for effect in line.get_path_effects()]
            if not len(line.get_xdata()):
                continue
            if line.get_linestyle() != "None":
                yield [line.get_color(), *effects]
            if line.get_marker() not in ("None", None, ""):
                yield [line.get_markerfacecolor(), line.get_markeredgecolor()]


@pytest.mark.slow  # This draws all figures.
@pytest.mark.parametrize("draw", FIGURES)
def test_bars_and_lines_stand_out_from_the_background(draw, monkeypatch):
    drawn = []
    monkeypatch.setattr(style, "_picture", lambda fig, alt: drawn.append(fig))
    draw()
    for colors in bars_and_lines(drawn[0]):
        names = {to_hex(color) for color in colors} & set(style.DARK)
        if names == {style.PAPER}:  # This line is a gap between two bars.
            continue
        for theme in (dict(zip(style.DARK, style.DARK, strict=True)), style.DARK):
            contrasts = [contrast(theme[name], theme[style.PAPER]) for name in names]
            assert max(contrasts) >= 3, names


def test_svg_ids_ignore_coordinates_and_are_unique():
    @style.drawing
    def line(shift, alt):
        fig, axes = style.figure(3, 2)
        axes.plot([0, 1], [0, 1 + shift], color=style.BLUE)
        return fig, alt

    svgs = [line(0.0, "one").svg, line(1e-12, "one").svg, line(0.0, "other").svg]
    ids = [set(re.findall(r'\bid="([a-z]\d+-[0-9a-f]{8})"', svg)) for svg in svgs]
    assert ids[0] == ids[1]
    assert ids[0]
    assert not ids[0] & ids[2]
    for svg, svg_ids in zip(svgs, ids, strict=True):
        assert set(re.findall(r"#([a-z]\d+-[0-9a-f]{8})", svg)) <= svg_ids
        assert not re.search(r'\bid="[a-z][0-9a-f]{10}"', svg)
