"""`python -m paper --list` says what each study needs, and what was run of it."""

from __future__ import annotations

import json
import re

from paper import PAPER
from paper.__main__ import load, main
from paper.report import overview


def test_the_list_says_what_each_needs_takes_and_what_was_run(capsys):
    assert main(["--list"]) == 0
    text = capsys.readouterr().out
    for name in PAPER:
        study = load(name)
        assert study.needs, name
        assert study.time, name
        assert re.search(rf"^  {name} ", text, flags=re.M)
    assert text.count("run so far: ") == len(PAPER)


def test_what_was_run_is_counted_from_the_kept_data(tmp_path, monkeypatch):
    monkeypatch.setattr(overview, "DATA", tmp_path)
    assert overview.what_is_run("kodak") == "nothing"

    def run(protocol, **arguments):
        configuration = {"protocol": protocol, "row": {"name": "staf", "arguments": arguments}}
        return {"configuration": configuration, "details": {"images": {"a": {}, "b": {}}}, "date": "2026-11-16T01"}

    (tmp_path / "kodak.json").write_text(json.dumps([run("ours"), run("paper")]))
    assert overview.what_is_run("kodak") == "2 runs on 2 images (ours 1, paper 1), 2026-11-16"
    (tmp_path / "kodak.json").write_text(json.dumps([run("ours"), run("paper", width=64)]))
    assert overview.what_is_run("kodak") == (
        "1 run on 2 images (ours 1) and 1 run on 2 images (paper 1) of smaller networks or pictures, 2026-11-16"
    )
    (tmp_path / "kodak.json").write_text("[]")
    assert overview.what_is_run("kodak") == "nothing"


def test_rows_without_a_run_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(overview, "DATA", tmp_path)
    study = load("hash-grid")
    assert overview.not_run(study) == "", "nothing at all was run, which `run so far` says"

    def run(row, protocol, **arguments):
        return {"configuration": {"protocol": protocol, "row": {"name": row, "arguments": arguments}}}

    rows = ["staf", "siren", "hash grid", "hash grid, STAF behind it"]
    ours = [run(row, "ours") for row in rows]
    (tmp_path / "hash-grid.json").write_text(json.dumps([*ours, run("staf", "paper"), run("siren", "paper", width=9)]))
    assert overview.not_run(study) == "siren (paper)", "a smaller network is no run, and a grid has no paper recipe"
    (tmp_path / "div2k.json").write_text(json.dumps([run("staf", protocol) for protocol in ("released", "ours")]))
    assert overview.not_run(load("div2k")) == "finer, siren, ffn, pemlp, wire, gauss"
    models = [{"configuration": {"model": model, "protocol": "paper"}} for model in ("staf", "siren", "finer", "wire")]
    (tmp_path / "nerf.json").write_text(json.dumps(models))
    assert overview.not_run(load("nerf")) == "gauss, pemlp (paper)"
