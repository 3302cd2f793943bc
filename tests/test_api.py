from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Image
from staf.storage import FileError
from staf.training import Interrupted, Recipe, predictor


def gradient_image(height=9, width=12):
    y, x = np.meshgrid(np.linspace(0, 1, height), np.linspace(0, 1, width), indexing="ij")
    return (np.stack([x, y, 1 - x], axis=-1) * 255).astype(np.uint8)


def small(channels=3):
    return staf.siren(2, channels, width=16, depth=2, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def fitted():
    return staf.fit(gradient_image(), small(), Recipe(steps=300, rate=3e-3), progress=False)


def test_a_fit_has_numbers_pictures_and_a_file(fitted, tmp_path):
    assert fitted.metrics["psnr"] > 30
    assert fitted.stopped == "finished"
    assert fitted.reconstruction.array.shape == (9, 12, 3)
    assert fitted.reconstruction.array.dtype == np.uint8
    assert fitted.render(scale=4).array.shape == (36, 48, 3)
    field = staf.load(fitted.save(tmp_path / "photo.safetensors"))
    assert np.array_equal(field.render().array, fitted.reconstruction.array)
    assert field.metadata["metrics"]["psnr"] == fitted.metrics["psnr"]
    assert field.metadata["versions"]["staf"] == staf.__version__
    assert "siren" in repr(field)
    assert "psnr" in repr(fitted)


@pytest.mark.parametrize(
    ("make", "features"),
    [
        (lambda: Image(gradient_image()), (2, 3)),
        (lambda: Image(100 + 50 * gradient_image().astype(np.float32)), (2, 3)),
        (lambda: staf.Audio(np.sin(np.arange(500) * 0.2), rate=1000), (1, 1)),
        (lambda: staf.Shape.sphere(resolution=12), (3, 1)),
    ],
    ids=["8 bits", "floats", "audio", "shape"],
)
def test_one_pass_measures_and_reconstructs(make, features):
    source = make()
    field = staf.siren(*features, width=16, depth=2, omega0=5.0, generator=torch.Generator().manual_seed(0))
    looked_at = []
    field.register_forward_hook(
        lambda module, given, made: None if torch.is_grad_enabled() else looked_at.append(len(given[0]))
    )
    fit = staf.fit(source, field, Recipe(steps=60, rate=3e-3), progress=False)
    looked_at.clear()
    seen = fit.reconstruction
    assert looked_at == []
    again = fit.render()
    if seen.kind == "shape":
        assert np.array_equal(seen.mesh.faces, again.mesh.faces)
        np.testing.assert_allclose(seen.mesh.vertices, again.mesh.vertices, atol=1e-5)
    else:
        np.testing.assert_allclose(
            seen.array.astype(float), again.array, atol=1 if seen.array.dtype == np.uint8 else 1e-4
        )


def test_callbacks_are_one_function_or_several():
    steps, others = [], []
    staf.fit(gradient_image(), small(), steps=3, callbacks=lambda state: steps.append(state.step), progress=False)
    watchers = [lambda state: others.append(state.step)]
    staf.fit(gradient_image(), small(), steps=3, callbacks=watchers, progress=False)
    assert steps == others == [1, 2, 3]
    for wrong in ([7], 7):
        with pytest.raises(TypeError, match="callbacks must be functions of a State, got 7"):
            staf.fit(gradient_image(), small(), steps=3, callbacks=wrong, progress=False)


def test_a_budget_and_a_plan_of_something_else_are_refused():
    with pytest.raises(ValueError, match="steps must be a whole number of at least 1, got '3'"):
        staf.fit(gradient_image(), steps="3")
    with pytest.raises(ValueError, match="seconds must be a number, got '3'"):
        staf.fit(gradient_image(), seconds="3")
    with pytest.raises(TypeError, match=r"got ndarray: staf\.open makes a signal"):
        staf.plan(gradient_image())


def test_values_are_in_the_signals_own_units():
    array = 100 + 50 * gradient_image().astype(np.float32) / 255
    fit = staf.fit(array, small(), Recipe(steps=200, rate=3e-3), progress=False)
    values = fit.field.predict(fit.signal.coordinates())
    assert 95 < values.min() < values.max() < 155
    assert fit.reconstruction.array.dtype == np.float32


def test_predictions_are_the_values_in_chunks_of_any_dtype_without_gradients(fitted):
    field = fitted.field
    x = torch.rand(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1
    sizes = []
    handle = field.module.register_forward_pre_hook(lambda module, arguments: sizes.append(len(arguments[0])))
    values = field.predict(x, chunk=20)
    handle.remove()
    assert sizes == [20, 20, 10]
    assert not values.requires_grad
    torch.testing.assert_close(values, field(x).detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
def test_a_field_on_a_gpu_renders_there_and_predicts_again_what_it_predicted():
    image = Image(np.zeros((16, 16, 3), np.uint8))
    module = staf.staf(2, 3, width=32, depth=3, generator=torch.Generator().manual_seed(0))
    field = staf.FittedField(module, {"signal": image.metadata(), "convention": "centres"})
    x = torch.rand(64, 2) * 2 - 1
    on_cpu, drawn_on_cpu = field.predict(x), field.render(scale=8).array
    field.to("cuda")
    outputs = [field.predict(x) for _ in range(5)]
    assert all(torch.equal(out, outputs[0]) for out in outputs)
    torch.testing.assert_close(outputs[0].cpu(), on_cpu, rtol=1e-3, atol=1e-3)
    apart = np.abs(field.render(scale=8).array.astype(int) - drawn_on_cpu.astype(int))
    assert apart.max() <= 1


def test_gradients_agree_with_finite_differences(fitted):
    point = torch.tensor([[0.1, -0.3]])
    exact = fitted.field.gradient(point)
    assert exact.shape == (1, 3, 2)
    # One pixel is 2/9 of a unit down and 2/12 of a unit to the right.
    for axis, pixel in ((0, 2 / 9), (1, 2 / 12)):
        step = torch.zeros(1, 2)
        step[0, axis] = 1e-3
        difference = (fitted.field(point + step) - fitted.field(point - step)).detach() / 2e-3 * pixel
        torch.testing.assert_close(exact[0, :, axis], difference[0], atol=1e-3, rtol=1e-2)


def test_tasks_of_your_own_are_fitted_but_not_rendered():
    class Parabola(staf.Reconstruction):
        def metadata(self):
            return {"task": "mine"}

    fit = staf.fit(Parabola(Image(gradient_image())), small(), Recipe(steps=2), progress=False)
    with pytest.raises(staf.SignalError, match="no signal to render"):
        fit.render()


def test_a_budget_changes_a_recipe():
    fit = staf.fit(gradient_image(), small(), Recipe(epochs=5, batch=50), steps=3, progress=False)
    assert fit.result.steps == 3
    assert fit.recipe.epochs is None


def test_the_wrong_field_is_named():
    with pytest.raises(ValueError, match="maps 2 coordinates to 1 values, and the signal needs 2 to 3"):
        staf.fit(gradient_image(), small(1), Recipe(steps=1), progress=False)


def test_a_missing_device_is_named():
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ValueError, match="CUDA is not available"):
        staf.fit(gradient_image(), device="cuda")


def test_the_papers_convention_reaches_the_file(tmp_path):
    recipe = staf.recipes.paper_kodak().replace(steps=2)
    fit = staf.fit(gradient_image(), small(), recipe, progress=False)
    assert staf.load(fit.save(tmp_path / "f.safetensors")).convention == "ends"


def test_the_plan_is_used_when_nothing_is_given():
    fit = staf.fit(np.full((4, 4), 7, np.uint8), steps=2, progress=False)
    assert fit.module.architecture["name"] == "staf"
    assert fit.plan.reasons


def test_what_is_no_field_or_recipe_is_named():
    with pytest.raises(TypeError, match="field must be a module"):
        staf.fit(gradient_image(), "siren", progress=False)
    with pytest.raises(TypeError, match="recipe must be a Recipe"):
        staf.fit(gradient_image(), small(), "paper", progress=False)


def test_resuming_with_another_budget_is_refused(tmp_path):
    path = tmp_path / "c.safetensors"

    def interrupt(state):
        if state.step == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        staf.fit(gradient_image(), small(), steps=6, callbacks=[interrupt], checkpoint=path, progress=False)
    with pytest.raises(FileError, match="steps=6, got steps=60"):
        staf.fit(gradient_image(), small(), steps=60, resume=path, progress=False)
    assert staf.fit(gradient_image(), small(), steps=6, resume=path, progress=False).result.steps == 6


def test_a_module_with_dropout_and_statistics_is_measured_as_it_will_be_used(tmp_path):
    def build():
        layers = [torch.nn.Linear(2, 16), torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 3)]
        return torch.nn.Sequential(*layers)

    fit = staf.fit(gradient_image(), build().eval(), Recipe(steps=5), progress=False)
    assert fit.module[1].num_batches_tracked == 5
    loaded = staf.load(fit.save(tmp_path / "f.safetensors"), module=build())
    assert fit.task.evaluate(predictor(loaded.module, 2**14)) == fit.metrics
    assert torch.equal(loaded.predict(fit.signal.coordinates()), fit.field.predict(fit.signal.coordinates()))


@pytest.mark.parametrize("name", ["kind", "format", "architecture", "recipe"])
def test_the_metadata_of_a_task_cannot_take_the_names_of_the_file(name):
    class Own(staf.Reconstruction):
        def metadata(self):
            return {**super().metadata(), name: "mine"}

    own = Own(staf.open(np.zeros((4, 4), np.uint8)))
    with pytest.raises(ValueError, match=f"Own must not use the reserved name '{name}'"):
        staf.fit(own, steps=1, progress=False)
