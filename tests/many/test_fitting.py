from __future__ import annotations

import json
import signal

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Audio, Shape
from staf.planning import plan
from staf.training import Interrupted, train


def pictures(count, size=6):
    rng = np.random.default_rng(0)
    return [(rng.random((size, size, 3)) * 255).astype(np.uint8) for _ in range(count)]


@pytest.fixture
def small(monkeypatch):
    """Plans with small networks, so that the tests are quick."""

    def plan(signal, budget, **_):
        def factory(generator):
            return staf.staf(signal.in_features, signal.out_features, width=12, depth=2, generator=generator)

        return staf.Plan(factory, staf.recipes.default(steps=budget.steps))

    monkeypatch.setattr("staf.many.plans.make_plan", plan)


def test_each_equals_its_own_fit(small):
    images = pictures(3)
    fits = staf.fit_many(images, steps=40, progress=False, seed=2)
    for image, fit in zip(images, fits, strict=True):
        alone = staf.fit(image, plan=fit.plan, seed=2, progress=False)
        assert fit.metrics["psnr"] == pytest.approx(alone.metrics["psnr"], abs=0.3)
        assert fit.reconstruction.array.shape == image.shape


def test_pictures_of_one_size_start_alike_whatever_their_detail(tmp_path):
    """Weights of a data set are compared and stacked, so that all its networks need one architecture."""
    smooth = np.linspace(0, 255, 40, dtype=np.uint8)[None].repeat(40, 0)
    noise = np.random.default_rng(0).integers(0, 255, (40, 40), dtype=np.uint8)
    alone = [plan(staf.open(image)).field(0).architecture for image in (smooth, noise)]
    assert alone[0] != alone[1]
    staf.fit_many([smooth, noise], steps=1, progress=False, out=tmp_path / "o")
    assert len(staf.load_many(tmp_path / "o")) == 2


def test_mixed_sizes_and_channels(small):
    images = [np.zeros((4, 5, 3), np.uint8), np.ones((3, 3), np.uint8), np.full((6, 2, 3), 9, np.uint8)]
    fits = staf.fit_many(images, steps=3, progress=False)
    assert [fit.reconstruction.array.shape for fit in fits] == [(4, 5, 3), (3, 3, 1), (6, 2, 3)]


def test_a_broken_file_loses_no_other(small, tmp_path):
    good, broken = tmp_path / "a b.npy", tmp_path / "broken.png"
    np.save(good, pictures(1)[0])
    broken.write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    fits = staf.fit_many([broken, good, tmp_path / "missing.png"], steps=2, out=tmp_path / "out", progress=False)
    assert set(fits.failures) == {"broken", "missing"}
    assert fits.files["a_b"].exists()
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    assert list(index["fields"]) == ["a_b"]
    assert set(index["failures"]) == {"broken", "missing"}
    assert staf.load(fits.files["a_b"]).render().array.shape == (6, 6, 3)


def test_an_interrupted_run_goes_on_where_it_stopped(small, tmp_path, monkeypatch):
    paths = []
    for i, image in enumerate(pictures(5)):
        np.save(tmp_path / f"{i}.npy", image)
        paths.append(tmp_path / f"{i}.npy")
    trained = []
    real = train

    def stop_after_two(tasks, fields, recipe, **options):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(len(tasks))
        return real(tasks, fields, recipe, **options)

    monkeypatch.setattr("staf.many.groups.train", stop_after_two)
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        staf.fit_many(paths, steps=2, out=out, at_once=2, progress=False)
    assert len(json.loads((out / "index.json").read_text())["fields"]) == 4
    monkeypatch.setattr("staf.many.groups.train", lambda t, f, r, **o: trained.append(len(t)) or real(t, f, r, **o))
    with pytest.raises(FileExistsError, match="resume=True"):
        staf.fit_many(paths, steps=2, out=out, progress=False)
    fits = staf.fit_many(paths, steps=2, out=out, resume=True, progress=False)
    assert trained == [2, 2, 1]
    assert len(fits.files) == 5
    straight = staf.fit_many(paths, steps=2, progress=False)
    assert fits.mean_psnr == pytest.approx(straight.mean_psnr, abs=1e-3)


