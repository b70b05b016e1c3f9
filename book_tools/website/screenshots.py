"""Take pictures of the built book, for people to look at.

    python -m book_tools screenshots OUT_DIR [PAGE ...]

Each page (all of the table of contents by default) is taken whole on a desk and on a phone, in
the light and in the dark theme: OUT_DIR/chapters-01-tracing.phone.dark.png and so on.
"""

from __future__ import annotations

import functools
import http.server
import shutil
import sys
import threading
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "_build" / "html"
SIZES = {"desk": (1280, 900), "phone": (390, 844)}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing about each request."""


def pages() -> list[str]:
    """Return the pages of the table of contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf8"))
    return [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]


def take(out: Path, wanted: list[str]) -> list[Path]:
    """Write the pictures of the wanted pages into `out` and return their paths.

    Raises:
        FileNotFoundError: when there is no Chromium, or a page is not in the built book.
    """
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise FileNotFoundError("chromium should be installed, and is not on the path")
    for page in wanted:
        if not (BUILT / f"{page}.html").exists():
            raise FileNotFoundError(f"page {page!r} should be in {BUILT}: run `make book`")
    out.mkdir(parents=True, exist_ok=True)
    handler = functools.partial(_Quiet, directory=str(BUILT))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    taken = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        for size, (width, height) in SIZES.items():
            for theme in ("light", "dark"):
                tab = browser.new_page(
                    viewport={"width": width, "height": height}, color_scheme=theme
                )
                for page in wanted:
                    tab.goto(f"http://127.0.0.1:{server.server_port}/{page}.html")
                    tab.wait_for_load_state("networkidle")
                    path = out / f"{page.replace('/', '-')}.{size}.{theme}.png"
                    tab.screenshot(path=path, full_page=True)
                    taken.append(path)
                tab.close()
        browser.close()
    server.shutdown()
    return taken


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        for path in take(Path(arguments[0]), arguments[1:] or pages()):
            print(path)
    except FileNotFoundError as error:
        print(f"screenshots: {error}", file=sys.stderr)
        return 1
    return 0
