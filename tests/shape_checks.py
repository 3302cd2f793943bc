"""The type checker of the tests: beartype, with whole numbers accepted where floats are (PEP 484's tower)."""

from __future__ import annotations

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
