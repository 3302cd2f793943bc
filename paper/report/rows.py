"""The row of a result: its network, with what sets it apart from others of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def row_name(configuration: Mapping[str, Any]) -> str:
    """The network's name, and its number of terms where it was changed.

    >>> row_name({"model": "staf", "terms": 5}), row_name({"model": "siren"})
    ('staf, 5 terms', 'siren')
    """
    terms = configuration.get("terms")
    return str(configuration["model"]) + (f", {terms} terms" if terms else "")
