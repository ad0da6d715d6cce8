"""Runs the command ``cdimc`` as ``python -m cdimc``."""

import sys

from cdimc_command.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
