"""Render the Jinja2 templates for the generated pages."""

from __future__ import annotations

from pathlib import Path

from book_tools.pages.html_utils import bit_address, escape_html, inline_code, script_json
from book_tools.templates import load_templates

_TEMPLATES = load_templates(Path(__file__).with_name("templates"))
_TEMPLATES.filters |= {
    "address": bit_address,
    "code": inline_code,
    "text": escape_html,
    "script_json": script_json,
}


def render_page(template: str, **values: object) -> str:
    """Return the text of a page.

    Args:
        template: The name of a file in ``templates/`` without the suffix ``.jinja``.
        values: The template's variables.

    Raises:
        jinja2.UndefinedError: If the template uses a variable that has no value.
    """
    return _TEMPLATES.get_template(f"{template}.jinja").render(**values)
