"""What every network must do, one parametrised test each."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jvp, vmap

from staf.nn import NETWORKS, build, parameter_roles
from tests.nn.networks import IN, OUT, VARIANTS, bound, make, points

every = pytest.mark.parametrize("variant", VARIANTS)


def same_state(first: nn.Module, second: nn.Module) -> bool:
    a, b = first.state_dict(), second.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


@every
def test_maps_coordinates_to_values(variant: str) -> None:
    field = make(variant)
    for count in (0, 1, 9):
        values = field(points(count))
        assert values.shape == (count, OUT)
        assert values.dtype == torch.float32
        assert torch.isfinite(values).all()
    assert field(points())[:, 0].std() > 1e-4


@every
def test_refuses_coordinates_of_the_wrong_dimension(variant: str) -> None:
    with pytest.raises(ValueError, match=f"last dimension {IN}"):
        make(variant)(torch.zeros(4, IN + 1))


@every
def test_state_dict_round_trip_restores_the_function(variant: str) -> None:
    field, other = make(variant, seed=0), make(variant, seed=1)
    assert not torch.equal(field(points()), other(points()))
    other.load_state_dict(field.state_dict())
    assert torch.equal(field(points()), other(points()))


@every
def test_state_dict_tensors_do_not_overlap(variant: str) -> None:
    pointers = [tensor.untyped_storage().data_ptr() for tensor in make(variant).state_dict().values()]
    assert len(set(pointers)) == len(pointers)


@every
def test_float64_by_argument_and_by_to(variant: str) -> None:
    built, converted = make(variant, dtype=torch.float64), make(variant).to(torch.float64)
    assert all(tensor.dtype in (torch.float64, torch.complex128) for tensor in converted.state_dict().values())
    assert built(points(dtype=torch.float64)).dtype == torch.float64
    x = points(dtype=torch.float64)
    assert torch.allclose(built(x), converted(x), atol=2e-2)
    single = make(variant)
    assert torch.allclose(single(points()).double(), converted(points().double()), atol=2e-3)
    assert same_state(converted.to(torch.float32), single)


@every
def test_to_meta_and_back_keeps_keys_and_shapes(variant: str) -> None:
    field = make(variant)
    state = {key: tensor.shape for key, tensor in field.state_dict().items()}
    meta = field.to("meta")
    assert all(tensor.is_meta for tensor in meta.state_dict().values())
    assert {key: tensor.shape for key, tensor in meta.to_empty(device="cpu").state_dict().items()} == state


@every
def test_deepcopy_is_independent(variant: str) -> None:
    field = make(variant)
    twin = copy.deepcopy(field)
    before = field(points())
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.mul_(1.5)
    assert torch.equal(field(points()), before)
    assert not torch.equal(twin(points()), before)


@every
def test_gradient_reaches_every_parameter(variant: str) -> None:
    field = make(variant, depth=4)
    field(points(64)).square().sum().backward()
    missing = [name for name, parameter in field.named_parameters() if parameter.grad is None]
    assert not missing
    assert any(parameter.grad.abs().max() > 0 for parameter in field.parameters())


@every
def test_second_gradient_matches_finite_differences(variant: str) -> None:
    field = make(variant, dtype=torch.float64)
    weight = next(parameter for name, parameter in field.named_parameters() if name.endswith("output.weight"))
    x = points(4, torch.float64).requires_grad_()

    def slope() -> Tensor:
        (first,) = torch.autograd.grad(field(x).sum(), x, create_graph=True)
        return first.square().sum()

    (analytic,) = torch.autograd.grad(slope(), weight)
    direction = torch.ones_like(weight)
    step = 1e-4
    with torch.no_grad():
        weight.add_(direction, alpha=step)
    high = slope().item()
    with torch.no_grad():
        weight.add_(direction, alpha=-2 * step)
    low = slope().item()
    expected = (high - low) / (2 * step)
    assert expected != 0
    assert analytic.real.sum().item() == pytest.approx(expected, rel=1e-5)


@every
def test_torch_func_grad_vmap_and_jvp(variant: str) -> None:
    field = make(variant, dtype=torch.float64)
    parameters = dict(field.named_parameters())
    x = points(5, torch.float64)

    def value(parameters: dict[str, Tensor], point: Tensor) -> Tensor:
        return functional_call(field, parameters, (point[None],))[0, 0]

    per_point = vmap(grad(value), in_dims=(None, 0))(parameters, x)
    for row in (0, 4):
        tensors = torch.autograd.grad(field(x)[row, 0], list(parameters.values()))
        for name, expected in zip(parameters, tensors, strict=True):
            assert torch.allclose(per_point[name][row], expected, rtol=1e-6, atol=1e-10), name

    tangent = torch.tensor([1.0, -2.0], dtype=torch.float64).expand_as(x)
    _, forward = jvp(lambda x: functional_call(field, parameters, (x,)), (x,), (tangent,))
    x.requires_grad_()
    columns = [(torch.autograd.grad(field(x)[:, c].sum(), x)[0] * tangent).sum(-1) for c in range(OUT)]
    assert forward.abs().max() > 0
    assert torch.allclose(forward, torch.stack(columns, -1), rtol=1e-8, atol=1e-9)


@every
def test_same_generator_same_bits_and_the_global_state_is_untouched(variant: str) -> None:
    before = torch.get_rng_state()
    first, second, third = make(variant), make(variant), make(variant, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert same_state(first, second)
    assert not same_state(first, third)
    assert torch.equal(first(points()), second(points()))


@every
def test_architecture_rebuilds_the_network(variant: str) -> None:
    field = make(variant)
    text = json.dumps(field.architecture)
    rebuilt = build(json.loads(text))
    assert rebuilt.architecture == field.architecture
    shapes = {key: tensor.shape for key, tensor in field.state_dict().items()}
    assert {key: tensor.shape for key, tensor in rebuilt.state_dict().items()} == shapes
    rebuilt.load_state_dict(field.state_dict())
    assert torch.equal(bound(rebuilt)(points()), field(points()))


@every
@pytest.mark.parametrize("way", ["argument", "context"])
def test_building_on_meta_allocates_and_draws_nothing(variant: str, way: str) -> None:
    architecture = make(variant).architecture
    before = torch.get_rng_state()
    if way == "argument":
        field = build(architecture, device="meta")
    else:
        with torch.device("meta"):
            field = build(architecture)
    assert all(tensor.is_meta for tensor in [*field.parameters(), *field.buffers()])
    assert torch.equal(torch.get_rng_state(), before)


@every
def test_under_autocast_the_coordinates_keep_their_precision(variant: str) -> None:
    """Points that bfloat16 rounds to two stay apart: near 0.5, or near 64 where an activation is slower there."""
    if variant in ("relu", "kan"):
        pytest.skip("no steep first layer: the later ones, in bfloat16, round what it keeps apart")
    field = make(variant)
    distinct = []
    for anchor in (0.5, 64.0):
        x = torch.full((64, IN), anchor)
        x[:, 0] += torch.linspace(0, 0.0035 * 2 * anchor, 64)
        assert len(x.bfloat16().unique(dim=0)) == 2
        with torch.autocast("cpu", dtype=torch.bfloat16):
            distinct.append(len(field(x).float().unique(dim=0)))
    assert max(distinct) > 2


@every
def test_every_parameter_has_a_role_and_matrices_are_real_and_square(variant: str) -> None:
    field = make(variant, depth=4)
    roles = parameter_roles(field)
    named = dict(field.named_parameters())
    assert roles.keys() == named.keys()
    matrices = [named[name] for name, role in roles.items() if role == "matrix"]
    assert len(matrices) == (0 if variant.startswith("wire") else 3)
    # Of a KAN, a matrix has a column for each polynomial of each neuron.
    columns = 12 * 5 if variant == "kan" else 12
    assert all(weight.shape == (12, columns) and not weight.is_complex() for weight in matrices)


OPTIONS: list[tuple[str, str, Any]] = [
    *[(variant, option, value) for variant in VARIANTS if "-" not in variant
      for option, value in (("width", 16), ("depth", 2))],
    ("staf", "terms", 3),
    ("staf", "omega0", 31.0),
    ("staf", "hidden_omega0", 31.0),
    ("staf", "law", "theorem"),
    ("staf", "law", "released"),
    ("staf", "extra_amplitude", 0.2),
    ("staf", "spread", "random"),
    ("staf", "weights", "torch"),
    ("staf", "weights", "unit_gain"),
    ("staf", "sharing", "neuron"),
    ("staf", "sharing", "network"),
    ("staf", "skip", True),
    ("staf", "train", ("phase",)),
    ("siren", "omega0", 31.0),
    ("siren", "hidden_omega0", 31.0),
    ("finer", "omega0", 31.0),
    ("finer", "hidden_omega0", 31.0),
    ("finer", "first_bias", 1.0),
    ("wire", "omega0", 31.0),
    ("wire", "hidden_omega0", 31.0),
    ("wire", "sigma0", 11.0),
    ("wire", "planar", True),
    ("gauss", "sigma", 11.0),
    ("ffn", "features", 17),
    ("ffn", "scale", 11.0),
    ("ffn-bands", "bands", 6),
    ("pemlp", "bands", 6),
    ("mfn", "filters", "fourier"),
    ("mfn", "input_scale", 33.0),
    ("mfn", "weight_scale", 2.0),
    ("mfn", "alpha", 5.0),
    ("mfn", "beta", 2.0),
    ("incode", "omega0", 31.0),
    ("incode", "hidden_omega0", 31.0),
    ("incode", "harmoniser", "audio"),
    ("ffn", "sigmoid", True),
    ("kan", "degree", 5),
    ("incode", "harmoniser", None),
    ("incode", "harmoniser", "denoising"),
    ("incode-audio", "sample_rate", 16000),
    ("incode", "head_bias", 0.5),
    ("ngp", "activation", "siren"),
    ("ngp", "levels", 2),
    ("ngp", "features", 4),
    ("ngp", "log2_entries", 5),
    ("ngp", "coarsest", 4),
    ("ngp", "finest", 13),
    ("ngp", "proportions", (1.0, 2.0)),
    ("ngp", "interpolation", "linear"),
    ("ngp-staf", "omega0", 31.0),
    ("ngp-staf", "terms", 3),
    ("ngp-gauss", "sigma", 11.0),
]  # fmt: skip


@pytest.mark.parametrize(("variant", "option", "value"), OPTIONS)
def test_no_option_without_effect(variant: str, option: str, value: Any) -> None:
    field, changed = make(variant), make(variant, **{option: value})
    trained = [name for name, _ in field.named_parameters()]
    assert trained != [name for name, _ in changed.named_parameters()] or not torch.equal(
        field(points()), changed(points())
    )
    assert field.architecture != changed.architecture


def test_the_penalty_weights_have_an_effect() -> None:
    fields = [make("incode", head_bias=-0.5, penalty=weights) for weights in ((1, 0, 0, 0), (0, 0, 0, 2))]
    assert [field.penalty().item() for field in fields] == pytest.approx([0.5, 1.0], rel=2e-2)


def test_every_option_of_every_factory_is_in_the_list() -> None:
    listed = {(VARIANTS[variant][0], option) for variant, option, _ in OPTIONS} | {("incode", "penalty")}
    for name, spec in NETWORKS.items():
        if any(name == known for known, _ in VARIANTS.values()):
            arguments = spec.factory(IN, OUT, device="meta").architecture["arguments"]
            assert {(name, option) for option in arguments if option not in ("in_features", "out_features")} <= listed


Fields = Callable[..., nn.Module]


@pytest.mark.parametrize("name", sorted({name for name, _ in VARIANTS.values()}))
def test_factories_begin_alike(name: str) -> None:
    factory: Fields = NETWORKS[name].factory
    with pytest.raises(TypeError, match="name the other arguments"):
        factory(2, 3, 64)
    with pytest.raises(TypeError, match="did you mean 'width'"):
        factory(2, 3, widht=64)
    with pytest.raises(ValueError, match=r"width must be from 1 to 65536, got 0"):
        factory(2, 3, width=0)
