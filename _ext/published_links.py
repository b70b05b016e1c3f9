"""Add the links that need the address of the repository or of the published book.

These are the canonical link, the links to the repository, and the Colab button. They are not in
_config.yml, because the address itself is in pyproject.toml (see ``make address``). If the project
has no address, the pages contain none of these links.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from book_tools import project_metadata


def configure(config: Config, repository: str | None) -> None:
    """Set the options that depend on the address, or turn them off if there is no address.

    Args:
        config: Sphinx's configuration, which is modified in place.
        repository: The address of the repository, or None if there is none.
    """
    options = {
        "repository_url": repository or "",  # Jupyter Book sets its own address if this is missing.
        "use_repository_button": bool(repository),
        "use_issues_button": bool(repository),
    }
    config["html_theme_options"] = {**config["html_theme_options"], **options}
    config["html_baseurl"] = project_metadata.site_url(repository) if repository else ""


def colab_button(repository: str, pagename: str) -> dict[str, str]:
    """Return the button that opens a page's notebook in Colab.

    Colab opens the notebook that was published with the page on the same branch.

    Args:
        repository: The address of the repository.
        pagename: The name of the page, such as ``chapters/01-tracing``.
    """
    return {
        "type": "link",
        "text": "Open in Colab",
        "tooltip": "Run this chapter in Google Colab",
        "icon": "_static/images/logo_colab.png",
        "label": "colab",
        "url": project_metadata.colab_url(repository, f"_sources/{pagename}.ipynb"),
    }


def _configure(app: Sphinx, config: Config) -> None:
    configure(config, project_metadata.repository_url(Path(app.confdir)))


def _add_button(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    repository = project_metadata.repository_url(Path(app.confdir))
    if repository and pagename.startswith("chapters/"):
        context["header_buttons"].insert(0, colab_button(repository, pagename))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("config-inited", _configure)
    # The theme adds its own buttons at priority 501.
    app.connect("html-page-context", _add_button, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
