"""What a step frees stays with the process."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

# Rounds of eight blocks of 8 MiB, as a step makes them; prints the pages asked of the system per round.
SCRIPT = """
import resource, sys, torch
from staf.training.memory import keep_freed_memory
if "keep" in sys.argv:
    print(keep_freed_memory())
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def step():
    blocks = [torch.ones(2**21) for _ in range(8)]
for _ in range(3):
    step()
before = faults()
for _ in range(5):
    step()
print((faults() - before) // 5)
"""
THRESHOLDS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES", "LD_PRELOAD")


def run(*arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if name not in THRESHOLDS}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**clean, **environment},
    )
    return done.stdout.split()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="not glibc")
def test_a_second_step_asks_the_system_for_no_pages():
    kept, pages = run("keep")
    assert kept == "True"
    # By default it is some 16,000 pages, or none where the heap happens to lie so that it is not trimmed.
    assert int(pages) < 200


def test_thresholds_of_the_environment_are_left_alone():
    assert run("keep", MALLOC_TRIM_THRESHOLD_="131072")[0] == "False"