def test_other_data_under_the_same_name_is_fitted_again(small, tmp_path):
    np.save(tmp_path / "x.npy", pictures(1)[0])
    staf.fit_many([tmp_path / "x.npy"], steps=2, out=tmp_path / "out", progress=False)
    np.save(tmp_path / "x.npy", 255 - pictures(1)[0])
    before = (tmp_path / "out" / "fields" / "x.safetensors").read_bytes()
    staf.fit_many([tmp_path / "x.npy"], steps=2, out=tmp_path / "out", resume=True, progress=False)
    assert (tmp_path / "out" / "fields" / "x.safetensors").read_bytes() != before


def test_running_out_of_memory_halves_the_group(small, monkeypatch, capsys):
    real = train
    sizes = []

    def greedy(tasks, fields, recipe, **options):
        sizes.append(len(tasks))
        if len(tasks) > 2:
            raise torch.OutOfMemoryError("out of memory")
        return real(tasks, fields, recipe, **options)

    monkeypatch.setattr("staf.many.groups.train", greedy)
    fits = staf.fit_many(pictures(5), steps=2, progress=True)
    assert sizes == [5, 2, 2, 1]
    assert len(fits) == 5
    assert "memory ran out: continuing with 2 networks at once" in capsys.readouterr().err


def test_names_are_safe_and_unique(small, tmp_path):
    weird = tmp_path / "../evil;name é.npy"
    np.save(weird, pictures(1)[0])
    fits = staf.fit_many([weird, weird], steps=1, out=tmp_path / "out", progress=False)
    assert {path.parent for path in fits.files.values()} == {tmp_path / "out" / "fields"}
    assert list(fits.files) == ["evil_name_é", "evil_name_é-2"]


def test_resume_needs_a_folder():
    with pytest.raises(ValueError, match="out=FOLDER"):
        staf.fit_many([], resume=True)


