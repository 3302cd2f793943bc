"""Checks of network arguments, whether they come from a caller or from a file: types, ranges, names, sizes."""

from __future__ import annotations

import difflib
import math
import types
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin


@dataclass(frozen=True)
class Range:
    """Both ends included."""

    low: float
    high: float


Size = Annotated[int, Range(1, 2**16)]
Depth = Annotated[int, Range(1, 256)]
Terms = Annotated[int, Range(1, 4096)]
Bands = Annotated[int, Range(1, 32)]
Levels = Annotated[int, Range(1, 32)]
LevelFeatures = Annotated[int, Range(1, 8)]
Log2Entries = Annotated[int, Range(1, 28)]
Cells = Annotated[int, Range(1, 2**24)]
Rate = Annotated[int, Range(1, 10**7)]
Positive = Annotated[float, Range(1e-12, 1e12)]
NonNegative = Annotated[float, Range(0, 1e12)]
Real = Annotated[float, Range(-1e12, 1e12)]


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The end of a message about an unknown name: the nearest, and all that are known.

    >>> did_you_mean("sirem", ["siren", "wire"])
    "did you mean 'siren'? (the choices are siren, wire)"
    >>> did_you_mean("xyz", ["siren", "wire"])
    'the choices are siren, wire'
    """
    nearest = difflib.get_close_matches(name[:100], known, n=1, cutoff=0.5)
    choices = f"the choices are {', '.join(known)}"
    return f"did you mean '{nearest[0]}'? ({choices})" if nearest else choices


def shown(value: object) -> str:
    """A short repr: what a hostile file holds may be huge."""
    text = f"an integer of {value.bit_length()} bits" if type(value) is int and abs(value) > 10**30 else repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def choose(argument: str, value: str, choices: Collection[str]) -> str:
    """`value` when it is one of `choices`, otherwise an error that names the nearest."""
    if value not in choices:
        raise ValueError(f"{argument} is {shown(value)}, which is unknown; {did_you_mean(value, choices)}")
    return value


def check(argument: str, value: Any, kind: Any, bounds: Range | None = None) -> Any:
    """`value` as `kind` (an annotation), or an error that names the argument, the rule and the value.

    >>> check("width", 64, Size), check("omega0", 30, Positive)
    (64, 30.0)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return check(argument, value, parts[0], parts[1])
    if origin in (Union, types.UnionType):
        inner = [part for part in parts if part is not type(None)]
        return None if value is None else check(argument, value, inner[0], bounds)
    if origin is Literal:
        if not isinstance(value, str):
            raise TypeError(f"{argument} must be a string, got {shown(value)}; the choices are {', '.join(parts)}")
        return choose(argument, value, parts)
    if origin is tuple:
        return _check_tuple(argument, value, parts)
    if kind is bool:
        if not isinstance(value, bool):
            raise TypeError(f"{argument} must be true or false, got {shown(value)}")
        return value
    if isinstance(value, bool) or not isinstance(value, (int,) if kind is int else (int, float)):
        raise TypeError(f"{argument} must be {'an integer' if kind is int else 'a number'}, got {shown(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{argument} must be finite, got {value}")
    if bounds is not None and not bounds.low <= value <= bounds.high:
        raise ValueError(f"{argument} must be from {bounds.low:g} to {bounds.high:g}, got {shown(value)}")
    return kind(value)


def _check_tuple(argument: str, value: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{argument} must be a list, got {shown(value)}")
    variadic = parts[-1] is Ellipsis
    if not variadic and len(value) != len(parts):
        raise ValueError(f"{argument} must have {len(parts)} entries, got {len(value)}")
    if variadic and len(value) > 16:
        raise ValueError(f"{argument} must have at most 16 entries, got {len(value)}")
    kinds = [parts[0]] * len(value) if variadic else parts
    entries = tuple(
        check(f"{argument}[{i}]", entry, kind) for i, (entry, kind) in enumerate(zip(value, kinds, strict=True))
    )
    if variadic and len(set(entries)) != len(entries) and any(isinstance(entry, str) for entry in entries):
        raise ValueError(f"{argument} must not repeat an entry, got {shown(value)}")
    return entries


def refuse_unused(why: str, **pairs: tuple[Any, Any]) -> None:
    """Refuse arguments that would have no effect: `name=(value, default)` must be equal."""
    for argument, (value, default) in pairs.items():
        if value != default:
            raise ValueError(f"{argument} has no effect {why}: leave it at {default!r}, got {shown(value)}")
