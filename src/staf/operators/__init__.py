"""Operators: what is observed of a signal."""
