"""A thread beside the main one, which a signal cannot leave behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from staf.training import interrupt


class Worker(ThreadPoolExecutor):
    """An executor of one thread, which is started here, while no handler of a signal can raise.

    A handler that raises within `Thread.start` leaves a thread that has not begun and is not joined. If
    Python ends before it begins, the process aborts instead of ending with its own exit code.

    >>> with Worker() as worker:
    ...     worker.submit(max, 2, 3).result()
    3
    """

    def __init__(self, name: str = "staf") -> None:
        super().__init__(1, thread_name_prefix=name)
        with interrupt.watch():
            self.submit(int).result()
