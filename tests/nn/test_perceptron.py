"""Small networks of any activation, and their parts computed apart."""

from __future__ import annotations

import copy

import pytest
import torch

from staf.nn import CoordinateMLP
from staf.nn.encodings import FrequencyEncoding
from staf.nn.perceptron import Family, _aligned_parts, in_parts
from staf.ops import record_backends
from staf.ops.linear import product_precision

FAMILIES = {
    "staf": Family("staf", omega0=40.0, terms=3),
    "siren": Family("siren", omega0=20.0, hidden_omega0=10.0),
    "finer": Family("finer", first_bias=1.0),
    "wire": Family("wire", omega0=10.0, sigma=5.0),
    "gauss": Family("gauss", sigma=5.0),
    "relu": Family("relu"),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_activation_with_and_without_an_encoding(name, generator):
    class Doubled(torch.nn.Module):
        out_features = 6

        def forward(self, x):
            return torch.cat([x, 2 * x], -1)

    for encoding in (None, Doubled()):
        field = FAMILIES[name].network(3, 4, width=16, depth=2, encoding=encoding, generator=generator)
        values = field(torch.rand(7, 3) * 2 - 1)
        assert values.shape == (7, 4)
        values.square().sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in field.parameters())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"activation": "tanh"}, "activation is 'tanh', which is unknown"),
        ({"activation": "relu", "omega0": 5.0}, "omega0 has no effect with activation='relu'"),
        ({"activation": "siren", "sigma": 5.0}, "sigma has no effect with activation='siren'"),
        ({"activation": "siren", "terms": 2}, "terms has no effect"),
        ({"activation": "staf", "first_bias": 1.0}, "first_bias has no effect"),
    ],
)
def test_constants_of_other_activations_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Family(**arguments)


def test_parts_of_wavelets_are_those_of_the_whole(generator):
    field = FAMILIES["wire"].network(5, 7, width=8, depth=2, generator=generator)
    x, y = torch.rand(6, 3), torch.rand(6, 2)
    whole = field(torch.cat([x, y], -1))
    assert torch.equal(torch.cat(in_parts(field, (x, y), (1, 6)), -1), whole)
    (first,) = in_parts(field, (x, y), (1, 6), wanted=1)
    assert torch.equal(first, whole[:, :1])


@pytest.mark.gpu
@pytest.mark.parametrize("encoded", [False, True])
def test_parts_of_wavelets_are_one_operation_on_a_gpu(encoded, generator):
    encoding = FrequencyEncoding(5, bands=3) if encoded else None
    field = FAMILIES["wire"].network(5, 1 + 16, width=64, depth=3, encoding=encoding, generator=generator)
    x, y = torch.rand(1000, 3) * 2 - 1, torch.rand(1000, 2)
    exact = copy.deepcopy(field).double()(torch.cat([x, y], -1).double())
    field, x, y = field.cuda(), x.cuda(), y.cuda()
    for wanted in (None, 1):
        with product_precision("bf16x3"), record_backends() as ran:
            parts = in_parts(field, (x, y), (1, 16), wanted=wanted)
        assert ran == [("gabor_network", "triton")]
        assert [part.shape[1] for part in parts] == [1, 16][:wanted]
        expected = exact.split([1, 16], -1)
        for ours, theirs in zip(parts, expected, strict=False):
            assert (ours.cpu() - theirs).detach().norm() < 1e-3 * theirs.detach().norm()


@pytest.mark.parametrize("name", ["staf", "relu"])
def test_parts_are_those_of_the_whole(name, generator):
    field = FAMILIES[name].network(5, 7, width=8, depth=2, generator=generator)
    assert isinstance(field, CoordinateMLP)
    x, y = torch.rand(6, 3), torch.rand(6, 2)
    whole = field(torch.cat([x, y], -1))
    for parts in (in_parts(field, (x, y), (1, 6)), _aligned_parts(field, (x, y), (1, 6), None)):
        torch.testing.assert_close(torch.cat(parts, -1), whole)
    for parts in (in_parts(field, (x, y), (1, 6), wanted=1), _aligned_parts(field, (x, y), (1, 6), 1)):
        assert len(parts) == 1
        torch.testing.assert_close(parts[0], whole[:, :1])
    exact = torch.autograd.grad(whole.square().sum(), list(field.parameters()))
    again = torch.cat(_aligned_parts(field, (x, y), (1, 6), None), -1)
    for ours, theirs in zip(torch.autograd.grad(again.square().sum(), list(field.parameters())), exact, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["staf", "siren"])
def test_density_alone_is_one_operation_on_a_gpu(name, generator):
    field = FAMILIES[name].network(3, 1 + 16, width=128, depth=3, generator=generator)
    x = torch.rand(1000, 3, generator=torch.Generator().manual_seed(1)) * 2 - 1
    with torch.no_grad():
        exact = copy.deepcopy(field).double()(x.double())[:, :1]
        field, x = field.cuda(), x.cuda()
        with product_precision("tf32"), record_backends() as ran:
            (alone,) = in_parts(field, (x,), (1, 16), wanted=1)
            beside = in_parts(field, (x,), (1, 16))[0]
    assert ("sine_network", "triton") in ran
    for ours in (alone, beside):
        assert (ours.double().cpu() - exact).norm() < 5e-3 * exact.norm()
