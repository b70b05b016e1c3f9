"""The records made by hand that these tests share can be imported."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
