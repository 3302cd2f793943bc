"""Shapes as an experiment: a bare machine's voxels and a mesh give one result, whose surface is measured afterwards."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from paper.__main__ import main
from paper.data.shapes import open_shape, pack
from paper.experiments.shapes import PUBLISHED, ShapeRun, Shapes, plan_of, shape_tables, tables, voxel_task
from paper.measures import shape_surfaces
from paper.measures.shape_surfaces import kept_surface, measured, mesh_of, surface_values
from paper.report import surfaces
from paper.report.protocol_table import published_means
from paper.report.surfaces import scan_of, surface_figures
from paper.runner import RunResult, load_results
from staf.kinds import Shape

COMMON = ["--resolution", "12", "--workers", "1", "--device", "cpu", "--no-progress", "--steps", "3", "--batch", "500"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(surfaces, "PIXELS", 40)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Shape.sphere(subdivisions=2, resolution=12).save("ball.ply")
    pack("ball.ply", "packed/ball.npz", 12)
    open_shape.cache_clear()
    return tmp_path


def test_a_bare_machines_results_are_those_of_the_mesh(here, capsys):
    words = ["shapes", *COMMON, "--models", "staf", "--protocols", "ours", "released"]
    assert main([*words, "--shapes", "ball.ply", "--folder", "whole"]) == 0
    assert main([*words, "--shapes", "packed/ball.npz", "--folder", "bare"]) == 0
    whole, bare = (load_results(here / name, "shapes") for name in ("whole", "bare"))
    assert len(whole) == len(bare) == 2
    assert [r.key for r in whole] == [r.key for r in bare]
    assert all("chamfer" not in r.metrics for r in bare)
    packed = next((here / "bare").glob("ball-*.npz"))
    packed.rename(here / "left.npz")
    assert len(shape_surfaces.fill(here / "bare", ["ball.ply"])) == 1, "the arrays of the other were left where it ran"
    (here / "left.npz").rename(packed)
    assert shape_surfaces.main(["bare", "ball.ply"]) == 0
    for one, other in zip(whole, load_results(here / "bare", "shapes"), strict=True):
        assert one.metrics == pytest.approx(other.metrics, rel=1e-5)
    assert shape_surfaces.fill(here / "bare", ["ball.ply"]) == []
    said = capsys.readouterr().out
    assert "Chamfer" in said
    assert (here / "whole" / "shapes.md").read_text().count("| network |") == 1


def test_a_kept_surface_is_the_fields_own(here):
    shape = open_shape("ball.ply", 12)
    grid = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) / n * 2 - 1 for n in shape.shape], indexing="ij"), -1)
    values = np.clip(1.4 - np.linalg.norm(grid, axis=-1), 0, 1).astype(np.float32)
    again = surface_values(kept_surface(values))
    assert ((again > 0.5) == (values > 0.5)).all()
    mesh = mesh_of(kept_surface(values), shape)
    assert np.linalg.norm(mesh.vertices, axis=1) == pytest.approx(0.9, abs=0.02)
    measures = measured(kept_surface(values), shape)
    assert measures["chamfer"] == pytest.approx(2 * 0.1**2, rel=0.2)
    assert measures["normal_consistency"] > 0.97


def test_a_field_without_a_surface_is_infinitely_far_and_noise_is_not_kept(here, monkeypatch):
    shape = open_shape("ball.ply", 12)
    nothing = measured(kept_surface(np.zeros(shape.shape, np.float32)), shape)
    assert nothing == {"chamfer": math.inf, "normal_consistency": 0.0}
    monkeypatch.setattr(shape_surfaces, "MOST_NEAR", 10)
    noise = np.random.default_rng(0).random(shape.shape)
    assert kept_surface(noise) == {}
    assert measured({}, shape) == nothing


def test_the_voxels_measure_what_the_task_measures(here):
    from staf.kinds.shape.task import Occupancy

    shape = open_shape("ball.ply", 12)

    def field(x):
        return 0.9 - x.norm(dim=-1, keepdim=True).square() / 2

    found, usual = voxel_task(shape, "centres").evaluate(field), Occupancy(shape).evaluate(field)
    assert found["iou"] == pytest.approx(usual["iou"])
    assert found["psnr"] == pytest.approx(usual["psnr"])


def test_protocols_differ_in_what_they_say(here):
    shape = open_shape("packed/ball.npz", 12)
    recipes = {p: plan_of(shape, ShapeRun("ball", "staf", p, 12), "cuda").recipe for p in ("ours", "paper")}
    assert (recipes["paper"].epochs, recipes["paper"].batch, recipes["paper"].convention) == (200, 100_000, "ends")
    assert recipes["ours"].optimiser == "muon"
    bands = plan_of(shape, ShapeRun("ball", "pemlp", "paper", 12), "cpu").field(0).architecture["arguments"]["bands"]
    assert bands == 10, "in three dimensions, as in the released code"


def test_mistakes_are_named(here, capsys):
    np.save("picture.npy", np.zeros((4, 4, 3), np.uint8))
    for words, message in {
        (): "shapes needs data: ",
        ("--shapes", "packed/ball.npz", "--resolution", "13"): "must be 12",
        ("--shapes", "picture.npy"): "must be meshes",
    }.items():
        assert main(["shapes", *words, "--workers", "1", "--folder", "r"]) == 2
        assert message in capsys.readouterr().err


def test_the_papers_numbers_stand_beside_their_network(here):
    main(["shapes", *COMMON, "--models", "siren", "--protocols", "paper", "--shapes", "ball.ply", "--folder", "r"])
    (result,) = load_results(here / "r")
    document = json.loads(json.dumps(dict(result.document)))
    document["configuration"]["shape"] = "lucy"
    (drawn,) = shape_tables([type(result)(result.path, document)]).values()
    row = dict(zip(drawn.columns, drawn.rows[0], strict=True))
    assert (row["paper: IoU"], row["paper: Chamfer"]) == ("0.9892", "2.19e-06")
    assert Shapes({}).name == "shapes"


def test_means_of_several_shapes_come_first_with_the_papers_means(here, capsys):
    words = ["shapes", *COMMON, "--models", "staf", "--protocols", "ours", "--folder", "r"]
    for name in ("armadillo", "lucy"):
        (here / f"{name}.ply").write_bytes((here / "ball.ply").read_bytes())
    assert main([*words, "--no-figures", "--shapes", "armadillo.ply", "lucy.ply"]) == 0
    said = capsys.readouterr().out
    assert [line.split(" (")[0] for line in said.splitlines() if "final weights" in line] == [
        "Means of 2 shapes at 12 voxels, final weights",
        "armadillo at 12 voxels, final weights",
        "lucy at 12 voxels, final weights",
    ], "what is printed has the paper's numbers, with and without a folder's files"
    means = tables(load_results(here / "r", "shapes"))[0]
    row = dict(zip(means.columns, means.rows[0], strict=True))
    assert (row["paper: IoU"], row["paper: Chamfer"]) == ("0.9971", "8.70e-07")
    assert row["runs"] == "2"


def test_resolutions_are_not_averaged(tmp_path):
    results = [
        RunResult(
            tmp_path / "x",
            {
                "configuration": {"shape": "lucy", "resolution": voxels, "model": "staf", "protocol": "ours"},
                "metrics": {"iou": iou}, "details": {"steps": 1},
            },
        )
        for voxels, iou in ((512, 0.9), (256, 0.5))
    ]  # fmt: skip
    found = tables(results)
    assert [table.title.split(",")[0] for table in found] == ["lucy at 256 voxels", "lucy at 512 voxels"]
    assert [table.rows[0][table.columns.index("IoU")] for table in found] == ["0.5000", "0.9000"]


def test_means_of_all_four_shapes_are_the_papers_average_column():
    found = {model: row["iou"] for model, row in published_means(PUBLISHED, list(PUBLISHED)).items()}
    printed = {"pemlp": 0.9939, "siren": 0.9939, "wire": 0.9633, "finer": 0.9952, "incode": 0.9951, "staf": 0.9963}
    assert found == pytest.approx(printed, abs=6e-5)
    assert published_means(PUBLISHED, ["armadillo", "bunny"]) == {}


def test_the_scans_of_their_repository_have_the_papers_numbers(here):
    from paper.data.datasets import DATASETS

    files = DATASETS["stanford"].keep
    assert sorted(scan_of(path.removesuffix(".ply")) for path in files) == sorted(PUBLISHED)
    (here / "xyzrgb_statuette.ply").write_bytes((here / "ball.ply").read_bytes())
    words = ["shapes", *COMMON, "--models", "wire", "--protocols", "paper", "--folder", "r"]
    assert main([*words, "--no-figures", "--shapes", "xyzrgb_statuette.ply"]) == 0
    (drawn,) = tables(load_results(here / "r", "shapes"))
    row = dict(zip(drawn.columns, drawn.rows[0], strict=True))
    assert (row["paper: IoU"], row["paper: Chamfer"]) == ("0.9507", "1.55e-05")


def test_surfaces_are_drawn_from_the_results_alone(here, capsys):
    words = ["shapes", *COMMON, "--models", "staf", "siren", "--protocols", "ours", "--folder", "r"]
    words[words.index("--steps") + 1] = "20"
    assert main([*words, "--shapes", "packed/ball.npz"]) == 0
    assert "shapes-ball.png" in capsys.readouterr().out
    (here / "packed" / "ball.npz").unlink()
    results = load_results(here / "r", "shapes")
    ((name, figure),) = surface_figures(results)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    best = sorted(results, key=lambda result: -result.metrics["iou"])
    expected = [f"{r.configuration['model']}, ours\nIoU {r.metrics['iou']:.4f}" for r in best]
    assert (name, titles) == ("ball", ["target", *expected])
    next((here / "r").glob("voxels-*.npz")).unlink()
    assert list(surface_figures(results)) == [], "the voxels were left on another machine"


def test_without_mesh_libraries_tables_are_written_alone(here, monkeypatch):
    from staf._extras import MissingExtra
    from staf.kinds.shape import figure

    def missing(*_, **__):
        raise MissingExtra("point_cloud_utils is not installed")

    words = [
        "shapes",
        *COMMON,
        "--models",
        "staf",
        "--protocols",
        "ours",
        "--folder",
        "r",
        "--shapes",
        "packed/ball.npz",
    ]
    words[words.index("--steps") + 1] = "20"
    monkeypatch.setattr(figure, "shape_comparison", missing)
    assert main(words) == 0
    assert [path.name for path in (here / "r").glob("*.[mp][dn]*")] == ["shapes.md"]
