"""Highlight only the code tokens that look different from plain text.

Pygments puts each name, bracket, and comma in its own HTML element. Most of these elements have the
color of plain text in both themes. Without them, a chapter has half as many elements.
"""

from __future__ import annotations

from typing import Any

from pygments.formatters import HtmlFormatter
from pygments.style import StyleMeta
from pygments.styles import get_style_by_name
from pygments.token import Name, Punctuation, Text, _TokenType
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

# These are the theme's styles. A test compares them with the style sheet that the theme writes.
STYLES = ("a11y-high-contrast-light", "a11y-high-contrast-dark")
_PLAIN = (Name, Punctuation, Text)


def looks_plain(token: _TokenType, styles: tuple[StyleMeta, ...]) -> bool:
    """Return whether a token type looks like plain text in all styles.

    Args:
        token: The Pygments token type to test.
        styles: The Pygments styles of the themes.

    Example:
        >>> from pygments.token import Keyword, Punctuation
        >>> styles = tuple(get_style_by_name(name) for name in STYLES)
        >>> looks_plain(Punctuation, styles), looks_plain(Keyword, styles)
        (True, False)
    """
    if not any(token in kind for kind in _PLAIN):
        return False
    return all(style.style_for_token(token) == style.style_for_token(Text) for style in styles)


class Formatter(HtmlFormatter[str]):
    """An HTML formatter that writes no element around tokens that look like plain text."""

    def __init__(self, **options: Any) -> None:
        # Set the styles first, because the base class's constructor calls _get_css_class.
        self._styles = tuple(get_style_by_name(name) for name in STYLES)
        super().__init__(**options)

    def _get_css_class(self, ttype: _TokenType) -> str:
        return "" if looks_plain(ttype, self._styles) else super()._get_css_class(ttype)

    def _get_css_classes(self, ttype: _TokenType) -> str:
        return "" if looks_plain(ttype, self._styles) else super()._get_css_classes(ttype)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    PygmentsBridge.html_formatter = Formatter
    return {"parallel_read_safe": True, "parallel_write_safe": True}
