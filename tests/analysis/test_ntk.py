"""The empirical NTK against the definition: the Jacobian from torch.autograd, row by row, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import staf.analysis.per_point as per_point
from staf.analysis import empirical_ntk, selected_parameters
from staf.api import FittedField
from staf.nn import SineSeries, ffn, finer, gauss, mfn, ngp, siren, staf, wire
from staf.theory.dual import SineSeriesDual
from staf.theory.kernels import nngp_ntk, shared_sinusoid_kernel

N, CHANNELS = 37, 2

NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "staf": staf,
    "staf neuron": lambda *a, **k: staf(*a, sharing="neuron", **k),
    "staf network": lambda *a, **k: staf(*a, sharing="network", **k),
    "staf skip": lambda *a, **k: staf(*a, skip=True, **k),
    "siren": siren,
    "finer": finer,
    "gauss": gauss,
    "ffn": ffn,
    "wire": wire,
    "wire planar": lambda *a, **k: wire(*a, planar=True, **k),
    "mfn": mfn,
    "ngp": lambda *a, **k: ngp(*a, levels=3, log2_entries=6, **k),
}


def build(name: str, dtype: torch.dtype = torch.float64, **arguments: Any) -> nn.Module:
    options = {"width": 12, "depth": 3, **arguments}
    return NETWORKS[name](2, CHANNELS, generator=torch.Generator().manual_seed(1), dtype=dtype, **options)


def points(n: int = N, d: int = 2) -> Tensor:
    return torch.rand(n, d, generator=torch.Generator().manual_seed(2), dtype=torch.float64) * 2 - 1


def brute_force(field: nn.Module, x: Tensor, parameters: list[Tensor]) -> Tensor:
    """J J^T with one backward pass per value; complex parameters as pairs of real ones."""
    rows = []
    for value in field(x).reshape(-1):
        slopes = torch.autograd.grad(value, parameters, retain_graph=True, allow_unused=True)
        filled = [torch.zeros_like(p) if s is None else s for s, p in zip(slopes, parameters, strict=True)]
        pairs = [torch.view_as_real(s.resolve_conj()) if s.is_complex() else s for s in filled]
        rows.append(torch.cat([pair.reshape(-1) for pair in pairs]))
    jacobian = torch.stack(rows)
    return jacobian @ jacobian.T


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-10) -> bool:
    return bool((found - expected).abs().max() <= tolerance * expected.abs().max())


@pytest.mark.parametrize("name", NETWORKS)
def test_equals_the_jacobian_of_autograd(name: str) -> None:
    field, x = build(name), points()
    check_all_outputs(field, x, memory=2**30)


@pytest.mark.parametrize("name", ["staf", "staf neuron", "staf network", "wire", "mfn"])
def test_blocks_of_rows_and_parameters_change_nothing(name: str) -> None:
    field, x = build(name, width=6, depth=2), points()
    check_all_outputs(field, x, memory=60_000)


def check_all_outputs(field: nn.Module, x: Tensor, memory: int) -> None:
    expected = brute_force(field, x, list(field.parameters()))
    blocks = expected.view(N, CHANNELS, N, CHANNELS)
    full = empirical_ntk(field, x, outputs="full", memory=memory)
    channels = empirical_ntk(field, x, outputs="channels", memory=memory)
    summed = empirical_ntk(field, x, memory=memory)
    assert close(full, expected)
    assert close(channels, torch.stack([blocks[:, c, :, c] for c in range(CHANNELS)]))
    assert close(summed, sum(blocks[:, c, :, c] for c in range(CHANNELS)))
    for kernel in (full, *channels, summed):
        assert torch.equal(kernel, kernel.T)


@pytest.mark.parametrize("roles", ["weights", "activations", ("amplitude",), ("matrix",), ("other", "phase")])
@pytest.mark.parametrize("name", ["staf", "staf neuron", "staf network"])
def test_roles_select_parameters(name: str, roles: Any) -> None:
    field, x = build(name), points(11)
    expected = brute_force(field, x, list(selected_parameters(field, roles).values()))
    assert close(empirical_ntk(field, x, outputs="full", roles=roles), expected)


def test_roles_add_up() -> None:
    field, x = build("staf"), points(11)
    parts = [empirical_ntk(field, x, roles=roles) for roles in ("weights", "activations")]
    assert close(parts[0] + parts[1], empirical_ntk(field, x))


def test_frozen_parameters_do_not_count() -> None:
    field, x = build("siren"), points(9)
    field.get_submodule("layers.1").requires_grad_(False)
    expected = brute_force(field, x, [p for p in field.parameters() if p.requires_grad])
    assert close(empirical_ntk(field, x, outputs="full"), expected)


@pytest.mark.parametrize("name", ["staf", "wire", "mfn"])
def test_float32_and_a_chosen_dtype(name: str) -> None:
    field, x = build(name, torch.float32), points(20).float()
    single = empirical_ntk(field, x)
    double = empirical_ntk(field, x, dtype=torch.float64)
    assert (single.dtype, double.dtype) == (torch.float32, torch.float64)
    assert next(field.parameters()).dtype == torch.float32
    assert torch.equal(single, single.T)
    assert close(single.double(), double, 1e-3)
    assert close(double, empirical_ntk(field.double(), x))


def test_audio_has_one_coordinate() -> None:
    field = staf(1, 1, width=8, omega0=3000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = torch.linspace(-1, 1, 23, dtype=torch.float64)[:, None]
    assert close(empirical_ntk(field, x), brute_force(field, x, list(field.parameters())))


class Awkward(nn.Module):
    """Weights tied, rescaled, read without a call, and a layer that sees no points; a working-in-place activation."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(2, 6)
        self.relu = nn.ReLU(inplace=True)
        self.tied = nn.Linear(6, 6)
        self.twin = nn.Linear(6, 6)
        self.twin.weight = self.tied.weight
        self.read = nn.Linear(6, 6)
        self.style = nn.Linear(3, 6)
        self.parametrised = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6)).eval()
        self.output = nn.Linear(6, CHANNELS)

    def forward(self, x: Tensor) -> Tensor:
        z = self.relu(self.first(x))
        z = torch.sin(self.twin(torch.sin(self.tied(z))))
        z = torch.sin(z @ self.read.weight.T + self.read(z))
        z = z * self.style(torch.ones(1, 3, dtype=x.dtype))
        return self.output(torch.sin(self.output.weight.sum() * self.parametrised(z)))


