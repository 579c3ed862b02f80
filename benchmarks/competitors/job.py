"""What a program is asked to do, in its environment. Nothing but the standard library is imported here."""

import os
from collections.abc import Callable
from typing import Any

from conditions import MATCH

BOOTSTRAP = os.environ["BENCH_BOOTSTRAP"]
SOURCE = os.environ["BENCH_SOURCE"]
SINK = os.environ.get("BENCH_SINK", "")  # what the topics of the actions begin with
GROUP = os.environ["BENCH_GROUP"]
GUARANTEE = os.environ.get("BENCH_GUARANTEE", "")
OUTPUTS = os.environ.get("BENCH_OUTPUTS", "")  # where a worker's handler sends to
ECHO = bool(OUTPUTS)
ACTIONS = [f"a{number}" for number in range(10)]
TOPICS = {action: f"{SINK}{action}" for action in ACTIONS}

match: Callable[[dict[str, Any]], list[str]] = MATCH[os.environ.get("BENCH_WORKLOAD", "orders")]
