"""Shape annotations: `Float[Tensor, "n d"]`, enforced in tests where jaxtyping is installed, inert elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtyping import Bool, Complex, Float, Int, UInt8
else:
    try:
        from jaxtyping import Bool, Complex, Float, Int, UInt8
    except ImportError:

        class _Inert:
            def __class_getitem__(cls, item: tuple[Any, str]) -> Any:
                return item[0]

        Bool = Complex = Float = Int = UInt8 = _Inert

__all__ = ["Bool", "Complex", "Float", "Int", "UInt8"]
