"""What the tests of the paper share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _any_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Axes stay where they are made: moving them apart is matplotlib's work, and takes half the time of a figure."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda engine, figure: None)
