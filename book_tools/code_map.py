"""Draw CONTRIBUTING.md's map of the code, with its parts and the imports between them.

    python -m book_tools map            draw the map
    python -m book_tools map --check    exit with 1 if the picture is out of date

The hand-written tuple `PARTS` assigns each module to a part. The program derives the arrows from
the import statements. An arrow may point only to a part that is further down.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path

from book_tools.files import write_if_changed
from book_tools.project_metadata import ROOT

PICTURE = Path("_static") / "code-map.svg"


@dataclass(frozen=True)
class Part:
    """A box on the map.

    Attributes:
        title: The folder or modules, as shown in the box.
        about: A one-line description of what belongs there.
        modules: Prefixes of its modules' names. A module belongs to the part with the longest
            matching prefix.
        row: The row on the map, counted from 0 at the top.
        column: The column on the map, which is 0 or 1, or None if the box spans the whole row.
        house: "book", "grader", or "library", which determines the color.
    """

    title: str
    about: str
    modules: tuple[str, ...]
    row: int
    column: int | None
    house: str


PARTS = (
    Part("chapters/", "the executed notebooks", ("chapters",), 0, 0, "book"),
    Part("_ext/  benchmarks/", "Sphinx extensions, timings", ("_ext", "benchmarks"), 0, 1, "book"),
    Part(
        "book_tools/",
        "the maintainer's programs: build, test, execute, lint, lock, …",
        ("book_tools",),
        1,
        None,
        "book",
    ),
    Part(
        "grader/src/jaxbits_grader/",
        "authoring, intake, running, checking, and reporting of assignments",
        ("jaxbits_grader",),
        2,
        None,
        "grader",
    ),
    Part(
        "jaxbits/book/",
        "exercises, figures, and measurements for the chapters",
        ("jaxbits.book",),
        3,
        0,
        "library",
    ),
    Part(
        "jaxbits/_cli.py  _pytest_plugin.py",
        "the command jaxbits, the pytest plugin",
        (
            "jaxbits._cli",
            "jaxbits._cli_arguments",
            "jaxbits._pytest_plugin",
            "jaxbits.__main__",
        ),
        3,
        1,
        "library",
    ),
    Part(
        "jaxbits/_audit.py  _report.py",
        "audit, assert_clean",
        ("jaxbits._audit", "jaxbits._report"),
        4,
        0,
        "library",
    ),
    Part(
        "_claims.py  _explain.py  testing.py  optim.py  xor/",
        "the other public functions and modules",
        (
            "jaxbits._claims",
            "jaxbits._claims_display",
            "jaxbits._error_origin",
            "jaxbits._explain",
            "jaxbits._ipython",
            "jaxbits._matching",
            "jaxbits._pasted_error",
            "jaxbits.testing",
            "jaxbits.xor",
            "jaxbits.optim",
        ),
        4,
        1,
        "library",
    ),
    Part(
        "jaxbits/detect/",
        "one module per detector, named after it",
        ("jaxbits.detect",),
        5,
        None,
        "library",
    ),
    Part(
        "jaxbits/_analysis/",
        "what the detectors share: traces, jaxprs, instrumented runs, Python state, source code",
        ("jaxbits._analysis",),
        6,
        None,
        "library",
    ),
    Part(
        "jaxbits/_catalogue.py  catalogue/*.toml  runtime.py",
        "the sharp bits, and what runs where",
        (
            "jaxbits._catalogue",
            "jaxbits._matching_rules",
            "jaxbits.runtime",
            "jaxbits._accelerators",
        ),
        7,
        None,
        "library",
    ),
    Part(
        "jaxbits/__init__.pyi  _lazy.py",
        "the public names",
        ("jaxbits", "jaxbits._lazy"),
        8,
        0,
        "library",
    ),
    Part(
        "_jax_compat/  _equality.py  _formatting.py",
        "non-public JAX, equality, formatting",
        ("jaxbits._jax_compat", "jaxbits._equality", "jaxbits._formatting"),
        8,
        1,
        "library",
    ),
)

_JAXBITS_IMPORT = r"^(?:from jaxbits\S* import \([^)]*\)|(?:from|import) jaxbits.*[^(\n])$"
_SOURCES = {"src": "", "grader/src": "", "book_tools": "book_tools", "_ext": "_ext"}
_SOURCES |= {"benchmarks": "benchmarks"}
_COLORS = {
    "book": ("#e8f0fe", "#1a56b0"),
    "grader": ("#fdecd9", "#9a4a00"),
    "library": ("#e6f4ea", "#1c6b37"),
}
_HOUSES = {"book": "the book", "grader": "the grader", "library": "the library"}
_WIDTH, _MARGIN, _BOX, _ROW = 920, 44, 52, 86
_LANE = 7  # The distance between two arrows that run along the edge.


def module_files(root: Path = ROOT) -> dict[str, Path]:
    """Return the file of every module in the project, keyed by the module's dotted name."""
    found = {}
    for folder, package in _SOURCES.items():
        for path in (root / folder).rglob("*.py"):
            parts = path.relative_to(root / folder).with_suffix("").parts
            name = ".".join((package, *parts) if package else parts)
            found[name.removesuffix(".__init__")] = path
    for path in sorted((root / "chapters").glob("*.md")):
        found[f"chapters.{path.stem}"] = path
    return found


