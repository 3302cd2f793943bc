"""Every table and figure of the paper runs on small data by the same code, and says what it needs and what was run."""

from __future__ import annotations

import html
import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from paper import EXPERIMENTS, PAPER
from paper.__main__ import configured, load, main, parser
from paper.data.sources import Source, open_source
from paper.measures.perceptual import lpips_model
from paper.report.side_by_side import values_of
from paper.runner import RunResult, load_results
from paper.study.image_runs import Grid, ImageRuns
from paper.study.rows import PROTOCOLS, Length, Row, plan_for
from staf.kinds import Image
from staf.metrics.lpips import SHAPES

COMMON = ["--workers", "1", "--device", "cpu", "--no-progress"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # No weights of LPIPS of the machine's own.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("STAF_LPIPS_WEIGHTS", raising=False)
    lpips_model.cache_clear()
    yield tmp_path
    lpips_model.cache_clear()


def test_every_name_of_the_specification_is_there():
    wanted = {
        "kodak", "celeba", "div2k", "image-curves", "tokyo", "audio", "shapes", "nerf", "super-resolution", "denoising",
        "activation-maps", "activation-distributions", "component-ablation", "sharing-ablation", "tau-ablation",
        "cost-table", "matched-parameters", "hash-grid", "dynamics", "freezing", "lpips-training", "ntk-image",
        "ntk-audio", "activations", "distortion-perception",
    }  # fmt: skip
    assert wanted <= set(PAPER)


def test_a_column_of_lpips_without_measures_is_explained(here, capsys):
    np.save("noise.npy", np.random.default_rng(0).random((32, 32, 3), dtype=np.float32))
    words = ["kodak", "--images", "noise.npy", "--rows", "siren", "--protocols", "ours", "--width", "8", *COMMON]
    words += ["--iterations", "1", "--no-figures", "--folder", "r"]
    assert main(words) == 0
    assert capsys.readouterr().err.startswith("LPIPS was not measured: it needs its weights")
    (path,) = Path("r").glob("*seed-0*.json")
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**document, "metrics": {**document["metrics"], "lpips": 0.5}}), "utf-8")
    assert main(words) == 0
    assert capsys.readouterr().err == ""


def test_many_images_train_together_as_they_do_apart(here):
    rng = np.random.default_rng(0)
    names = ("first", "second", "third")
    for name in names:
        np.save(f"{name}.npy", rng.integers(0, 256, (9, 8, 3), np.uint8))
    words = ["kodak", "--images", *(f"{name}.npy" for name in names), "--rows", "siren", "--iterations", "3"]
    words += ["--protocols", "released", *COMMON, "--no-figures"]
    assert main([*words, "--folder", "apart"]) == 0
    assert main([*words, "--together", "--folder", "together"]) == 0
    (together,) = load_results("together", "kodak")
    apart = {result.data_name: result.metrics["psnr"] for result in load_results("apart", "kodak")}
    assert together.details["together"] == 3
    assert values_of([together], "psnr") == pytest.approx(apart, abs=0.02)
    assert together.metrics["psnr"] == pytest.approx(np.mean(list(apart.values())), abs=0.02)


def test_what_a_network_has_between_the_pixels_is_a_column(here, capsys):
    """A rough network holds a smooth picture at its pixels and is noise between them; a smooth one is not."""
    y, x = np.mgrid[:12, :12] / 12
    np.save("smooth.npy", np.stack([y, x, (x + y) / 2], -1).astype(np.float32))
    words = ["omega0", "--images", "smooth.npy", "--rows", "omega0 20", "omega0 60", "--width", "32"]
    words += ["--iterations", "60", "--protocols", "ours", *COMMON, "--no-figures", "--folder", "r"]
    assert main(words) == 0
    assert "between pixels, our default" in capsys.readouterr().out
    found = {r.configuration["row"]["name"]: r.metrics["interpolation_psnr"] for r in load_results("r", "omega0")}
    assert found["omega0 20"] > found["omega0 60"] + 3


def test_lpips_is_a_column_and_a_loss_where_its_weights_are(here, monkeypatch, capsys):
    import torch
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(0)
    save_file({n: torch.rand(shape, generator=generator) / 50 for n, shape in SHAPES.items()}, "lpips.safetensors")
    monkeypatch.setenv("STAF_LPIPS_WEIGHTS", str(here / "lpips.safetensors"))
    np.save("square.npy", np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8))
    rows = ["mse", "mse + 0.03 lpips"]
    words = ["lpips-training", "--images", "square.npy", "--iterations", "4", "--protocols", "ours", "--rows", *rows]
    assert main([*words, *COMMON, "--folder", "r"]) == 0
    assert "LPIPS, our default" in capsys.readouterr().out
    plain, with_lpips = sorted(load_results("r", "lpips-training"), key=lambda r: r.configuration["perceptual"])
    assert with_lpips.configuration["perceptual"] == 0.03
    assert plain.metrics["lpips"] > 0
    assert plain.metrics["psnr"] != with_lpips.metrics["psnr"]


