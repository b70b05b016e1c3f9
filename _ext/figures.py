"""Give every SVG figure its description as alt text and a twin in the dark theme's colours.

A figure is an SVG whose root carries ``role="img"`` and ``aria-label``, as those of
``jaxbits.plots`` do. It becomes two images, of which the theme shows one.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform

_ROOT = re.compile(r"<svg\b[^>]*>", re.S)
_LABEL = re.compile(r"""\baria-label=(?:"([^"]*)"|'([^']*)')""")


def description(svg: str) -> str | None:
    """Return the description a figure carries, or None for an SVG that is not a figure.

    Example:
        >>> description('<svg role="img" aria-label="A &lt; B"></svg>')
        'A < B'
    """
    root = _ROOT.search(svg)
    label = _LABEL.search(root[0]) if root and 'role="img"' in root[0] else None
    return html.unescape(label[1] or label[2] or "") if label else None


def darkened(svg: str, palette: Mapping[str, str]) -> str:
    """Return the figure with each colour of `palette` (light: dark, as #rrggbb) replaced.

    Example:
        >>> darkened("fill: #FFF000; stroke: #000000", {"#fff000": "#000000", "#000000": "#eeeeee"})
        'fill: #000000; stroke: #eeeeee'
    """
    table = {light.lower(): dark for light, dark in palette.items()}
    # One pass, so that a colour that is light for one and dark for another is not replaced twice.
    return re.sub(r"#[0-9a-fA-F]{6}\b", lambda found: table.get(found[0].lower(), found[0]), svg)


def palette() -> Mapping[str, str]:
    """Return the dark colour of each light one, as the figures' style defines them."""
    from jaxbits.plots.style import DARK  # here, so that a book without figures needs no jaxbits

    return DARK


class TwoThemes(SphinxTransform):
    """Replace each figure by a light and a dark image with the same alt text."""

    default_priority = 870  # Sphinx collects the images of a page at 880

    def apply(self, **kwargs: Any) -> None:
        """Work through the page's images."""
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
            dark.write_text(darkened(svg, palette()), encoding="utf-8")
            twin = image.deepcopy()
            twin["uri"] = "/" + Path(os.path.relpath(dark, source)).as_posix()
            for node, theme in ((image, "light"), (twin, "dark")):
                node["alt"] = alt
                node["classes"] = [*node["classes"], "figure-svg", f"only-{theme}"]
            image.parent.insert(image.parent.index(image) + 1, twin)


def _note_palette(app: Sphinx, config: Config) -> None:
    # A changed palette makes Sphinx read the pages again, and so draw the twins again.
    try:
        colours = sorted(palette().items())
    except ImportError:
        return
    config["figures_palette"] = hashlib.sha256(repr(colours).encode()).hexdigest()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_config_value("figures_palette", "", "env", str)
    app.connect("config-inited", _note_palette)
    app.add_transform(TwoThemes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