@pytest.mark.parametrize("n", [1, 2, 9])
def test_any_module_however_it_uses_its_weights(n: int) -> None:
    field, x = Awkward().double(), points(n)
    expected = brute_force(field, x, list(field.parameters()))
    assert close(empirical_ntk(field, x, outputs="full"), expected)
    assert close(empirical_ntk(field, x, outputs="full", memory=5_000), expected)


def test_linear_layers_are_factored_and_not_differentiated_point_by_point(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    original = per_point.per_point_jacobian

    def spy(field: nn.Module, parameters: dict[str, Any], *rest: Any) -> Tensor:
        seen.extend(parameters)
        return original(field, parameters, *rest)

    monkeypatch.setattr("staf.analysis.ntk.per_point_jacobian", spy)
    empirical_ntk(build("siren"), points(9))
    assert seen == []
    empirical_ntk(build("staf"), points(9))
    assert {name.rsplit(".", 1)[1] for name in seen} == {"amplitude", "frequency", "phase"}


class Storages(TorchDispatchMode):
    """Remembers the address and size of every storage made."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int, int]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else [out]:
            if isinstance(tensor, Tensor):
                storage = tensor.untyped_storage()
                self.seen.append((storage.data_ptr(), storage.nbytes()))
        return out


@pytest.mark.parametrize("name", ["staf", "staf neuron", "mfn"])
def test_temporaries_stay_within_memory(name: str) -> None:
    field, x, memory = build(name, width=10, depth=2), points(200), 300_000
    kernels, largest = [], []
    for bound in (memory, 2**30):
        with Storages() as storages:
            kernel = empirical_ntk(field, x, memory=bound)
        own = kernel.untyped_storage().data_ptr()
        kernels.append(kernel)
        largest.append(max(size for address, size in storages.seen if address != own))
    assert largest[0] <= memory < largest[1]
    assert close(kernels[0], kernels[1], 1e-12)


class Scaled(nn.Module):
    """One hidden layer in the NTK parametrisation."""

    def __init__(self, series: SineSeriesDual, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = nn.Linear(2, width, bias=False, dtype=torch.float64)
        self.output = nn.Linear(width, 1, bias=False, dtype=torch.float64)
        self.activation = SineSeries(terms=len(series.amplitude), dtype=torch.float64)
        with torch.no_grad():
            for name in ("amplitude", "frequency", "phase"):
                getattr(self.activation, name).copy_(getattr(series, name))
            for layer in (self.first, self.output):
                layer.weight.copy_(torch.randn(layer.weight.shape, generator=generator, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.activation(self.first(x)) / math.sqrt(self.first.out_features))


def test_wide_network_has_the_analytic_kernel() -> None:
    """Mean of 24 draws of width 512: the kernel of one hidden layer is unbiased. Tolerances: four standard errors."""
    series = SineSeriesDual(torch.tensor([0.9, -0.7]), torch.tensor([0.6, 1.7]), torch.tensor([0.4, -1.2]))
    angle = torch.linspace(0, 3, 5, dtype=torch.float64)
    x = torch.stack([angle.cos(), angle.sin()], 1)
    generator = torch.Generator().manual_seed(0)
    fields = [Scaled(series, 512, generator) for _ in range(24)]
    analytic = nngp_ntk(x, [series]).ntk
    weights = torch.stack([empirical_ntk(field, x, roles="weights") for field in fields])
    assert ((weights.mean(0) - analytic).abs() <= 4 * weights.std(0) / math.sqrt(len(fields))).all()
    assert close(weights.mean(0), analytic, 0.06)
    correlation = x @ x.T
    one = torch.ones_like(correlation)
    expected = shared_sinusoid_kernel(one, correlation, one, series)
    sinusoids = torch.stack([empirical_ntk(field, x, roles="activations") for field in fields])
    error = sinusoids.std(0) / math.sqrt(len(fields))
    assert ((sinusoids.mean(0) - expected).abs() <= 4 * error).all()


def test_the_field_is_left_alone() -> None:
    field, x = build("staf"), points(5)
    before = {name: value.clone() for name, value in field.state_dict().items()}
    with torch.no_grad():
        empirical_ntk(field, x)
    assert all(torch.equal(before[name], value) for name, value in field.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in field.parameters())
    assert all(not module._forward_hooks for module in field.modules())


def test_a_fitted_field_is_its_module() -> None:
    field, x = build("siren"), points(5)
    assert torch.equal(empirical_ntk(FittedField(field, {}), x), empirical_ntk(field, x))


def test_refusals() -> None:
    field, x = build("siren"), points(4)
    with pytest.raises(ValueError, match="outputs must be"):
        empirical_ntk(field, x, outputs="diagonal")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"coordinates must have shape \(n, d\)"):
        empirical_ntk(field, x[:0])
    with pytest.raises(ValueError, match="no trained parameter of roles 'activations'"):
        empirical_ntk(field, x, roles="activations")
    with pytest.raises(ValueError, match="roles must be one of all, weights, activations"):
        empirical_ntk(field, x, roles="biases")
    with pytest.raises(ValueError, match="memory must be"):
        empirical_ntk(field, x, memory=0)
    with pytest.raises(TypeError, match="float32 or float64"):
        empirical_ntk(build("siren").half(), x)
    with pytest.raises(TypeError, match=r"field must be an nn\.Module"):
        empirical_ntk("siren", x)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["staf", "staf neuron", "wire", "mfn"])
def test_on_a_gpu(name: str) -> None:
    field, x = build(name), points()
    expected = empirical_ntk(field, x)
    found = empirical_ntk(field.cuda(), x)
    assert found.is_cuda
    assert close(found.cpu(), expected)
