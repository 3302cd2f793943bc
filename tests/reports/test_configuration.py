from __future__ import annotations

import pytest

from staf.reports.configuration import device_name


@pytest.mark.parametrize(("count", "said"), [(1, "1 core, 1 thread)"), (16, "16 cores, 16 threads)")])
def test_a_machine_is_described_in_words(count, said, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: count)
    monkeypatch.setattr("torch.get_num_threads", lambda: count)
    name = device_name("cpu")
    assert name.startswith("cpu (")
    assert name.endswith(said)
