"""The published schedules: every network as the paper or its released code trains STAF, with its own constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from staf.planning import Plan
    from staf.training import Recipe

PROTOCOLS = ("ours", "paper", "released")
MODELS = ("staf", "siren", "finer", "wire", "gauss", "ffn", "pemlp", "mfn", "incode")
SINES = ("staf", "siren", "finer", "wire", "incode")


def paper_plan(
    signal: Any,
    model: str,
    staf_plan: Callable[[Any], Plan],
    *,
    recipe: Recipe | None = None,
    sines: Mapping[str, float] | None = None,
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> Plan:
    """The published schedule for every network: STAF as `staf_plan` builds it, the others with their own constants.

    `sines` are the constants that the task gives to networks of sines, `own` those it gives to networks by name. On
    CUDA the hidden products are split bfloat16, whose final quality is that of float32 (docs/recipes.md).
    """
    from staf.nn import NETWORKS
    from staf.planning import Plan

    chosen = staf_plan(signal)
    recipe = (recipe or chosen.recipe).replace(precision="bf16x3")
    if model == "staf":
        return Plan(chosen.field_factory, recipe, chosen.reasons, chosen.name)
    arguments: dict[str, Any] = {**(sines or {})} if model in SINES else {}
    arguments |= (own or {}).get(model, {})

    def factory(generator: Any) -> Any:
        return NETWORKS[model].factory(signal.in_features, signal.out_features, generator=generator, **arguments)

    return Plan(factory, recipe, {"network": f"{model} under {chosen.name}'s schedule"}, chosen.name)
