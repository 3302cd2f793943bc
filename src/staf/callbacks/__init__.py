"""Callbacks of a fit: `staf.fit(photo, callbacks=[...])`; the protocol is in docs/how-to/callbacks.md."""

from __future__ import annotations

from staf.callbacks.tensorboard import TensorBoard
from staf.viewer.live import LiveView

__all__ = ["LiveView", "TensorBoard"]
