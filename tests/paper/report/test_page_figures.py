"""The pages' figures are drawn of what there are results of, and nothing else is touched."""

from __future__ import annotations

import numpy as np
from PIL import Image

from paper.__main__ import main
from paper.report import page_figures


def test_figures_are_drawn_of_what_was_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(page_figures, "IMAGES", tmp_path / "img")
    np.save("kodim23.npy", np.random.default_rng(0).integers(0, 255, (16, 16, 3), np.uint8))
    own = ["--workers", "1", "--device", "cpu", "--no-progress", "--no-figures"]
    short = ["--images", "kodim23.npy", "--iterations", "2", "--width", "8"]
    for name, words in (("sharing-ablation", short), ("activation-maps", [*short, "--rows", "staf", "siren"])):
        assert main([name, *words, *own, "--folder", f"results/{name}"]) == 0
    monkeypatch.setitem(page_figures.RESTORED, "denoising", [("staf", "ours"), ("ffn", "ours")])
    for models in (["staf"], ["ffn"]):
        assert not (tmp_path / "img" / "denoising.jpg").exists(), "one of its networks lacks"
        words = ["denoising", "--images", "kodim23.npy", "--models", *models, "--protocols", "ours", "--steps", "2"]
        assert main([*words, "--classical", *own, "--folder", "results/denoising"]) == 0
        page_figures.main(["results", "."])
    assert sorted(path.name for path in (tmp_path / "img").iterdir()) == [
        "activation-maps.jpg",
        "denoising.jpg",
        "sharing-ablation.png",
    ]
    with Image.open(tmp_path / "img" / "sharing-ablation.png") as plot:
        assert len(plot.getcolors()) <= page_figures.COLOURS
