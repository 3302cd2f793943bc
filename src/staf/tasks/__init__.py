"""Tasks: a problem to solve is a signal, what is observed of it, a loss, and how to evaluate it."""

from .reconstruction import Reconstruction

__all__ = ["Reconstruction"]
