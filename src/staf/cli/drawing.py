"""What `render` and `export` share: a fitted field written as a file of its kind.

Whatever can be refused is refused before anything is computed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from staf._documents import Entries
from staf.cli.counting import Counting
from staf.cli.errors import UserError, edge

if TYPE_CHECKING:
    from torch import nn

    from staf.api import FittedField
    from staf.signals.view import View


def check_suffix(view: View[Any], out: Path, known: tuple[str, ...]) -> None:
    """Refuse a file name whose suffix no format of the kind has."""
    if out.suffix.lower() not in known:
        raise UserError(f"a fitted {view.noun} is written as {', '.join(known)}, by the suffix; got {str(out)!r}")


def write_field(field: FittedField, out: Path, how: Entries, *, device: str, title: str, show: bool) -> dict[str, int]:
    """Write what `how` (arguments of the view's `write`) says of a field, and return its size."""
    view = field.signal.view
    if broken := not_finite(field.module):
        total = sum(parameter.numel() for parameter in field.module.parameters())
        raise UserError(f"{broken:,} of {total:,} parameters of the field are not finite, so it has no values to write")
    with edge():
        total = view.render_points(how, field.convention)
    with Counting(title, total, show=show) as count:
        return view.write(count.watched(field.predict), out, how, convention=field.convention, device=device)


def not_finite(module: nn.Module) -> int:
    """How many parameters are NaN or infinite."""
    return sum(int((~parameter.detach().isfinite()).sum()) for parameter in module.parameters())
