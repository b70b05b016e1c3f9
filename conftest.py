"""For every test: book_tools on the path, strict notebooks, one browser, nothing left replaced."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path += [str(ROOT), str(ROOT / "tests")]

pytest_plugins = ["strict.plugin", "strict.no_skip", "browser", "order", "untouched"]
