"""The exception for a run folder that is refused or incomplete."""

from __future__ import annotations


class RunError(ValueError):
    """A run that cannot be written as asked: its message is one sentence, meant to be shown as it is."""
