"""``python -m jaxbits.classroom``."""

import sys

from jaxbits.classroom.command import main

sys.exit(main())
