from __future__ import annotations

from staf.kinds import open as open_signal


def test_every_result_is_listed(staf):
    from staf.analysis.registry import RESULTS as ANALYSES
    from staf.theory.registry import RESULTS as THEOREMS

    out = staf("theory").out
    assert [line.split()[0] for line in out.splitlines()] == [*THEOREMS, *ANALYSES]


def test_a_result_is_printed_and_drawn(staf, here):
    ran = staf("theory", "potential-frequencies", "--out", "f.png")
    assert "Potential frequencies" in ran.out
    assert open_signal("f.png").width > 300
    assert "name another place with --out" in staf("theory", "potential-frequencies", "--out", "f.png").refused()


def test_a_fitted_field_can_be_looked_at(staf, picture):
    assert staf("fit", picture, "--steps", 2, "--model", "siren", "--out", "run").code == 0
    document = staf("theory", "gradient-gain", "--field", "run/model.safetensors", "--json").json
    assert document["figure"] == "runs/theory-gradient-gain.png"
    assert all(row["label"].startswith("network, layer") for row in document["rows"])


def test_an_unknown_result_suggests_the_nearest(staf):
    assert "did you mean kronecker?" in staf("theory", "kroneker").refused()


def test_a_field_the_result_does_not_apply_to_is_a_mistake(staf, picture):
    assert staf("fit", picture, "--steps", 2, "--model", "wire", "--out", "run").code == 0
    assert "does not apply" in staf("theory", "kronecker", "--field", "run/model.safetensors").refused()


def test_an_analysis_takes_a_field_and_a_signal(staf, picture):
    assert staf("fit", picture, "--steps", 2, "--model", "siren", "--out", "run").code == 0
    ran = staf("theory", "activation-maps", "--field", "run/model.safetensors", "--signal", picture, "--device", "cpu")
    assert ran.code == 0
    assert open_signal("runs/theory-activation-maps.png").width > 300


def test_a_theorem_needs_no_signal(staf, picture):
    assert "leave --signal" in staf("theory", "kronecker", "--signal", picture).refused()


def test_a_wrong_device_or_format_is_a_mistake_before_any_work(staf):
    assert "--device must be" in staf("theory", "ntk", "--device", "toaster").refused()
    assert "--out must end in .png" in staf("theory", "kronecker", "--out", "f.xyz").refused()
