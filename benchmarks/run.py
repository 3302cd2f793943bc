"""The same as `python -m benchmarks`, for those who run a file: `python benchmarks/run.py --suite gpu --out FILE`."""

import sys
from pathlib import Path

# A file that is run finds its own folder only, and the package is one folder above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