def test_random_weights_of_lpips_are_of_quick_runs_without_others_alone(here, monkeypatch):
    import os

    from paper.experiments.lpips_training import RandomLPIPS, random_weights

    def experiment(*words):
        arguments = parser(["lpips-training", *words]).parse_args(["lpips-training", *words, "--folder", "r"])
        return load("lpips-training").sweep(arguments)[0]

    np.save("wide.npy", np.zeros((8, 16, 3), np.uint8))
    quick, plain = experiment("--images", "wide.npy", "--quick"), experiment("--images", "wide.npy")
    assert isinstance(quick, RandomLPIPS)
    assert not isinstance(plain, RandomLPIPS)
    assert open_source(quick.sources["wide"], "wide").shape == (32, 64)
    assert open_source(plain.sources["wide"], "wide").shape == (8, 16)
    seen = []
    monkeypatch.setattr(ImageRuns, "run", lambda *_: seen.append(os.environ["STAF_LPIPS_WEIGHTS"]))
    quick.run(None, None)
    assert seen == [quick.weights]
    assert "STAF_LPIPS_WEIGHTS" not in os.environ
    monkeypatch.setenv("STAF_LPIPS_WEIGHTS", str(random_weights(here / "own.safetensors")))
    quick.run(None, None)
    assert os.environ["STAF_LPIPS_WEIGHTS"] == str(here / "own.safetensors")
    assert not isinstance(experiment("--images", "wide.npy", "--quick"), RandomLPIPS)


def test_what_the_paper_says_without_a_number_is_not_printed_as_one():
    (table,) = load("hash-grid").tables([])
    assert [row[:2] for row in table.rows] == [["staf", "> 100"], ["siren", "about 38"], ["hash grid", "about 70"]]


def test_without_weights_a_loss_of_lpips_says_how_to_get_them(here, capsys):
    np.save("square.npy", np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8))
    words = ["lpips-training", "--images", "square.npy", "--iterations", "1", "--protocols", "ours"]
    assert main([*words, "--rows", "mse + 0.03 lpips", *COMMON, "--folder", "r"]) == 1
    assert "run `python -m staf.metrics.lpips_convert` once" in capsys.readouterr().err


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_row_changes_its_network_and_recipe_under_every_protocol(protocol):
    image = Image(np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8))
    row = Row("x", "staf", {"terms": 3, "train": ("phase",)}, {"freeze_activations_from": 2})
    plan = plan_for(image, row, protocol, Length(7), "cpu")
    arguments = plan.field(0).architecture["arguments"]
    assert (arguments["terms"], arguments["train"]) == (3, ["phase"])
    assert (plan.recipe.freeze_activations_from, plan.recipe.steps) == (2, 7)
    assert arguments["law"] == {"paper": "theorem", "released": "released", "ours": "siren_start"}[protocol]


def test_iterations_are_steps_or_epochs_and_batches_are_the_papers():
    image = Image(np.zeros((100, 100, 3), np.uint8))
    steps = plan_for(image, Row("x", "incode"), "released", Length(5), "cpu").recipe
    assert (steps.steps, steps.epochs, steps.batch, steps.rate) == (5, None, None, 9e-4)
    epochs = plan_for(image, Row("x", "incode"), "released", Length(5, epochs=True), "cpu").recipe
    assert (epochs.steps, epochs.epochs, epochs.batch) == (None, 5, 4096)


def test_a_grid_leaves_out_protocols_that_a_row_has_not():
    rows = [Row("a", "staf"), Row("b", "siren", protocols=("ours",))]
    runs = Grid(rows, ["paper", "ours"], [0, 1], Length(1)).runs(["x", "y"])
    assert len([run for run in runs if run.row.name == "a"]) == 8
    assert {run.protocol for run in runs if run.row.name == "b"} == {"ours"}


def test_the_place_of_a_file_is_no_part_of_its_result(here):
    picture = np.random.default_rng(0).integers(0, 256, (4, 4, 3), np.uint8)
    np.save("here.npy", picture)
    np.save("there.npy", picture)
    (run,) = Grid([Row("a", "staf")], ["ours"], [0], Length(1)).runs(["x"])
    first, second = (ImageRuns("kodak", {"x": Source(f"{name}.npy")}).data(run) for name in ("here", "there"))
    assert first == second


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kodak", "--images", "black.npy", "--rows", "sirn"], "--rows must be of staf, siren"),
        (["kodak"], "needs data: "),
        (["activations", "--data", "."], "--data has no effect"),
        (["ntk-audio"], "needs data: "),
        (["do-sines-help", "--parts", "scenes"], "give the data of at least one of --parts"),
    ],
)
def test_mistakes_are_named(words, message, here, capsys):
    np.save("black.npy", np.zeros((4, 4, 3), np.uint8))
    assert main([*words, *COMMON]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["--scene", "lego", "--parts", "scenes", "pictures", "--arms", "frozen sine", "5 sines a layer"], 2),
        (["--parts", "equations", "--arms", "frozen sine"], 1),
        (["--recording", "a.wav", "--parts", "gaps", "--arms", "frozen sine"], 1),
    ],
)
def test_a_study_with_data_by_part_takes_the_parts_whose_data_are_given(words, runs, tmp_path):
    words = ["do-sines-help", *words, "--folder", str(tmp_path)]
    _, configurations = configured(load("do-sines-help"), parser(words).parse_args(words))
    assert len(configurations) == runs


