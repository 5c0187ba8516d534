"""The queue of writes: in order, bounded, once per key, drained before it closes."""

from __future__ import annotations

import threading
import time

import pytest

from graphmem.errors import OwnerError, VaultBusyError
from graphmem.serve.owner import seconds
from graphmem.serve.writes import WriteQueue


def test_runs_wait_for_each_other_and_notes_pass_them() -> None:
    queue, running, most, free = WriteQueue(), 0, 0, threading.Event()

    def run() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        free.wait(10)
        running -= 1

    threads = [
        threading.Thread(target=queue.run, args=(run,), kwargs={"long": True}) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    assert queue.run(lambda: 7) == 7
    assert queue.busy
    free.set()
    for thread in threads:
        thread.join()
    assert most == 1
    assert not queue.busy


def test_a_full_queue_refuses_with_a_hint_and_recovers() -> None:
    queue, free = WriteQueue(bound=1, patience_s=0.05), threading.Event()
    holding = threading.Thread(target=queue.run, args=(free.wait,))
    holding.start()
    while not queue.busy:
        time.sleep(0.005)
    with pytest.raises(VaultBusyError, match="try again") as caught:
        queue.run(lambda: 1)
    assert caught.value.retry_after_s > 0
    free.set()
    holding.join()
    assert queue.run(lambda: 2) == 2


def test_an_error_reaches_the_caller_and_frees_the_place() -> None:
    queue = WriteQueue(bound=1, patience_s=0.5)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            queue.run(lambda: 1 / 0)
    assert queue.run(lambda: 1) == 1


def test_draining_finishes_what_was_accepted_and_takes_no_more() -> None:
    queue, done = WriteQueue(), []
    threads = [
        threading.Thread(target=queue.run, args=(lambda: (time.sleep(0.01), done.append(1)),))
        for _ in range(10)
    ]
    for thread in threads:
        thread.start()
    while not done:
        time.sleep(0.002)
    queue.drain()
    assert len(done) == 10
    with pytest.raises(OwnerError, match="stopping") as caught:
        queue.run(lambda: 1)
    assert caught.value.stopping


@pytest.mark.parametrize(
    ("text", "value"), [("45s", 45.0), ("30m", 1800.0), ("1.5h", 5400.0), ("never", None)]
)
def test_durations_are_read(text: str, value: float | None) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "30", "m", "-1m", "1 m", "1w"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(Exception, match="duration"):
        seconds(text)
