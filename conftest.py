"""Load the plugins that every test needs: exact notebooks, one browser, guards, and the order."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# Appended, so that no folder of the project hides an installed package of the same name.
sys.path += [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "library")]

pytest_plugins = [
    "nbval_exact.plugin",
    "pytest_plugins.browser",
    "pytest_plugins.fail_on_skip",
    "pytest_plugins.global_state_guard",
    "pytest_plugins.slow_first",
]
