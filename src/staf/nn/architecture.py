"""The architecture of a network as JSON-able data: written by every factory, and checked when it is read back."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar, cast, get_type_hints

import torch
from torch import nn

from staf._documents import Document, Entries
from staf.nn.arguments import check, did_you_mean, shown

Device = torch.device | str | None


class Runtime(TypedDict):
    """Where a network is made, in which type and from which random numbers: what every factory takes besides."""

    generator: torch.Generator | None
    device: Device
    dtype: torch.dtype | None


RUNTIME = tuple(Runtime.__annotations__)
MOST_SCALARS = 2**32


def check_arguments(factory: Callable[..., nn.Module], given: Entries) -> Document:
    """The arguments of `factory` by name, checked against its signature, defaults filled in, run-time ones left out."""
    name, parameters = factory.__name__, inspect.signature(factory).parameters
    hints = get_type_hints(factory, include_extras=True)
    known = [parameter for parameter in parameters if parameter not in RUNTIME]
    for argument in given:
        if argument not in known:
            raise TypeError(f"{name}() has no argument {shown(argument)}; {did_you_mean(str(argument), known)}")
    checked = {}
    for argument in known:
        default = parameters[argument].default
        if argument not in given and default is inspect.Parameter.empty:
            raise TypeError(f"{name}() needs the argument '{argument}'")
        checked[argument] = check(f"{name}(): {argument}", given.get(argument, default), hints[argument])
    return checked


def _jsonable(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


Factory = TypeVar("Factory", bound=Callable[..., nn.Module])


def network(factory: Factory) -> Factory:
    """Decorate the factory of a network: its arguments are checked, and its networks have their `architecture`."""
    signature = inspect.signature(factory)

    @functools.wraps(factory)
    def build(*args: Any, **kwargs: Any) -> nn.Module:
        named = dict(zip(signature.parameters, args[:2], strict=False))
        if len(args) > 2:
            raise TypeError(f"{factory.__name__}() takes in_features and out_features; name the other arguments")
        for argument in named:
            if argument in kwargs:
                raise TypeError(f"{factory.__name__}() got two values for '{argument}'")
        runtime = {key: kwargs.pop(key) for key in RUNTIME if key in kwargs}
        arguments = check_arguments(factory, {**named, **kwargs})
        field = factory(**arguments, **runtime)
        field.architecture = {  # type: ignore[assignment]
            "name": factory.__name__,
            "arguments": {key: _jsonable(value) for key, value in arguments.items()},
        }
        return field

    return cast(Factory, build)


def read_architecture(
    architecture: Any, factories: Mapping[str, Callable[..., nn.Module]]
) -> tuple[Callable[..., nn.Module], Document]:
    """The factory and its checked arguments, or an error that says what is wrong; allocates nothing."""
    if not isinstance(architecture, dict) or set(architecture) != {"name", "arguments"}:
        raise ValueError(f"architecture must be a dictionary of 'name' and 'arguments', got {shown(architecture)}")
    name, arguments = architecture["name"], architecture["arguments"]
    if not isinstance(name, str):
        raise TypeError(f"architecture's name must be a string, got {shown(name)}")
    if name not in factories:
        raise ValueError(f"architecture is of no known network: {shown(name)}; {did_you_mean(name, factories)}")
    if not isinstance(arguments, dict):
        raise TypeError(f"architecture's arguments must be a dictionary, got {shown(arguments)}")
    factory = factories[name]
    checked = check_arguments(factory, arguments)
    scalars = sum(tensor.numel() for tensor in factory(**checked, device="meta").state_dict().values())
    if scalars > MOST_SCALARS:
        raise ValueError(f"architecture {name} has {scalars:,} parameters, more than the {MOST_SCALARS:,} allowed")
    return factory, checked
