"""A process whose thread stands still ends; one that is slow, or was stopped, does not."""

import os
import signal
import subprocess
import sys
import time

_SCRIPT = """
import os, sys, threading, time
from parkway.runtime.logs import configure_logs
from parkway.runtime.watchdog import Heartbeat, Watchdog

configure_logs()

def beats():
    with Heartbeat(1.0) as heart:
        print("begun", flush=True)
        for _ in range(40):
            heart.beat()
            time.sleep(0.05)

def ends():
    with Heartbeat(0.4):
        pass
    print("begun", flush=True)
    time.sleep(1.5)

def stands():
    with Heartbeat(0.4):
        print("begun", flush=True)
        threading.Event().wait(60)

def hangs():
    print("begun", flush=True)
    with Watchdog().watch("commit", 0.4):
        threading.Event().wait(60)

thread = threading.Thread(target=globals()[sys.argv[1]], name="poll-thread")
thread.start()
thread.join()
"""


def start(what: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, what], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def test_a_thread_that_stands_still_ends_the_process_which_says_where_it_stands() -> None:
    process = start("stands")
    _, log = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "thread_stands_still" in log
    assert "poll-thread" in log
    assert "in stands" in log


def test_a_thread_that_comes_by_does_not() -> None:
    process = start("beats")
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_thread_that_has_left_is_not_watched_any_more() -> None:
    process = start("ends")
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_process_that_was_stopped_finds_no_time_gone_by() -> None:
    process = start("beats")
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(2.5)  # longer than a beat may be away: that is the case under test
    os.kill(process.pid, signal.SIGCONT)
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_call_that_never_returns_ends_the_process_by_its_name() -> None:
    process = start("hangs")
    _, log = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "call_never_returned" in log
    assert "commit" in log
