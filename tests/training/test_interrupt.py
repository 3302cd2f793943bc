from __future__ import annotations

import os
import signal
import threading

import pytest

from staf.training.interrupt import watch


def test_the_first_signal_is_remembered_and_the_second_is_not_held_back():
    with watch() as interruption:
        assert not interruption
        os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.signal_number == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert interruption.take() == signal.SIGINT


def test_a_signal_that_nobody_took_goes_to_the_handler_before():
    with pytest.raises(KeyboardInterrupt), watch():
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_ignored_signal_stays_ignored(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with watch() as interruption:
            os.kill(os.getpid(), number)
            assert not interruption
    finally:
        signal.signal(number, before)


def test_handlers_come_back_even_after_an_error():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(RuntimeError), watch():
        raise RuntimeError
    assert signal.getsignal(signal.SIGTERM) is before


def test_other_threads_leave_handlers_alone():
    before, inside = signal.getsignal(signal.SIGINT), []

    def work():
        with watch():
            inside.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [before]
