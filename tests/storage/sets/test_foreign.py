from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

import staf
from staf.storage import FileError
from staf.storage.sets.foreign import convert_sirens


def theirs(seed=0, width=6):
    torch.manual_seed(seed)
    sizes = [(2, width), (width, width), (width, width), (width, 1)]
    return torch.nn.ModuleDict({"seq": torch.nn.ModuleList([torch.nn.Linear(i, o) for i, o in sizes])})


def call(network, x, omega0, hidden, offset):
    *layers, last = network["seq"]
    for number, layer in enumerate(layers):
        x = torch.sin((hidden if number else omega0) * layer(x))
    return last(x) + offset


@pytest.mark.parametrize("form", ["torch", "nested", "safetensors"])
def test_the_converted_field_has_their_values(tmp_path, form):
    networks = [theirs(seed) for seed in range(3)]
    files = []
    for number, network in enumerate(networks):
        # As the networks of Navon et al. (2023) on MNIST lie in their folders.
        folder = tmp_path / f"mnist_png_training_{number}_7" / "checkpoints"
        folder.mkdir(parents=True)
        file = folder / ("model.safetensors" if form == "safetensors" else "model.pth")
        state = network.state_dict()
        if form == "safetensors":
            save_file(state, file)
        else:
            torch.save({"state_dict": state, "epoch": 3} if form == "nested" else state, file)
        files.append(file)
    tags = [{"digit": number} for number in range(3)]
    fields = convert_sirens(
        files, tmp_path / "set", omega0=20.0, hidden_omega0=10.0, offset=0.5, tags=tags, per_shard=2
    )
    assert fields.names == [f"mnist_png_training_{number}_7-checkpoints-model" for number in range(3)]
    assert len(fields.place.names("shards")) == 2
    x = torch.rand(5, 2, generator=torch.Generator().manual_seed(0))
    for number, network in enumerate(networks):
        field, metadata = fields.load(number)
        torch.testing.assert_close(field(x), call(network, x, 20.0, 10.0, 0.5))
        assert metadata["tags"] == {"digit": number}
    assert staf.FieldSet(tmp_path / "set").stack().matrix().shape == (3, 109)


class Evil:
    def __reduce__(self):
        return print, ("pwned",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (Evil(), "is not a file of tensors"),
        ({"a": 1}, "holds no state dict"),
        ({"w": torch.zeros(3, 2), "b": torch.zeros(3)}, "linear layers of one width"),
        (theirs().state_dict() | {"scale": torch.zeros(1)}, "linear layers of one width"),
    ],
)
def test_what_is_no_siren_is_refused(tmp_path, content, message, capsys):
    torch.save(content, tmp_path / "a.pth")
    with pytest.raises(FileError, match=message):
        convert_sirens([tmp_path / "a.pth"], tmp_path / "set")
    assert "pwned" not in capsys.readouterr().out


def test_a_missing_file_and_wrong_tags(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        convert_sirens([tmp_path / "none.pth"], tmp_path / "set")
    with pytest.raises(ValueError, match="at least one file, got none"):
        convert_sirens([], tmp_path / "set")
    with pytest.raises(ValueError, match="tags must be as many as the files"):
        convert_sirens([tmp_path / "none.pth"], tmp_path / "other", tags=[])
