from __future__ import annotations

import base64
import csv
import errno
import io
import json
import re
import shlex
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import torch

import staf
from staf._files import WriteError
from staf.reports import RunError, check_folder, configuration, report_html, write_run
from tests.reports.conftest import small_fit, small_image

FILES = [
    "config.json",
    "history.csv",
    "metrics.json",
    "model.safetensors",
    "reconstruction.png",
    "report.html",
    "view.html",
]


def test_a_run_folder_holds_all_files_and_the_model_opens_alone(fit: staf.Fit, tmp_path: Path) -> None:
    paths = write_run(fit, tmp_path / "runs" / "first")
    assert sorted(path.name for path in paths.folder.iterdir()) == FILES
    field = staf.load(paths.model)
    assert np.array_equal(field.render().array, staf.open(paths.reconstruction).array)


def test_the_history_has_one_row_a_step(fit: staf.Fit, tmp_path: Path) -> None:
    paths = write_run(fit, tmp_path)
    rows = list(csv.DictReader(paths.history.open()))
    assert [int(row["step"]) for row in rows] == list(range(30))
    assert float(rows[-1]["loss"]) == fit.history.loss[-1]


def test_an_existing_run_is_refused_and_left_as_it_is(fit: staf.Fit, tmp_path: Path) -> None:
    paths = write_run(fit, tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    with pytest.raises(RunError, match="already holds a run"):
        write_run(fit, tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert paths == write_run(fit, tmp_path, overwrite=True)


def test_overwriting_drops_the_old_runs_files_and_nothing_else(fit: staf.Fit, tmp_path: Path) -> None:
    write_run(small_fit(small_image(dtype="float32"), steps=2), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    assert (tmp_path / "reconstruction.tiff").exists()
    write_run(fit, tmp_path, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "notes.txt"])


def test_a_file_is_no_folder(fit: staf.Fit, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(RunError, match="is a file"):
        write_run(fit, tmp_path / "run")
    with pytest.raises(RunError, match="is a file"):
        check_folder(tmp_path / "run", overwrite=True)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that even root cannot write to")
def test_an_unwritable_folder_is_refused(fit: staf.Fit) -> None:
    with pytest.raises(RunError, match="cannot make the folder '/proc/staf-run'"):
        write_run(fit, "/proc/staf-run")


def test_a_failing_report_loses_nothing_else(fit: staf.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("no report today")

    monkeypatch.setattr("staf.reports.page.report_html", fail)
    with pytest.raises(RunError, match=r"model\.safetensors.*report\.html: no report today"):
        write_run(fit, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [name for name in FILES if name != "report.html"]
    assert staf.load(tmp_path / "model.safetensors").render().shape == fit.signal.shape


def test_a_page_that_cannot_be_written_is_not_linked(
    fit: staf.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(path: Path, text: str) -> None:
        if path.name == "view.html":
            raise WriteError(errno.ENOSPC, "the disk is full")
        path.write_text(text)

    monkeypatch.setattr("staf.reports.run_folder.atomic_write", write)
    with pytest.raises(RunError, match=r"but not view\.html: the disk is full$"):
        write_run(fit, tmp_path)
    assert "view.html" not in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(("dtype", "suffix"), [("uint8", ".png"), ("uint16", ".png"), ("float32", ".tiff")])
def test_the_reconstruction_keeps_the_bit_depth(dtype: str, suffix: str, tmp_path: Path) -> None:
    paths = write_run(small_fit(small_image(dtype=dtype), steps=2), tmp_path)
    assert paths.reconstruction is not None
    assert paths.reconstruction.suffix == suffix
    assert staf.open(paths.reconstruction).dtype.name == dtype


def test_the_json_files_are_strict_json(tmp_path: Path) -> None:
    black = staf.Image(np.zeros((12, 12), np.uint8), name="black")
    fit = staf.fit(black, field=_Zero(), steps=1, progress=False, device="cpu")
    paths = write_run(fit, tmp_path)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    metrics = json.loads(paths.metrics.read_text(), parse_constant=refuse)
    assert metrics["psnr"] is None
    assert metrics["notes"]["psnr"] == "infinite: equal to the target"
    assert "∞" in paths.report.read_text("utf-8")
    json.loads(paths.config.read_text(), parse_constant=refuse)


def test_the_configuration_alone_repeats_the_fit(tmp_path: Path) -> None:
    image = small_image()
    image.save(tmp_path / "a photo.png")
    fit = staf.fit(
        tmp_path / "a photo.png",
        field=staf.staf(2, 3, width=24, depth=2, generator=torch.Generator().manual_seed(3)),
        recipe=staf.recipes.default(steps=5, batch=512),
        seed=3,
        progress=False,
        device="cpu",
    )
    document = json.loads(write_run(fit, tmp_path / "run").config.read_text())
    assert document["reproduce"]["command"] is None, "a field that was given is not one the command can build"
    scope: dict[str, object] = {}
    exec(document["reproduce"]["python"], scope)
    again = scope["fit"]
    assert isinstance(again, staf.Fit)
    assert again.metrics == fit.metrics


def test_the_command_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "it's; a photo.png"
    small_image(8, 8).save(path)
    plan = staf.plan(staf.open(path), staf.Budget(steps=1))
    small = staf.Plan(lambda generator: staf.staf(2, 3, width=8, depth=2, generator=generator), plan.recipe)
    fit = staf.fit(path, plan=small, progress=False, device="cpu")
    words = shlex.split(configuration.command(fit) or "")
    assert words[:3] == ["staf", "fit", str(path)]
    assert words[words.index("--steps") + 1] == "1"
    assert words[words.index("--seed") + 1] == "0"


def test_a_task_without_a_signal_still_has_a_run(tmp_path: Path) -> None:
    fit = small_fit(small_image(8, 8), steps=1)
    fit.signal = None
    paths = write_run(fit, tmp_path)
    assert paths.reconstruction is None
    assert "Fit of a task" in report_html(fit, {})


class _Zero(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(2, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight


@pytest.mark.parametrize("known", [True, False], ids=["with the truth", "without"])
def test_other_tasks_leave_runs_that_claim_no_command(known: bool, tmp_path: Path) -> None:
    from staf.tasks import SuperResolution

    truth = small_image(16, 24)
    task = SuperResolution.simulated(truth, 2)
    if not known:
        task = SuperResolution(task.observed, 2)
    fit = staf.fit(task, field=staf.siren(2, 3, width=8, depth=2), steps=2, progress=False, device="cpu")
    paths = write_run(fit, tmp_path)
    document = json.loads(paths.config.read_text())
    assert document["reproduce"]["command"] is None
    assert "staf.fit(your_task" in document["reproduce"]["python"]
    report = paths.report.read_text("utf-8")
    assert ("There is nothing to compare" in report) is not known
    assert report.count("<img ") == (3 if known else 1)
    if not known:
        (encoded,) = re.findall(r'class="alone"><img src="data:image/png;base64,([^"]+)"', report)
        shown = np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(encoded))))
        low, high = fit.reconstruction.value_range
        values = fit.reconstruction.values().reshape(16, 24, 3).numpy()
        assert np.abs(shown / 255 - (values - low) / (high - low)).max() < 0.003
    assert ("<img" in fit._repr_html_()) is known
