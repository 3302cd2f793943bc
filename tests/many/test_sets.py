from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import staf
from staf._files import WriteError
from staf.many.units import UnitFitter
from staf.storage.sets import SetFolder
from staf.training import Interrupted, train


def pictures(count, size=6):
    rng = np.random.default_rng(0)
    return [(rng.random((size, size, 3)) * 255).astype(np.uint8) for _ in range(count)]


def small(steps=3):
    def factory(generator):
        return staf.staf(2, 3, width=8, depth=2, terms=2, generator=generator)

    return staf.Plan(factory, staf.recipes.default(steps=steps))


def fit(sources, out, **more):
    options = {"plan": small(), "out": out, "shards": True, "progress": False, "device": "cpu"} | more
    return staf.fit_many(sources, **options)


@pytest.fixture
def paths(tmp_path):
    out = []
    for number, picture in enumerate(pictures(7)):
        np.save(tmp_path / f"{number}.npy", picture)
        out.append(tmp_path / f"{number}.npy")
    return out


def weights(where):
    fields = staf.FieldSet(where)
    return {name: torch.cat([t.flatten() for t in fields[name].values()]) for name in fields.names}


def assert_same(one, other):
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("url", ["set", "memory://a-set"])
def test_fields_in_shards_are_those_of_single_fits(tmp_path, url):
    if "://" in url:
        pytest.importorskip("fsspec")
    out = url if "://" in url else tmp_path / url
    images = pictures(3)
    outcome = fit(images, out, tags=[{"number": i} for i in range(3)])
    assert outcome.place == os.fspath(out)
    fields = staf.FieldSet(out)
    for number, image in enumerate(images):
        alone = staf.fit(image, plan=small(), progress=False, device="cpu")
        assert all(torch.equal(fields[number][key], tensor) for key, tensor in alone.module.state_dict().items())
        assert fields.entries[number].metrics == alone.metrics == outcome.metrics[fields.names[number]]
        field = staf.FittedField(*fields.load(number))
        assert np.array_equal(field.render().array, alone.reconstruction.array)
        assert fields.entries[number].tags == {"number": number}


def test_no_bit_depends_on_the_unit_the_order_or_the_threads(paths, tmp_path, monkeypatch):
    other = tmp_path / "odd.npy"
    np.save(other, pictures(1, size=5)[0])
    fit([*paths, other], tmp_path / "a")
    monkeypatch.setattr("staf.many.units.UNIT_ON_CPU", 2)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        fit([other, *paths[::-1]], tmp_path / "b")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
    assert_same(weights(tmp_path / "a"), weights(tmp_path / "b"))
    fit([*paths, other], tmp_path / "c", at_once=4)
    together, alone = weights(tmp_path / "c"), weights(tmp_path / "a")
    assert all(torch.allclose(together[name], alone[name], atol=1e-4) for name in alone)


def test_a_broken_input_is_reported_and_retried_when_it_is_there(paths, tmp_path):
    late = tmp_path / "late.npy"
    outcome = fit([*paths[:2], late], tmp_path / "set")
    assert set(outcome.failures) == {"late"}
    assert "late" in staf.FieldSet(tmp_path / "set").failures
    np.save(late, pictures(1)[0])
    outcome = fit([*paths[:2], late], tmp_path / "set", resume=True)
    assert not outcome.failures
    assert len(outcome) == 3


