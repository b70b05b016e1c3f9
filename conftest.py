"""For every test: tools on the path, strict notebooks, one browser, nothing left replaced."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# At the end: no tool may stand in for a package of the same name.
sys.path += [str(ROOT / "tools"), str(ROOT / "tests")]

pytest_plugins = ["strict.plugin", "strict.no_skip", "browser", "order", "untouched"]
