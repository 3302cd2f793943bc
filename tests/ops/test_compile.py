"""Inside torch.compile the plain formulas are traced; run apart, since shape checks cannot be traced."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import torch
from staf import ops

sets = [torch.rand(4, dtype=torch.float64).requires_grad_() for _ in range(3)]
x = torch.rand(5, 3, dtype=torch.float64).requires_grad_()
layout = ops.GridLayout.geometric(3, levels=2, log2_entries=4, coarsest=2, growth=2.0)
table = torch.rand(layout.entries, 2, dtype=torch.float64).requires_grad_()
calls = {
    "hash_grid": lambda value: ops.hash_grid(value, table, layout),
    "sine_series": lambda value: ops.sine_series(value, *sets),
    "sine": lambda value: ops.sine(value, 3.0),
    "finer": lambda value: ops.finer(value, 3.0),
    "gauss": lambda value: ops.gauss(value, 3.0),
}

class Module(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, value):
        return 2 * self.call(value)

for name, call in calls.items():
    with ops.record_backends() as ran:
        found = torch.compile(Module(call), backend="aot_eager", fullgraph=True)(x)
    assert ran == [], ran
    with ops.backend("reference"):
        expected = 2 * call(x)
    torch.testing.assert_close(found, expected)
    wanted = (x, *{"sine_series": sets, "hash_grid": [table]}.get(name, []))
    for mine, true in zip(torch.autograd.grad(found.sum(), wanted), torch.autograd.grad(expected.sum(), wanted)):
        torch.testing.assert_close(mine, true)
    print(name)
"""


def test_modules_using_the_operations_compile_into_one_graph():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.stdout.split() == ["hash_grid", "sine_series", "sine", "finer", "gauss"], done.stderr
