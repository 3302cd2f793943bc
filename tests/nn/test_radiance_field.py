"""Radiance fields: sizes, files, directions, and exact derivatives of density."""

from __future__ import annotations

import pytest
import torch

import staf
from staf.nn import NETWORKS, SCENE_NETWORKS, build, parameter_roles
from staf.nn.networks import model_of
from staf.nn.radiance_field import SphericalHarmonics
from staf.storage import file

SMALL = {
    "radiance": {"width": 12, "depth": 2, "features": 5},
    "radiance_grid": {"width": 8, "features": 4, "levels": 2, "log2_entries": 6, "coarsest": 3, "finest": 6},
}
every = pytest.mark.parametrize("name", SCENE_NETWORKS)
LAYERS = [model for model, spec in NETWORKS.items() if spec.scene]


def small(name, generator, **arguments):
    return SCENE_NETWORKS[name].factory(6, 4, **{**SMALL[name], **arguments}, generator=generator)


def points(count=9):
    drawn = torch.rand(count, 6, generator=torch.Generator().manual_seed(3)) * 1.8 - 0.9
    return torch.cat([drawn[:, :3], torch.nn.functional.normalize(drawn[:, 3:], dim=-1)], -1)


def test_the_papers_size():
    # Three layers of 128 for density and 128 features, three of 128 for colour.
    position = 3 * 128 + 128 + 2 * (128 * 128 + 128) + 128 * 129 + 129
    colour = 131 * 128 + 128 + 2 * (128 * 128 + 128) + 128 * 3 + 3
    assert sum(p.numel() for p in staf.radiance(6, 4, activation="siren").parameters()) == position + colour


@every
@pytest.mark.parametrize("model", LAYERS)
def test_layers_of_every_network_that_has_settings_for_scenes(name, model, generator, tmp_path):
    arguments = {**NETWORKS[model].scene[name].constants}
    field = small(name, generator, **arguments)
    values = field(points())
    assert values.shape == (9, 4)
    assert (values[:, 0] > 0).all()
    assert (values[:, 1:].abs() <= 1).all()
    torch.testing.assert_close(field.density(points()[:, :3]), values[:, 0])
    assert model_of(field.architecture) == model
    file.save_field(tmp_path / "f.safetensors", field, {})
    again, _ = file.load_field(tmp_path / "f.safetensors")
    torch.testing.assert_close(again(points()), values)
    assert again.architecture == field.architecture


@every
def test_an_architecture_is_checked(name):
    with pytest.raises(ValueError, match="in_features must be from 6 to 6, got 3"):
        build({"name": name, "arguments": {"in_features": 3, "out_features": 4}})
    with pytest.raises(ValueError, match="activation is 'tanh'"):
        build({"name": name, "arguments": {"in_features": 6, "out_features": 4, "activation": "tanh"}})


@every
@pytest.mark.parametrize("directions", ["plain", "harmonics", "frequencies"])
def test_colour_follows_the_direction_and_density_does_not(name, directions, generator):
    field = small(name, generator, activation="siren", directions=directions)
    one, other = points(), points()
    other[:, 3:] = -other[:, 3:]
    torch.testing.assert_close(field(one)[:, 0], field(other)[:, 0])
    assert (field(one)[:, 1:] - field(other)[:, 1:]).abs().max() > 1e-5


def test_harmonics_are_orthonormal_on_the_sphere():
    direction = torch.nn.functional.normalize(
        torch.randn(50_000, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), dim=-1
    )
    values = SphericalHarmonics()(direction)
    products = values.T @ values / len(direction) * 4 * torch.pi
    assert (products - torch.eye(16)).abs().max() < 0.04


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("radiance", {"activation": "staf"}), ("radiance_grid", {"activation": "siren", "interpolation": "smoothstep"})],
)
def test_normals_have_exact_derivatives(name, arguments, generator):
    """First and second derivatives of density by position, which normals and their curvature need."""
    field = small(name, generator, **arguments).double()
    table = dict(field.named_parameters()).get("position.encoding.table")
    if table is not None:
        torch.nn.init.uniform_(table, -0.5, 0.5, generator=generator)
    at = points(2)[:, :3].double().requires_grad_()
    assert torch.autograd.gradcheck(field.density, (at,))
    assert torch.autograd.gradgradcheck(field.density, (at,))


def test_roles(generator):
    roles = parameter_roles(small("radiance_grid", generator, activation="staf"))
    assert roles["position.encoding.table"] == "table"
    assert roles["colour.layers.1.weight"] == "matrix"
    assert roles["colour.activations.0.frequency"] == "frequency"
