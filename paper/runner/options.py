"""Options that several studies have."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

# What the protocols are, in the words of the help; a protocol that is not here is explained by its experiment.
PROTOCOLS = {
    "paper": "by the paper's text, networks at their authors' rates",
    "released": "STAF by its released code, others as by paper",
    "ours": "by this library's default plan",
    "grid": "a hash grid, by our plan",
    "points": "by our plan, pixels seen as points",
    "finer": "by FINER's authors",
    "wire": "by WIRE's authors",
    "incode": "by INCODE's authors",
}


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


def add_models(parser: argparse.ArgumentParser, default: Iterable[str], *, nargs: str = "+") -> None:
    """The option that names networks."""
    names = list(default)
    parser.add_argument("--models", nargs=nargs, default=names, metavar="NAME", help=f"networks ({_all(names)})")


def add_protocols(parser: argparse.ArgumentParser, choices: Iterable[str], default: Sequence[str]) -> None:
    """The option that names protocols, each with what it is."""
    names = list(choices)
    known = "; ".join(f"{name}: {PROTOCOLS[name]}" for name in names if name in PROTOCOLS)
    parser.add_argument(
        "--protocols", nargs="+", default=list(default), choices=names, help=f"{known} ({_all(default)})"
    )


def add_seeds(parser: argparse.ArgumentParser, default: Sequence[int] = (0,)) -> None:
    """The option that names seeds."""
    seeds = list(default)
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=seeds, metavar="N", help=f"a run for each ({_all(map(str, seeds))})"
    )


def _all(default: Iterable[str]) -> str:
    return f"default: {' '.join(default)}"
