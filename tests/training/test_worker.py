"""A thread that a signal cannot leave behind."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from staf.nn import siren
from staf.training.stacked import Copies
from staf.training.worker import Worker


class Stop(BaseException):
    pass


@pytest.fixture
def raising():
    """A handler of SIGTERM that raises, as that of the command does."""

    def hear(number, frame):
        raise Stop

    before = signal.signal(signal.SIGTERM, hear)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_signal_while_the_thread_starts_is_heard_once_it_runs(monkeypatch, raising):
    start, waited_for = threading.Thread.start, []

    def interrupted(thread):
        os.kill(os.getpid(), signal.SIGTERM)
        start(thread)
        waited_for.append(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(Stop):
        Worker()
    # A handler that raised before would have kept the thread from starting.
    assert len(waited_for) == 1
    waited_for[0].join(timeout=10)
    assert not waited_for[0].is_alive()


def test_work_is_done_by_one_thread_of_that_name():
    with Worker("tiles") as worker:
        names = {worker.submit(lambda: threading.current_thread().name).result() for _ in range(3)}
    assert names == {"tiles_0"}


def test_copies_that_are_asked_for_at_once_need_no_thread():
    before = threading.active_count()
    copies = Copies(siren(2, 1, width=8, depth=2), 2)
    assert copies[1] is not copies[0]
    assert threading.active_count() == before
