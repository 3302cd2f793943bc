"""Options that several studies have."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """A whole number of at least 1, as the type of an option.

    >>> count("12")
    12
    """
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return value


def add_planned_for(parser: argparse.ArgumentParser) -> None:
    """The option that gives a run on one kind of device the plan of another."""
    parser.add_argument("--planned-for", choices=("cpu", "cuda"), help="whose plan `ours` is (default: the device's)")
