"""torch.jit.trace and torch.export follow the formulas: they would keep the empty buffers that kernels fill."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import warnings

import torch
from staf.nn import NETWORKS

warnings.simplefilter("ignore")
x, other = torch.rand(40, 2), torch.rand(40, 2)
for name, spec in NETWORKS.items():
    if name == "incode":
        continue
    network = spec.factory(2, 1, width=16, generator=torch.Generator().manual_seed(0))
    for traced in (torch.jit.trace(network, x, check_trace=False), torch.export.export(network, (x,)).module()):
        # Sines of large angles: the kernels reduce them more exactly than the formula does.
        torch.testing.assert_close(traced(other), network(other), rtol=1e-3, atol=1e-4)
    print(name)
"""


def test_a_traced_network_computes_what_the_network_computes():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert len(done.stdout.split()) >= 11, done.stderr
