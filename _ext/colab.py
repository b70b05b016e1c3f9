"""Show the way to Colab as a button with a name, not as one line of a menu behind a rocket."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def _unfold(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put the launch menu's single entry in the menu's place."""
    buttons = context.get("header_buttons", [])
    for position, button in enumerate(buttons):
        entries = button.get("buttons", [])
        if button.get("label") == "launch-buttons" and len(entries) == 1:
            buttons[position] = {
                **entries[0],
                "text": "Open in Colab",
                "tooltip": "Run this chapter in Google Colab",
                "label": "colab",
            }


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", _unfold, priority=600)  # after the theme's own, at 501
    return {"parallel_read_safe": True, "parallel_write_safe": True}
