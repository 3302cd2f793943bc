"""Recompute the numbers that decide each erratum: `python docs/theory/evidence`."""

from __future__ import annotations

import conditions
import formulas
import tables


def main() -> None:
    for group in (formulas, conditions, tables):
        for name, compute in group.EVIDENCE.items():
            print(f"{name}: {compute()}")  # noqa: T201


if __name__ == "__main__":
    main()
