"""Write the slides of a chapter as an HTML file that needs no other file and no network."""

from __future__ import annotations

import base64
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from book_tools.slides.slide import Deck
from book_tools.templates import load_templates

_FOLDER = Path(__file__).with_name("templates")
_FORMATTER = HtmlFormatter(nowrap=True, style="a11y-high-contrast-light")


def _highlight(code: str) -> str:
    return str(highlight(code, PythonLexer(stripnl=False), _FORMATTER)).rstrip("\n")


def _data_url(figure: tuple[str, str]) -> str:
    """Return a figure as a URL that contains the image, so that figures cannot share ids."""
    kind, data = figure
    encoded = base64.b64encode(data.encode()).decode() if kind == "image/svg+xml" else data
    return f"data:{kind};base64,{encoded.strip()}"


_TEMPLATES = load_templates(_FOLDER)
_TEMPLATES.filters |= {"highlight": _highlight, "data_url": _data_url}


def render_deck(deck: Deck) -> str:
    """Return the slides of a chapter as the text of an HTML file."""
    style = (_FOLDER / "deck.css").read_text("utf8") + str(_FORMATTER.get_style_defs("pre.code"))
    return _TEMPLATES.get_template("deck.html.jinja").render(
        deck=deck,
        number=f"Chapter {int(deck.stem[:2])}",
        style=style,
        script=(_FOLDER / "deck.js").read_text("utf8"),
    )