def test_ctrl_c_says_how_many_are_done_and_how_to_go_on(small, tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise Interrupted("stopped", None, signal.SIGTERM, 1)

    monkeypatch.setattr("staf.many.groups.train", stop)
    with pytest.raises(Interrupted, match=r"SIGTERM with 0 of 2 fits done.*resume=True") as caught:
        staf.fit_many(pictures(2), steps=2, out=tmp_path / "out", progress=False)
    assert caught.value.signal_number == signal.SIGTERM
    with pytest.raises(Interrupted, match="out=FOLDER"):
        staf.fit_many(pictures(2), steps=2, progress=False)


def test_progress_counts_networks_and_times_all_of_them(monkeypatch):
    from staf.training import progress

    seen = []
    monkeypatch.setattr(
        progress.Progress, "update", lambda self, *values: seen.append((self.title, self.counted, values))
    )
    pictures = [np.full((4, 4, 3), value, dtype=np.uint8) for value in (10, 100, 200)]
    staf.fit_many(pictures, steps=2, at_once=1, progress=True)
    assert {(title, counted) for title, counted, _ in seen} == {("networks", "finished")}
    assert sorted({values[0] for _, _, values in seen}) == [0, 1, 2]
    elapsed = [values[3] for _, _, values in seen]
    assert elapsed == sorted(elapsed)
    assert elapsed[-1] > elapsed[0], "the time of the networks before counts too"


def test_each_signal_gets_its_own_task_and_measures(small):
    sphere = Shape.sphere(resolution=10)
    wave = Audio(np.sin(np.arange(200) * 0.1), rate=1000)
    fits = staf.fit_many([sphere, pictures(1)[0], wave], steps=2, progress=False)
    shape, picture, audio = fits
    assert "iou" in shape.metrics
    assert type(shape.task).__name__ == "Occupancy"
    assert "ssim" in picture.metrics
    assert "log_spectral_distance" in audio.metrics


def test_a_model_by_name_and_by_plan():
    fits = staf.fit_many(pictures(2), model="siren", steps=2, progress=False)
    assert {fit.module.architecture["name"] for fit in fits} == {"siren"}
    with pytest.raises(ValueError, match="there is no model 'siern'"):
        staf.fit_many(pictures(1), model="siern", steps=1, progress=False)
    with pytest.raises(ValueError, match="give plan or model, not both"):
        staf.fit_many(pictures(1), plan=fits[0].plan, model="siren")


def test_networks_that_read_their_signal_are_fitted_one_after_another(monkeypatch):
    sizes = []
    monkeypatch.setattr("staf.many.groups.train", lambda t, f, r, **o: sizes.append(len(t)) or train(t, f, r, **o))

    def factory(generator):
        return staf.incode(2, 3, width=8, depth=2, generator=generator)

    images = pictures(2, size=16)
    incode = staf.Plan(factory, staf.Recipe(steps=3))
    fits = staf.fit_many(images, plan=incode, progress=False, seed=1)
    assert sizes == [1, 1]
    for image, fit in zip(images, fits, strict=True):
        assert fit.metrics == staf.fit(image, plan=incode, seed=1, progress=False, device="cpu").metrics


def test_plans_by_spectrum_are_those_of_each_signal(tmp_path):
    smooth = np.linspace(0, 255, 40, dtype=np.uint8)[None].repeat(40, 0)
    noise = np.random.default_rng(0).integers(0, 255, (40, 40), dtype=np.uint8)
    told = []
    fits = staf.fit_many(
        [smooth, noise, noise.copy()],
        plan_by="spectrum",
        steps=1,
        progress=False,
        on_plan=lambda plan, names: told.append((plan.field(0).architecture, names)),
    )
    for image, fit in zip((smooth, noise), fits, strict=False):
        assert fit.module.architecture == plan(staf.open(image)).field(0).architecture
    assert [names for _, names in told] == [["signal-00000"], ["signal-00001", "signal-00002"]]
    with pytest.raises(ValueError, match="plan_by must be one of size, spectrum, got 'kind'"):
        staf.fit_many([smooth], plan_by="kind")


def test_seconds_are_those_of_a_group_and_a_target_ends_a_network(small):
    fits = staf.fit_many(pictures(3), steps=10**6, seconds=0.3, at_once=2, progress=False)
    assert [fit.stopped for fit in fits] == ["the time is up"] * 3
    assert fits[0].result.steps == fits[1].result.steps
    grey = np.full((6, 6, 3), 128, np.uint8)
    easy, hard = staf.fit_many([grey, pictures(1)[0]], steps=80, target_db=24, progress=False)
    assert easy.stopped.startswith("reached")
    assert easy.metrics["psnr"] >= 24
    assert easy.result.steps < hard.result.steps


def test_callbacks_see_the_networks_by_name(small):
    seen = []

    def watch(state):
        seen.append((state.name, state.step))
        if state.step == 2:
            state.stop("enough")

    fits = staf.fit_many(pictures(2), steps=9, callbacks=watch, progress=False)
    assert sorted(seen) == [(f"signal-0000{i}", step) for i in range(2) for step in (1, 2)]
    assert [fit.stopped for fit in fits] == ["enough", "enough"]
    with pytest.raises(TypeError, match="callbacks must be functions of a State"):
        staf.fit_many(pictures(1), steps=1, callbacks=[3])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "was fitted with seed=0, got seed=1"),
        ({"steps": 3}, "was fitted with steps=2, got steps=3"),
        ({"target_db": 40.0}, "was fitted with target_db=None, got target_db=40.0"),
        ({"recipe": staf.Recipe(steps=2, rate=0.5)}, "was fitted with optimiser=muon, got optimiser=adam"),
        ({"model": "siren"}, "is another network"),
    ],
)
def test_resuming_with_other_settings_is_refused_and_changes_nothing(tmp_path, change, message):
    before = {"steps": 2, "seed": 0, "out": tmp_path, "progress": False}
    staf.fit_many(pictures(2), **before)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    with pytest.raises(staf.FileError, match=message):
        staf.fit_many(pictures(3), **{**before, **change}, resume=True)
    assert files == {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert len(staf.fit_many(pictures(3), **before, resume=True).files) == 3
