"""Some seconds of damaged files of every kind, and the files that once did not end as they must."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.runner import CORPUS, run
from tests.fuzz.target import Target
from tests.fuzz.targets import MAKERS, make_targets
from tests.fuzz.worker import outcome

# How long damaged files are opened; make fuzz does it without end.
SECONDS = float(os.environ.get("STAF_FUZZ_SECONDS", "10"))
KEPT = sorted(path for path in CORPUS.iterdir() if not path.name.startswith("."))


@pytest.fixture(scope="module")
def targets(tmp_path_factory) -> dict[str, Target]:
    names = {path.name.split("-")[0] for path in KEPT}
    made = make_targets(tmp_path_factory.mktemp("fuzz"), sorted(names))
    return {target.name: target for target in made}


@pytest.mark.parametrize("path", KEPT, ids=[path.name for path in KEPT])
def test_a_file_that_once_failed_ends_as_it_must(path, targets, tmp_path):
    target = targets[path.name.split("-")[0]]
    kind, detail = outcome(target, path.read_bytes(), tmp_path / target.file)
    assert kind == "fine", detail


@pytest.mark.timeout(SECONDS + 280)
def test_damaged_files_of_every_kind_end_as_they_must(tmp_path):
    counts, found = run(tmp_path, SECONDS, seed=0)
    assert found == []
    assert set(counts) == set(MAKERS)
    print(f"{sum(counts.values()):,} damaged files in {SECONDS:.0f} s")
