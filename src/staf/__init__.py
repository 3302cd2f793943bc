"""staf: fit signals with networks of trainable sinusoids.

>>> import staf
>>> field = staf.siren(2, 3)
>>> sum(p.numel() for p in field.parameters())
198915
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"
