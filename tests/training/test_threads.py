"""Steps use fewer threads while other programs take the processor."""

from __future__ import annotations

import pytest
import torch

from staf.training.threads import LATE, SOON, Threads


class Machine:
    """A processor with `free` cores: more threads than that wait for each other."""

    def __init__(self, free: float) -> None:
        self.free, self.now, self.spent = free, 0.0, 0.0
        self.used: list[int] = []

    def step(self) -> None:
        threads = torch.get_num_threads()
        self.used.append(threads)
        slowdown = 1.0 if threads <= self.free else 4 * threads / self.free
        wall = slowdown / threads
        self.now += wall
        self.spent += wall * min(threads, self.free)


@pytest.fixture(autouse=True)
def _four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def run(machine: Machine, steps: int, threads: Threads | None = None) -> Threads:
    threads = threads or Threads(wall=lambda: machine.now, processor=lambda: machine.spent)
    for _ in range(steps):
        threads.run(machine.step)
        assert torch.get_num_threads() == 4
    return threads


def test_an_idle_machine_is_never_tried_with_fewer():
    machine = Machine(free=4)
    run(machine, 200)
    assert set(machine.used) == {4}


def test_a_busy_machine_gets_fewer_and_a_free_one_gets_them_back():
    machine = Machine(free=2)
    threads = run(machine, 10)
    assert machine.used[:2] == [4, 2]
    assert threads.current == 2
    machine.free = 1
    run(machine, LATE + 2, threads)
    assert threads.current == 1
    machine.free = 4
    run(machine, LATE + 2, threads)
    assert threads.current == 4


def test_fewer_threads_that_are_slower_are_given_up_and_tried_again():
    machine = Machine(free=2)
    machine.step = lambda: _slower(machine)
    threads = run(machine, 3 + 2 * SOON + 4 * SOON)
    assert threads.current == 4
    assert machine.used == [4, 2, *[4] * (2 * SOON), 2, *[4] * (4 * SOON)]


def _slower(machine: Machine) -> None:
    machine.used.append(torch.get_num_threads())
    machine.now += 4.0 / machine.used[-1]
    machine.spent += 8.0 / machine.used[-1]


def test_an_error_in_a_step_leaves_torch_as_it_was():
    threads = Threads()
    threads.current = 2

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        threads.run(fail)
    assert torch.get_num_threads() == 4
