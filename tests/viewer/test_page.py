"""The page is one file that loads nothing, and nothing that is written into it can act as markup."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from staf.api import FittedField
from staf.export.errors import ExportError
from staf.kinds import Audio
from staf.viewer.page import export_html, page
from staf.viewer.payload import Payload
from tests.export.fields import audio_field, image_field, shape_field
from tests.export.networks import make


def description(text: str) -> dict:
    return json.loads(re.search(r'id="description">(.*?)</script>', text, re.DOTALL)[1])


def numbers(text: str) -> bytes:
    return base64.b64decode(re.search(r'id="numbers">(.*?)</script>', text)[1])


def test_names_cannot_become_markup():
    field = image_field(width=8, depth=2)
    field.metadata["signal"]["name"] = '</script><script>alert(1)</script><!-- "\u202e'
    text = page(field)
    assert "<script>alert" not in text
    assert text.count("<script") == text.count("</script>") == 3
    assert description(text)["meaning"]["name"].startswith("</script>")
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in text
    assert "\u202e" not in text.split('id="description"')[0]


def test_the_policy_allows_this_script_and_style_alone():
    text = page(image_field(width=8, depth=2))
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)[1].split("; ")
    assert policy[0] == "default-src 'none'"
    assert [rule for rule in policy if rule.startswith(("script-src", "connect-src"))] == [policy[3]]
    assert "unsafe" not in text.split("</head>")[0]
    assert not re.search(r"<[^>]*\son\w+\s*=", text.split("<script>")[0])
    assert not re.search(r"<[^>]*\sstyle\s*=", text.split("<script>")[0])
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert "http" not in text.replace("http-equiv", "")


def test_nothing_of_the_makers_machine_is_inside(tmp_path: Path):
    wave = Audio(
        np.ones(100, np.float32), 8000, name="click", source=str(tmp_path / "secret.wav"), notes=[f"from {tmp_path}"]
    )
    field = FittedField(
        make("staf", 1, 1, width=8), {"signal": wave.metadata(), "device": "cuda", "folder": str(tmp_path)}
    )
    text = export_html(field, tmp_path / "out" / "a.html").read_text("utf-8")
    assert str(tmp_path) not in text
    assert "secret" not in text


def test_the_numbers_are_the_weights():
    field = image_field("siren", width=8, depth=2)
    text = page(field)
    entry = description(text)["steps"][2]["arrays"]["weight"]
    weight = np.frombuffer(numbers(text), np.float32, 64, entry["at"]).reshape(entry["shape"])
    assert torch.equal(torch.from_numpy(weight.copy()), field.module.layers[1].weight)


def test_halves_are_used_where_they_do_no_harm():
    field = image_field(width=64, depth=3)
    whole, half = page(field), page(field, half=True)
    assert len(numbers(half)) < 0.55 * len(numbers(whole))
    types = [{name: array["type"] for name, array in step["arrays"].items()} for step in description(half)["steps"]]
    assert types[0] == {"weight": "f32", "bias": "f32"}
    assert types[2] == {"weight": "f16", "bias": "f32"}
    assert set(types[1].values()) == {"f32"}
    assert "float16 and float32, " in half
    assert "float32, " in whole
    assert "float16" not in whole.split("<script")[0]


def test_views_by_kind_and_by_coordinates():
    kinds = {"picture": image_field(width=8), "sound": audio_field(width=8), "surface": shape_field(width=8)}
    for view, field in kinds.items():
        assert description(page(field))["view"]["type"] == view
    for inputs, view in ((1, "trace"), (2, "picture"), (3, "slices"), (4, "slices")):
        assert description(page(FittedField(make("staf", inputs, width=8), {})))["view"]["type"] == view


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(ExportError, match="up to 4 coordinates, and this one has 5"):
        page(FittedField(make("staf", 5, width=8), {}))
    field = image_field(width=8)
    with torch.no_grad():
        field.module.output.bias.fill_(float("nan"))
    with pytest.raises(ExportError, match="not finite"):
        page(field)
    with pytest.raises(ExportError, match="its description holds a number that is not finite"):
        Payload({"view": {"scale": [float("inf")]}}, b"").to_bytes()
