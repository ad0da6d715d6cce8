"""``python -m cdimc`` is the command ``cdimc``."""

import sys

from cdimc_command.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