def imports(root: Path = ROOT) -> dict[str, set[str]]:
    """Return, for each module, the project modules that it imports anywhere in its code."""
    files = module_files(root)
    return {name: set(_imported(name, path, files)) for name, path in files.items()}


def _imported(name: str, path: Path, files: dict[str, Path]) -> Iterator[str]:
    source = path.read_text("utf8")
    if path.suffix == ".md":
        source = "\n".join(re.findall(r"^from jaxbits[^\n(]*(?:\([^)]*\))?$", source, flags=re.M))
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            named = [one if one in files else node.module for one in whole]
        else:
            continue
        yield from (one for one in named if one in files and one != name)


def part_of(module: str) -> Part:
    """Return the part of the map that a module belongs to.

    Raises:
        KeyError: If no part contains the module.
    """
    fitting = [
        (len(prefix), part)
        for part in PARTS
        for prefix in part.modules
        if module == prefix or (module.startswith(prefix + ".") and prefix != "jaxbits")
    ]
    if not fitting:
        raise KeyError(f"no part of the map contains the module {module}; add it to PARTS")
    return max(fitting, key=lambda one: one[0])[1]


def arrows(root: Path = ROOT) -> dict[Part, set[Part]]:
    """Return, for each part, the parts that it imports from."""
    found: dict[Part, set[Part]] = {part: set() for part in PARTS}
    for module, imported in imports(root).items():
        found[part_of(module)] |= {part_of(one) for one in imported}
    for part, targets in found.items():
        targets.discard(part)
    return found


def _without_shortcuts(graph: dict[Part, set[Part]]) -> list[tuple[Part, Part]]:
    """Return the arrows that are not implied by a path of other arrows."""
    reach: dict[Part, set[Part]] = {}
    for part in TopologicalSorter(graph).static_order():
        reach[part] = graph[part].union(*(reach[one] for one in graph[part]))
    return [
        (part, target)
        for part in PARTS
        for target in PARTS
        if target in graph[part] and not any(target in reach[o] for o in graph[part] - {target})
    ]


def _box(part: Part) -> tuple[float, float, float]:
    """Return the left edge, the top edge, and the width of a part's box."""
    top = _MARGIN + 40 + part.row * _ROW
    full = _WIDTH - 2 * _MARGIN
    if part.column is None:
        return _MARGIN, top, full
    half = (full - 32) / 2
    return _MARGIN + part.column * (half + 32), top, half


def draw(root: Path = ROOT) -> str:
    """Return the map as an SVG image."""
    height = _MARGIN + 40 + (max(part.row for part in PARTS) + 1) * _ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif">',
        "<title>The parts of the code, and the imports between them</title>",
        "<desc>Each box is a folder or a group of modules. An arrow means that the upper box "
        "imports the lower one. Arrows that follow from others are left out.</desc>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#5f6368"/></marker></defs>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (house, (fill, edge)) in enumerate(_COLORS.items()):
        x = _MARGIN + number * 150
        lines.append(f'<rect x="{x}" y="16" width="16" height="16" fill="{fill}" stroke="{edge}"/>')
        text = f'<text x="{x + 24}" y="29" font-size="14" fill="#202124">{_HOUSES[house]}</text>'
        lines.append(text)
    for lane, (part, target) in enumerate(_without_shortcuts(arrows(root))):
        lines.append(_arrow(part, target, lane % 5))
    for part in PARTS:
        left, top, width = _box(part)
        fill, edge = _COLORS[part.house]
        lines += [
            f'<rect x="{left:g}" y="{top}" width="{width:g}" height="{_BOX}" rx="6" '
            f'fill="{fill}" stroke="{edge}"/>',
            f'<text x="{left + 12:g}" y="{top + 21}" font-size="14" font-weight="600" '
            f'fill="#202124">{escape(part.title)}</text>',
            f'<text x="{left + 12:g}" y="{top + 41}" font-size="13" '
            f'fill="#3c4043">{escape(part.about)}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _arrow(part: Part, target: Part, lane: int) -> str:
    left, top, width = _box(part)
    left_to, top_to, width_to = _box(target)
    middle, middle_to = left + width / 2, left_to + width_to / 2
    if part.column is None and target.column is not None:
        middle = middle_to
    elif target.column is None and part.column is not None:
        middle_to = middle
    if target.row - part.row > 1:  # Go around the boxes in between, along the edge of the map.
        is_right = middle > _WIDTH / 2
        start, end = (left + width, left_to + width_to) if is_right else (left, left_to)
        edge = _WIDTH - 8 - lane * _LANE if is_right else 8 + lane * _LANE
        down, down_to = top + 12 + lane * _LANE, top_to + 12 + lane * _LANE
        path = f"M{start:g} {down}H{edge}V{down_to}H{end:g}"
    else:
        path = f"M{middle:g} {top + _BOX}L{middle_to:g} {top_to - 1:g}"
    style = 'fill="none" stroke="#5f6368" stroke-width="1.5" marker-end="url(#tip)"'
    return f'<path d="{path}" {style}/>'


def main() -> int:
    """Draw the map or check that it is up to date, and return the exit status."""
    text = draw()
    path = ROOT / PICTURE
    if "--check" in sys.argv[1:]:
        if not path.is_file() or path.read_text("utf8") != text:
            print(f"{PICTURE} is out of date; run `python -m book_tools map`", file=sys.stderr)
            return 1
        return 0
    write_if_changed(path, text)
    return 0
