"""Run the grader with ``python -m jaxbits_grader``."""

import sys

from jaxbits_grader.cli import main

sys.exit(main())
