"""Asking who is in a group ends no process, whatever the broker does meanwhile."""

import subprocess
import sys
import time

from parkway.testing.kafka import PipKafka

# In a process of its own, as the fault is an abort of librdkafka's. It stays for as long as a late answer could come.
ASK = """
import sys, time
from parkway.runtime import membership
from parkway.runtime.settings import Settings

settings = Settings(bootstrap_servers=sys.argv[1], namespace="members")
membership.wait_for_dead_members(settings, "members.nobody", "members.here")
print("connected", flush=True)
sys.stdin.readline()
membership.wait_for_dead_members(settings, "members.nobody", "members.here")
print("asked", flush=True)
sys.stdin.readline()
membership.wait_for_dead_members(settings, "members.nobody", "members.here")
time.sleep(1)
"""


def test_a_broker_that_stands_still_for_longer_than_a_question_may_take() -> None:
    with PipKafka() as kafka:
        asking = subprocess.Popen(
            [sys.executable, "-c", ASK, kafka.bootstrap_servers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert asking.stdin is not None
        assert asking.stdout is not None
        assert asking.stdout.readline() == "connected\n"
        kafka.pause()
        began = time.monotonic()
        asking.stdin.write("\n")
        asking.stdin.flush()
        assert asking.stdout.readline() == "asked\n"
        assert time.monotonic() - began > 4, "it has not asked in vain"
        kafka.resume()
        _, errors = asking.communicate("\n", timeout=60)
        assert asking.returncode == 0, errors
