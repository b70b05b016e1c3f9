"""Make the handwritten records that these tests share importable."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
