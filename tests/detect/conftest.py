"""Make the helper modules in this folder importable for the detector tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