def test_resume_fits_what_is_missing_and_what_has_changed(paths, tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(
        "staf.many.groups.train", lambda t, f, r, **o: trained.extend(o["names"]) or train(t, f, r, **o)
    )
    fit(paths[:4], tmp_path / "set")
    np.save(paths[1], 255 - pictures(2)[1])
    with pytest.raises(FileExistsError, match="resume=True"):
        fit(paths, tmp_path / "set")
    fit(paths, tmp_path / "set", resume=True)
    assert trained == ["0", "1", "2", "3", "4", "5", "6", "1"]
    fit(paths, tmp_path / "whole")
    assert_same(weights(tmp_path / "set"), weights(tmp_path / "whole"))
    with pytest.raises(staf.FileError, match="was begun with seed=0, got seed=1"):
        fit(paths, tmp_path / "set", resume=True, seed=1)
    del trained[:]
    fit(paths[:2], tmp_path / "set", overwrite=True)
    assert len(staf.FieldSet(tmp_path / "set")) == len(trained) == 2


def test_shards_that_a_killed_run_has_left_are_adopted(paths, tmp_path, monkeypatch):
    """The process dies between a shard and the index."""

    def killed(*arguments):
        raise SystemExit(137)

    monkeypatch.setattr("staf.many.writing.SHARD_SECONDS", 0.0)
    monkeypatch.setattr(SetFolder, "commit", lambda self, entries, failures: killed() if entries else None)
    with pytest.raises(SystemExit):
        fit(paths, tmp_path / "set")
    monkeypatch.undo()
    left = len(list((tmp_path / "set").glob("shards/[!.]*")))
    assert 0 < left < len(paths)
    assert_resumed_after(left, paths, tmp_path, monkeypatch)


def assert_resumed_after(finished, paths, tmp_path, monkeypatch):
    """A set that was left with some fits is finished by fitting the others alone, to the bits of one that was not."""
    trained = []
    monkeypatch.setattr(
        "staf.many.groups.train", lambda t, f, r, **o: trained.extend(o["names"]) or train(t, f, r, **o)
    )
    fit(paths, tmp_path / "set", resume=True)
    assert trained == [path.stem for path in paths[finished:]]
    fit(paths, tmp_path / "whole")
    assert_same(weights(tmp_path / "set"), weights(tmp_path / "whole"))


KILLED = """
import sys
import time
from pathlib import Path
from staf.many import groups as many_groups, writing as many_writing
from staf.training import train
from tests.many.test_sets import fit

fitted = []


def slow(*arguments, **options):
    # The third waits to be killed: two are finished, and their shards are written one by one.
    if len(fitted) == 2:
        while len(list(Path(sys.argv[1]).glob("shards/[!.]*"))) < 2:
            time.sleep(0.01)
        print("fitting", flush=True)
        sys.stdin.read()
    fitted.append(options["names"])
    return train(*arguments, **options)


many_writing.SHARD_SECONDS, many_groups.train = 0.0, slow
fit(sys.argv[2:], sys.argv[1])
"""


def test_a_process_that_is_killed_loses_nothing_that_is_finished(paths, tmp_path, monkeypatch):
    words = [sys.executable, "-c", KILLED, str(tmp_path / "set"), *map(str, paths)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline() == b"fitting\n"
        process.kill()
    assert_resumed_after(2, paths, tmp_path, monkeypatch)


def test_signals_and_fields_behind_urls(paths, tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for path in paths[:2]:
        memory.pipe_file(f"/signals/{path.name}", path.read_bytes())
    urls = ["memory://signals/0.npy", "memory://signals/1.npy", "memory://signals/none.npy"]
    outcome = fit(urls, "memory://fields")
    assert list(outcome.metrics) == ["0", "1"]
    assert outcome.failures == {"none": "cannot open 'memory://signals/none.npy': there is no such file"}
    assert staf.open(urls[0]).source == urls[0]
    assert np.array_equal(staf.open(urls[0]).array, staf.open(f"file://{paths[0]}").array)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    held = staf.open(urls[1])
    assert len(list((tmp_path / "scratch").iterdir())) == 1
    del held
    assert not list((tmp_path / "scratch").iterdir()), "the file goes with the signal"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("no-such-scheme://a", "no-such-scheme:// must be file, memory, s3"),
        ("dropbox://a/b", "needs a library that is not installed: .*dropbox"),
    ],
)
def test_stores_that_cannot_be_opened_are_named(url, message):
    pytest.importorskip("fsspec")
    with pytest.raises((OSError, ImportError), match=message):
        staf.FieldSet(url)
    with pytest.raises((OSError, ImportError), match=message):
        fit(pictures(1), url)


def test_a_full_disk_keeps_what_is_written_and_says_how_to_continue(paths, tmp_path, monkeypatch):
    import staf.storage.sets.place as place

    real, written = place.atomic_write, []

    def full(path, data):
        if "shards" in str(path):
            written.append(path)
            if len(written) > 3:
                raise WriteError(errno.ENOSPC, f"cannot write {path}: the disk is full")
        real(path, data)

    monkeypatch.setattr("staf.many.writing.SHARD_SECONDS", 0.0)
    monkeypatch.setattr(place, "atomic_write", full)
    with pytest.raises(WriteError, match=r"disk is full; 3 fields are in .*resume=True"):
        fit(paths, tmp_path / "set")
    monkeypatch.undo()
    assert len(staf.FieldSet(tmp_path / "set")) == 3
    fit(paths, tmp_path / "set", resume=True)
    fit(paths, tmp_path / "whole")
    assert_same(weights(tmp_path / "set"), weights(tmp_path / "whole"))


def test_ctrl_c_keeps_what_is_finished(paths, tmp_path, monkeypatch):
    calls = []

    def stop(tasks, fields, recipe, **options):
        calls.append(len(tasks))
        if len(calls) == 3:
            raise Interrupted("stopped", None, signal.SIGINT, 1)
        return train(tasks, fields, recipe, **options)

    monkeypatch.setattr("staf.many.groups.train", stop)
    with pytest.raises(Interrupted, match=r"Ctrl-C; finished fits are in .*resume=True"):
        fit(paths, tmp_path / "set")
    assert staf.FieldSet(tmp_path / "set").names == ["0", "1"]


def test_a_data_loader_stacks_weights_and_filters_choose(paths, tmp_path):
    tags = [{"digit": i % 3} for i in range(7)]
    fit(paths, tmp_path / "set", tags=tags)
    fields = staf.FieldSet(tmp_path / "set", target="digit")
    loader = DataLoader(fields, batch_size=4, num_workers=1)
    found = [(batch["output.bias"].shape, digits.tolist()) for batch, digits in loader]
    assert found == [(torch.Size([4, 3]), [0, 1, 2, 0]), (torch.Size([3, 3]), [1, 2, 0])]
    ones = fields.where(lambda entry: entry.tags["digit"] == 1)
    assert ones.names == ["1", "4"]
    chosen = fields.select(["4", "1"]).stack()
    assert chosen.names == ["4", "1"]
    assert torch.equal(chosen.tensors["output.bias"][0], fields["4"][0]["output.bias"])
    assert fields[np.int64(4)][1] == fields[torch.tensor(4)][1] == 1
    packed = fields.copy(tmp_path / "packed", per_shard=3)
    assert len(packed.place.names("shards")) == 3
    assert_same(weights(tmp_path / "packed"), weights(tmp_path / "set"))
    assert packed.load(0)[1] == fields.load(0)[1]
    with pytest.raises(KeyError, match="nobody"):
        fields["nobody"]
    with pytest.raises(ValueError, match="target must be a tag of every field"):
        staf.FieldSet(tmp_path / "set", target="colour")


def test_a_folder_of_files_is_a_set_too(paths, tmp_path):
    staf.fit_many(paths[:3], plan=small(), out=tmp_path / "files", progress=False, device="cpu")
    fields = staf.FieldSet(tmp_path / "files")
    assert fields.names == ["0", "1", "2"]
    single = staf.load(tmp_path / "files" / "fields" / "1.safetensors").module.state_dict()
    assert all(torch.equal(fields["1"][key], tensor) for key, tensor in single.items())
    with pytest.raises(FileExistsError, match="files of their own"):
        fit(paths, tmp_path / "files")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seconds": 1.0}, "give steps and not seconds"),
        ({"target_db": 30.0}, "give steps and not target_db"),
        ({"tags": [{}]}, "tags must be as many as the signals, got 1 and 2"),
        ({"out": None}, "need out=FOLDER or a URL"),
        ({"cluster": "local", "callbacks": [print]}, "cannot go with a cluster"),
        ({"shards": False, "tags": [{}, {}]}, "tags are kept in shards"),
    ],
)
def test_what_a_set_cannot_do_is_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        fit(pictures(2), **{"out": tmp_path / "set", **options})


def test_a_key_names_data_recipe_network_start_and_seed(tmp_path):
    from staf.many.units import Source, Work, key_of

    def key(picture, seed=0, steps=3, width=8):
        plan = staf.Plan(
            lambda generator: staf.siren(2, 3, width=width, depth=2, generator=generator), staf.Recipe(steps=steps)
        )
        work = Work(str(tmp_path), None, plan, None, "size", staf.Budget(), seed, "cpu", None)
        (job,) = UnitFitter(work).prepare([Source("a", picture, {})]).jobs
        return key_of(job, seed)

    one, other = pictures(2)
    assert key(one) == key(one.copy())
    assert len({key(one), key(other), key(one, seed=1), key(one, steps=4), key(one, width=9)}) == 5
