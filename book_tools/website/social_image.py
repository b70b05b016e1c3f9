"""Draw the image that other sites show next to a link to the book.

    python -m book_tools social-image

The image shows the book's title above one of its figures. Chromium draws it, because readers also
see SVG figures in a browser. The resulting file, _static/social.png, is committed so that building
the book requires no browser.
"""

from __future__ import annotations

import argparse
import io
import re

from PIL import Image
from playwright.sync_api import ViewportSize

from book_tools.project_metadata import ROOT
from book_tools.website.browser import open_chromium

FIGURE = ROOT / "_static" / "where-indices-land.svg"
# Show only the first row of the figure, because a preview is small.
VIEW_BOX = 'viewBox="0 4 432 94"'
LOGO = ROOT / "_static" / "logo.svg"
TARGET = ROOT / "_static" / "social.png"
# Facebook, LinkedIn, Slack, and X show images of this size without cropping them.
SIZE: ViewportSize = {"width": 1200, "height": 630}

PAGE = """\
<!DOCTYPE html>
<style>
  body { margin: 0; width: 1200px; height: 630px; display: flex; flex-direction: column;
         font-family: system-ui, "DejaVu Sans", sans-serif; background: #fdfdfc; color: #1c2733; }
  header { display: flex; align-items: center; gap: 28px; padding: 44px 56px 0; }
  header svg { width: 150px; height: auto; }
  h1 { margin: 0; font-size: 66px; letter-spacing: -0.02em; }
  p { margin: 14px 56px 0; font-size: 30px; color: #51606f; }
  figure { margin: auto 56px; }
  figure svg { aspect-ratio: 432 / 94; width: 1088px; height: auto; }
  footer { height: 12px; background: #d9930d; }
</style>
<header>LOGO<h1>JAX sharp bits</h1></header>
<p>The traps of JAX, each one run, explained, and fixed.</p>
<figure>FIGURE</figure>
<footer></footer>
"""


def draw_social_image() -> bytes:
    """Draw the image, and return it as the contents of a PNG file.

    Raises:
        NoBrowserError: If Chromium is not on the PATH.
    """
    figure = re.sub(r'viewBox="[^"]*"', VIEW_BOX, FIGURE.read_text(encoding="utf-8"), count=1)
    page = PAGE.replace("LOGO", LOGO.read_text(encoding="utf-8")).replace("FIGURE", figure)
    with open_chromium() as browser:
        view = browser.new_page(viewport=SIZE)
        view.set_content(page)
        shot = view.screenshot()
    # A drawing has few colors, so a palette reduces the file to a third of its size.
    picture = Image.open(io.BytesIO(shot)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True)
    return file.getvalue()


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args(arguments)
    TARGET.write_bytes(draw_social_image())
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size:,} bytes")
    return 0
