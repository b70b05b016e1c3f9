"""Run the command `jaxbits` as ``python -m jaxbits``."""

import sys

from jaxbits._cli import main

sys.exit(main())
