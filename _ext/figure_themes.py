"""Give each SVG figure its description as alt text and a second version for the dark theme.

A figure is an SVG whose root element has ``role="img"`` and ``aria-label``, as in the figures that
``jaxbits.book.figures`` draws. Each figure becomes two images, of which the theme shows one. Both
images are loaded lazily. A browser fetches a lazy image only if it is displayed, so it never
fetches the hidden one. Without JavaScript, browsers load lazy images immediately, so the figures
still appear. The images are in a box, in which a wide figure scrolls on a phone.
"""

from __future__ import annotations

import hashlib
import html
import os
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform

_ROOT = re.compile(r"<svg\b[^>]*>", re.S)
_LABEL = re.compile(r"""\baria-label=(?:"([^"]*)"|'([^']*)')""")
_VIEW_BOX = re.compile(r"""\bviewBox=["']([^"']*)["']""")
_LENGTH = r"""\s{side}=["']([\d.]+)(px|pt|in|cm|mm)?["']"""
# The number of CSS pixels in each unit of length.
_PIXELS = {"": 1.0, "px": 1.0, "pt": 96 / 72, "in": 96.0, "cm": 96 / 2.54, "mm": 9.6 / 2.54}


def description(svg: str) -> str | None:
    """Return the description of a figure, or None if the SVG is not a figure.

    Example:
        >>> description('<svg role="img" aria-label="A &lt; B"></svg>')
        'A < B'
    """
    root = _ROOT.search(svg)
    label = _LABEL.search(root[0]) if root and 'role="img"' in root[0] else None
    return html.unescape(label[1] or label[2] or "") if label else None


def recolor(svg: str, palette: Mapping[str, str]) -> str:
    """Return the figure with its light colors replaced by dark ones.

    Args:
        svg: The figure's source.
        palette: A mapping from each light color to a dark one, as #rrggbb.

    Example:
        >>> recolor("fill: #FFF000; stroke: #000000", {"#fff000": "#000000", "#000000": "#eeeeee"})
        'fill: #000000; stroke: #eeeeee'
    """
    table = {light.lower(): dark for light, dark in palette.items()}
    # One pass replaces all colors, so a color that is both a key and a value is replaced only once.
    return re.sub(r"#[0-9a-fA-F]{6}\b", lambda found: table.get(found[0].lower(), found[0]), svg)


def size(svg: str) -> tuple[int, int] | None:
    """Return the width and height of a figure in CSS pixels, or None if it has no size.

    Example:
        >>> size('<svg width="432pt" height="288pt" viewBox="0 0 432 288">')
        (576, 384)
        >>> size('<svg viewBox="0 0 640 320">')
        (640, 320)
    """
    root = _ROOT.search(svg)
    if root is None:
        return None
    sides = [re.search(_LENGTH.format(side=side), root[0]) for side in ("width", "height")]
    if sides[0] and sides[1]:
        width, height = (round(float(side[1]) * _PIXELS[side[2] or ""]) for side in sides if side)
        return width, height
    box = _VIEW_BOX.search(root[0])
    numbers = re.split(r"[\s,]+", box[1].strip()) if box else []
    if len(numbers) != 4:
        return None
    return round(float(numbers[2])), round(float(numbers[3]))


def palette() -> Mapping[str, str]:
    """Return a mapping from each light color in the figures to its dark replacement."""
    from jaxbits.book.figures.style import DARK  # Only a book with figures needs jaxbits.

    return DARK


class figure_image(nodes.image):
    """A node for one of a figure's two images.

    The class name is lowercase, because docutils derives the names of visitor functions from it.
    """


def _visit(self: Any, node: figure_image) -> None:
    """Write a lazily loaded image, including its size so that the page does not shift."""
    uri = node["uri"]
    if uri in self.builder.images:
        uri = posixpath.join(self.builder.imgpath, quote(self.builder.images[uri]))
    attributes = {"src": uri, "alt": node["alt"], "loading": "lazy", "decoding": "async"}
    if "extent" in node:
        attributes["width"], attributes["height"] = map(str, node["extent"])
    self.body.append(self.emptytag(node, "img", "\n", **attributes))


def _depart(self: Any, node: figure_image) -> None:
    pass


class TwoThemes(SphinxTransform):
    """A transform that replaces each figure with a light and a dark image."""

    # Sphinx collects a page's images at priority 880:
    # https://github.com/sphinx-doc/sphinx/blob/v7.4.7/sphinx/transforms/__init__.py
    default_priority = 870

    def apply(self, **kwargs: Any) -> None:
        """Replace the page's figures."""
        source = Path(self.app.srcdir)
        for image in list(self.document.findall(nodes.image)):
            uri = image["uri"]
            if not uri.endswith(".svg") or "://" in uri:
                continue
            _, path = self.env.relfn2path(uri, self.env.docname)
            svg = Path(path).read_text(encoding="utf-8")
            if (alt := description(svg)) is None:
                continue
            dark = Path(self.app.outdir).parent / "figures" / f"{Path(path).stem}-dark.svg"
            dark.parent.mkdir(parents=True, exist_ok=True)
            dark.write_text(recolor(svg, palette()), encoding="utf-8")
            place, images = image.parent.index(image), []
            for theme in ("light", "dark"):
                twin = figure_image("", **image.attributes)
                twin["alt"] = alt
                twin["classes"] = [*image["classes"], "figure-svg", f"only-{theme}"]
                if extent := size(svg):
                    # If the node had width and height, Sphinx would turn the image into a link:
                    # https://github.com/sphinx-doc/sphinx/blob/v7.4.7/sphinx/builders/html/__init__.py
                    twin["extent"] = extent
                images.append(twin)
            images[1]["uri"] = "/" + Path(os.path.relpath(dark, source)).as_posix()
            box = nodes.inline("", "", *images, classes=["figure-box"])
            image.parent[place : place + 1] = [box]


def _note_palette(app: Sphinx, config: Config) -> None:
    # When the palette changes, Sphinx must read the pages again to recolor the figures.
    try:
        colors = sorted(palette().items())
    except ImportError:
        return
    config["figures_palette"] = hashlib.sha256(repr(colors).encode()).hexdigest()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_config_value("figures_palette", "", "env", str)
    app.connect("config-inited", _note_palette)
    app.add_node(figure_image, html=(_visit, _depart))
    app.add_transform(TwoThemes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