def test_all_of_them_make_one_page(here, capsys):
    names = ["activations", "sharing-ablation"]
    assert main(["all", "--quick", "--folder", "q", "--only", *names]) == 0
    page = Path("q/index.html").read_text("utf-8")
    for name in names:
        assert f"<h2>{name}</h2>" in page
        assert f'<a href="#{name}">' in page
        assert f"<section id='{name}'>" in page
        assert page.count(html.escape(load(name).summary)) == 1, "the title of a table says it"
        assert f"<p>Data of a full run: {html.escape(load(name).needs)}.</p>" in page
        assert f"<p>Time of a full run: {html.escape(load(name).time)}.</p>" in page
    for picture in re.findall(r'src="([^"]+)"', page):
        assert Path("q", picture).is_file()
    assert "none of its numbers is a result" in page


def test_all_networks_of_a_study_can_have_another_width(tmp_path):
    words = ["mixed-frequencies", "--side", "8", "--width", "12", "--folder", str(tmp_path)]
    experiment, runs = load("mixed-frequencies").sweep(parser(words).parse_args(words))
    assert len(runs) > 5
    first = runs[0]
    signal = open_source(experiment.sources[first.images[0]], first.images[0])
    plan = plan_for(signal, first.row, "ours", first.length, "cpu")
    assert plan.field(0).architecture["arguments"]["width"] == 12
    assert "narrow" in plan.reasons["rate"], "the plan knows the width"
    assert all(run.row.arguments["width"] == 12 for run in runs)


@pytest.mark.parametrize(("planned_for", "batch"), [(None, "8192"), ("cuda", "None")])
def test_a_run_can_have_the_plan_of_another_device(planned_for, batch, here):
    np.save("photo.npy", np.random.default_rng(0).integers(0, 256, (96, 96, 3), np.uint8))
    words = ["kodak", "--images", "photo.npy", "--rows", "siren", "--iterations", "1", "--protocols", "ours", *COMMON]
    words += [] if planned_for is None else ["--planned-for", planned_for]
    assert main([*words, "--no-figures", "--folder", "results"]) == 0
    (found,) = load_results("results", "kodak")
    assert found.configuration["planned_for"] == planned_for
    assert str(found.details["recipe"]["batch"]) == batch


@pytest.mark.parametrize(
    ("iterations", "width", "said"),
    [(1000, None, ""), (3, None, "; run here: 3 iterations"), (1000, 64, "; run here: layers of 64"),
     (1500, 64, "; run here: 1,500 iterations, layers of 64")],
)  # fmt: skip
def test_a_title_says_what_is_shorter_or_narrower_than_the_paper(iterations, width, said):
    configuration = {
        "row": {"name": "staf", "arguments": {} if width is None else {"width": width}}, "protocol": "ours",
        "length": {"iterations": iterations}, "seed": 0,
    }  # fmt: skip
    details = {"images": {"a": {"psnr": 1.0}}, "training_seconds": 1.0}
    (table,) = load("kodak").tables([RunResult(Path("x"), {"configuration": configuration, "details": details})])
    assert table.title.split(" (")[0] == "Kodak, 24 images at 256x256, 1,000 iterations" + said


def test_networks_that_are_looked_at_with_several_seeds_have_a_spread():
    def result(seed, slope):
        rows = {"STAF": {"largest slope": slope}}
        return RunResult(
            Path("x"), {"configuration": {"seed": seed}, "details": {"rows": rows}, "machine": "a machine"}
        )

    study = load("activations")
    ((_, slope),) = study.tables([result(0, 10.0), result(1, 14.0)])[0].rows
    assert slope == "12 ± 2.8"
    ((_, slope),) = study.tables([result(0, 10.0)])[0].rows
    assert slope == "10"


def test_the_list_of_the_papers_items_names_what_is_there():
    root = Path(__file__).parents[2]
    text = (root / "paper" / "COVERAGE.md").read_text("utf-8")
    named = set(re.findall(r"python -m paper ([a-z][\w-]+)", text)) - {"rows"}
    assert len(named) > 20
    assert named <= set(EXPERIMENTS)
    for function in re.findall(r"`(staf\.theory\.[\w.]+)`", text):
        assert importlib.util.find_spec(function), function
    for link in re.findall(r"\]\((\.\./[^)#]+)", text):
        assert (root / "paper" / link).is_file(), link
    # 46 items of the paper were missing; some stand in one row. What is none of the paper's says so.
    assert text.count("\n| ") - 1 >= 38
