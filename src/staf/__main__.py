"""`python -m staf`: the same as the `staf` command."""

from __future__ import annotations

import sys

from staf.cli import main

if __name__ == "__main__":
    sys.exit(main())
