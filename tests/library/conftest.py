"""Make the helpers in this folder importable when its tests run without the root's conftest.

`make versions` runs them like this, because the project's plugins need the locked packages.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))
