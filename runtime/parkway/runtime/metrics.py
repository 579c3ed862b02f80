"""Every metric, with what it counts and what to do when it grows. Exposed on PARKWAY_METRICS_PORT."""

from prometheus_client import Counter, Gauge, Histogram, start_http_server

from parkway.runtime.settings import SettingsError

# Router
ROUTED = Counter("parkway_router_routed", "Records published to an action's topic", ["action"])
TAKEN = Counter("parkway_router_taken", "Records taken, by the topic's role (requests, events, sources)", ["source"])
NO_MATCH = Counter("parkway_router_no_match", "Events that no trigger matched: check the triggers", ["type"])
DEAD = Counter("parkway_dlq", "Records sent to the DLQ: read its headers", ["reason"])
TRIGGER_ERRORS = Counter(
    "parkway_router_trigger_errors",
    "Evaluations that ended in an error (counted as false). Where an event lacks a field that many triggers compare, "
    "about 16 of those are evaluated and counted, and at least one if any is an error: more than 0 means that there "
    "are errors, not how many",
    ["action"],
)
PLAN_REFUSED = Counter(
    "parkway_router_plan_refused",
    "Plans out of the plan topic that were not taken, the old one stays: read the log (plan_refused)",
)

# Worker
HANDLED = Counter("parkway_worker_handled", "Handlers that ended, by outcome", ["action", "outcome"])
IGNORED = Counter(
    "parkway_worker_ignored",
    "Records completed without effect: stale responses, repeats",
    ["action", "reason"],
)
RUNNING = Gauge("parkway_worker_running", "Handlers that run now", ["action"])
PARKED = Gauge("parkway_worker_parked", "Requests that wait for a continuation", ["action"])
LAG = Gauge("parkway_worker_lag", "Records taken and not completed: scale out when it grows", ["action"])
TRANSACTION_SECONDS = Histogram(
    "parkway_transaction_seconds",
    "Time of one transaction",
    ["role"],
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30),
)
ABORTED = Counter("parkway_transactions_aborted", "Transactions that aborted and were produced again", ["role"])


def serve_metrics(port: int | None) -> None:
    """Expose the metrics over HTTP on `port`; None: not at all."""
    if port is None:
        return
    try:
        start_http_server(port)
    except OSError as error:
        raise SettingsError(f"PARKWAY_METRICS_PORT {port}: {error.strerror}; give each process its own") from None
