"""What a user types at a prompt: modules, arrays, devices, figures."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import staf


@pytest.fixture(scope="module")
def fit():
    picture = np.random.default_rng(0).random((6, 5)).astype(np.float32)
    field = staf.siren(2, 1, width=8, depth=2, generator=torch.Generator().manual_seed(0))
    return staf.fit(picture, field=field, steps=3, device="cpu", progress=False)


POINTS = np.array([[0.0, 0.5], [-1.0, 1.0]])


def test_a_fitted_field_is_a_module(fit, tmp_path):
    field = fit.field
    assert isinstance(field, nn.Module)
    other = staf.load(fit.save(tmp_path / "f.safetensors"))
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.load_state_dict(field.state_dict())
    assert torch.equal(other(POINTS), field(POINTS))
    larger = nn.Sequential(field, nn.Linear(1, 4))
    assert larger(torch.zeros(3, 2)).shape == (3, 4)


def test_a_network_is_not_saved_as_a_picture(fit, tmp_path):
    with pytest.raises(ValueError, match=r"must end in .safetensors, got .*x.png.*writes the picture"):
        fit.save(tmp_path / "x.png")


def test_names_are_completed_and_one_folder_is_not_a_list():
    assert {"staf", "kan", "relu", "fit"} <= set(dir(staf))
    with pytest.raises(TypeError, match="sources must be a list of files or signals, got 'photos'"):
        staf.fit_many("photos")


def test_arrays_are_coordinates(fit):
    tensor = torch.from_numpy(POINTS)
    assert torch.equal(fit.field(POINTS), fit.field(tensor))
    assert torch.equal(fit.field.predict(POINTS), fit.field.predict(tensor))
    assert torch.equal(fit.field.gradient(POINTS), fit.field.gradient(tensor))
    assert fit.field.laplacian(POINTS).shape == (2, 1)


def test_derivatives_name_the_shape_of_coordinates_and_take_whole_numbers(fit):
    for name in ("gradient", "divergence", "laplacian"):
        for wrong in (np.zeros((5, 3)), np.zeros(2)):
            with pytest.raises(
                ValueError, match=rf"must have shape \(n, 2\), got \({', '.join(map(str, wrong.shape))}"
            ):
                getattr(fit.field, name)(wrong)
    whole = np.array([[0, 1], [-1, 0]])
    assert torch.equal(fit.field.gradient(whole), fit.field.gradient(whole.astype(np.float32)))


@pytest.mark.parametrize("size", [(3.5, 3), (0, 3), (3,), (3, 3, 3), ("3", 3)])
def test_a_rendering_has_whole_pixels(fit, size):
    with pytest.raises(ValueError, match=r"size must be \(width, height\) in whole pixels, at least one, got \("):
        fit.render(size=size)
    assert fit.render(size=(np.int64(3), 2)).shape == (2, 3)


class Pair(nn.Linear):
    def forward(self, x):
        return super().forward(x), x


@pytest.mark.parametrize(
    ("field", "error", "message"),
    [
        (nn.Identity(), ValueError, "field must have trainable parameters, got a module without any"),
        (nn.Linear(2, 1).requires_grad_(False), ValueError, "field must have trainable parameters"),
        (Pair(2, 1), TypeError, r"must return a tensor \(n, 1\), got tuple"),
    ],
)
def test_modules_that_cannot_be_fitted_are_refused_before_training(field, error, message):
    with pytest.raises(error, match=message):
        staf.fit(np.eye(4, dtype=np.float32), field=field, steps=1, progress=False)


def test_a_task_that_lacks_something_is_told_what():
    class Mine:
        in_features, out_features, points = 2, 1, 9

        def loss(self, field, batch):
            return field(batch.coordinates).square().mean()

    with pytest.raises(TypeError, match="has a loss, as a task, and lacks batch, evaluate, metadata, observation, to:"):
        staf.fit(Mine(), steps=1, progress=False)


def test_what_is_given_in_place_of_another_is_named(fit, tmp_path):
    picture = staf.Image(np.zeros((3, 4), np.uint8))
    with pytest.raises(TypeError, match="signal must be a Shape, got Image"):
        staf.Occupancy(picture)
    with pytest.raises(TypeError, match=r"signal must be a PointCloud, got Image; PointCloud.sampled makes one"):
        staf.SignedDistance(picture)
    with pytest.raises(TypeError, match="got FittedField: pass its module"):
        staf.theory.kronecker_equivalent(fit.field)
    with pytest.raises(ValueError, match=f"checkpoint must be a file, got the folder '{tmp_path}'"):
        staf.fit(picture, steps=1, checkpoint=tmp_path, progress=False)


def test_dtypes_work_or_are_refused(fit, tmp_path):
    field = staf.load(fit.save(tmp_path / "f.safetensors"))
    double = field.to(torch.float64)
    assert double is field
    assert double(POINTS).dtype == torch.float64
    assert torch.allclose(double(POINTS).float(), fit.field(POINTS), atol=1e-4)
    for change in (lambda: field.to(torch.float16), field.half, field.bfloat16):
        with pytest.raises(TypeError, match="dtype must be"):
            change()
    assert field.to("cpu") is field


@pytest.mark.parametrize("device", ["mps", "meta", "nonsense", "xpu:3"])
def test_a_device_that_is_not_there(device):
    with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'cuda:N', got"):
        staf.fit(np.eye(4, dtype=np.float32), steps=1, device=device, progress=False)


@pytest.mark.parametrize("device", ["mps", "meta", "nonsense"])
def test_a_field_is_not_moved_to_a_device_that_is_not_there(fit, device):
    with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'cuda:N', got"):
        fit.to(device)


@pytest.mark.parametrize("seed", [1.5, None, "3", True, 2**70])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match="seed must be a whole number from"):
        staf.fit(np.eye(4, dtype=np.float32), steps=1, seed=seed, progress=False)
    with pytest.raises(ValueError, match="seed must be a whole number from"):
        staf.fit_many([np.eye(4, dtype=np.float32)], steps=1, seed=seed, progress=False)


def test_a_seed_may_come_from_numpy():
    field = staf.siren(2, 1, width=4, depth=1)
    assert staf.fit(np.eye(4, dtype=np.float32), field, steps=1, seed=np.int64(3), progress=False).result.seed == 3


def test_plot_and_report(fit, tmp_path):
    assert fit.plot().axes[0].lines
    page = fit.report(tmp_path / "page.html").read_text("utf-8")
    assert "dB" in page
    assert str(tmp_path) not in page


def test_a_network_given_by_hand_has_its_own_rates():
    picture = np.random.default_rng(0).random((6, 5)).astype(np.float32)
    rates = {}
    for make in (staf.staf, staf.siren, staf.ffn):
        field = make(2, 1, width=8, depth=2, generator=torch.Generator().manual_seed(0))
        fit = staf.fit(picture, field=field, steps=1, device="cpu", progress=False)
        rates[make.__name__] = fit.recipe.rate
    assert rates == {name: staf.nn.NETWORKS[name].rates.full_batch for name in rates}
    assert len(set(rates.values())) == 3


def test_a_fitted_field_is_trained_further(fit):
    picture = np.random.default_rng(0).random((6, 5)).astype(np.float32)
    again = staf.fit(picture, field=fit.field, steps=1, device="cpu", progress=False)
    assert again.module is fit.module


def test_dir_shows_the_surface():
    assert dir(staf) == sorted(staf.__all__)


def test_a_fit_can_be_pickled(fit):
    other = pickle.loads(pickle.dumps(fit))
    assert torch.equal(other.field(POINTS), fit.field(POINTS))
    assert other.metrics == fit.metrics


def test_results_are_short_at_a_prompt(fit):
    assert repr(fit.plan) == str(fit.plan)
    assert "0x" not in repr(fit.plan)
    many = staf.fit_many([np.zeros((4, 4, 3), np.float32)] * 3, steps=1, progress=False)
    assert repr(many) == f"ManyFits(3 fits, mean psnr {many.mean_psnr:.2f})"


def test_a_module_names_what_is_no_tensor():
    # Apart, since the shape checks of the tests would refuse it first.
    script = """
import numpy as np, staf
for module in (staf.siren(2, 1), staf.mfn(2, 1), staf.SineSeries()):
    for given in (np.zeros((3, 2)), [[0.0, 0.5]]):
        try:
            module(given)
        except TypeError as error:
            print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.count("must be a tensor, got ndarray") == 3, done.stderr
    assert done.stdout.count("must be a tensor, got list") == 3
