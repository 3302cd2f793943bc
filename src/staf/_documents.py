"""Types of data by name, as JSON holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The metadata of a file, a result for machines, plain data for a figure, arguments to be passed on.
Document = dict[str, Any]
# The same, only read.
Entries = Mapping[str, Any]
