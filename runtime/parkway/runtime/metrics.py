"""Every metric: its name, what it counts, and what to do when it grows. docs/observability.md lists the same.

Counters appear in Prometheus with `_total` behind their name, histograms with `_bucket`, `_sum` and `_count`.
"""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram, Info

_SECONDS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30)
_LONG_SECONDS: Final = (0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800)
_RECORDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

# -- routers and workers

PLAN = Info(
    "parkway_plan", "The plan that this process runs, by its build. Two values at once for long: a rollout is stuck"
)
REBALANCES = Counter(
    "parkway_rebalances",
    "Assignments got from the group. Grows without a deployment: members time out; look at CPU and /healthz",
    ["group"],
)
ASSIGNED = Gauge(
    "parkway_assigned_partitions",
    "Partitions that this process owns. 0 for ever: there are more processes than partitions",
    ["group"],
)
TRANSACTION_SECONDS = Histogram(
    "parkway_transaction_seconds",
    "Seconds of one transaction, without aborted attempts of it. Grows: look at the brokers",
    ["role"],
    buckets=_SECONDS,
)
TRANSACTION_RECORDS = Histogram(
    "parkway_transaction_records",
    "Records that one transaction completes: the batch. Always at its largest: add processes",
    ["role"],
    buckets=_RECORDS,
)
ABORTED = Counter(
    "parkway_transactions_aborted",
    "Transactions that aborted and were produced again. Grows: the log says why; look at the brokers",
    ["role"],
)
RECOVERIES = Counter(
    "parkway_recoveries",
    "Producers made anew: a call had to be repeated, or a fatal error, such as a broker that was away for longer than "
    "the transaction timeout. Grows: look at the brokers, or two processes share an instance",
    ["transactional_id"],
)
DEAD = Counter("parkway_dlq", "Records sent to the DLQ. Grows: read the headers of those records", ["reason"])

# -- routers

TAKEN = Counter(
    "parkway_router_taken", "Records taken, by the topic's role (requests, events, sources): the rate in", ["source"]
)
ROUTED = Counter(
    "parkway_router_routed", "Events that matched an action, once per action: what triggers do", ["action"]
)
PUBLISHED = Counter(
    "parkway_router_published",
    "Records published and committed, by topic without its namespace (action.x, resume.x, dlq): the rate out",
    ["topic"],
)
NO_MATCH = Counter(
    "parkway_router_no_match",
    "Events that no trigger matched; types of the user count as `other`. Grows: check the triggers",
    ["type"],
)
TRIGGER_ERRORS = Counter(
    "parkway_router_trigger_errors",
    "Evaluations that ended in an error and counted as false. Grows: conditions meet fields they do not expect; use "
    "has(...). Where an event lacks a field that many triggers compare, about 16 of those are evaluated and counted, "
    "and at least one if any is an error: more than 0 means that there are errors, not how many",
    ["action"],
)
PLAN_REFUSED = Counter(
    "parkway_router_plan_refused",
    "Plans out of the plan topic that were not taken, the old one stays. Grows: read the log (plan_refused)",
)

# -- workers

LAG = Gauge(
    "parkway_worker_lag",
    "Records of this process's partitions that are not completed, taken or not. Grows: add workers (scale on it)",
    ["action"],
)
OLDEST_SECONDS = Gauge(
    "parkway_worker_oldest_unfinished_seconds",
    "Age of the oldest record in hand, from its timestamp. Grows: the lag in time; add workers, or a handler hangs",
    ["action"],
)
QUEUED = Gauge("parkway_worker_queued", "Records taken and not started. Full is normal under load", ["action"])
RUNNING = Gauge(
    "parkway_worker_running",
    "Handlers that run now. At PARKWAY_CONCURRENCY: raise it, or add workers",
    ["action"],
)
PARKED = Gauge(
    "parkway_worker_parked",
    "Requests that wait for a continuation. At PARKWAY_MAX_OPEN: look at who should answer, the tool workers",
    ["action"],
)
PARKED_BYTES = Gauge(
    "parkway_worker_parked_bytes",
    "Bytes of those parked records, in memory or on disk. Grows: long conversations; see PARKWAY_MAX_PARKED_BYTES",
    ["action"],
)
STATE_KEYS = Gauge(
    "parkway_worker_state_keys",
    "Record keys with `ctx.state`. Grows for ever: clear the state of keys that are done with",
    ["action"],
)
STATE_BYTES = Gauge(
    "parkway_worker_state_bytes",
    "Bytes of that state, in memory. Grows: see PARKWAY_MAX_STATE_BYTES",
    ["action"],
)
AWAITING_PERSON = Gauge(
    "parkway_worker_awaiting_person",
    "Those of them that stand still until a person has decided, counted apart. Grows: see `parkway approvals list`; "
    "at PARKWAY_MAX_AWAITING no new work is started",
    ["action"],
)
APPROVALS = Counter(
    "parkway_approvals",
    "Approvals of tool calls, by outcome (asked, approved, denied, expired). `expired` grows: nobody looks at them",
    ["tool", "outcome"],
)
HANDLED = Counter(
    "parkway_worker_handled",
    "Handlers that ended, by outcome (done, parked, again, expired, failed). `failed` grows: read the log and the DLQ",
    ["action", "outcome"],
)
HANDLER_SECONDS = Histogram(
    "parkway_worker_handler_seconds",
    "Seconds of one attempt of a handler. Grows: look at the model or tool that it waits for",
    ["action", "outcome"],
    buckets=_LONG_SECONDS,
)
ATTEMPTS_FAILED = Counter(
    "parkway_worker_attempts_failed",
    "Attempts of user actions and retrievals that raised, also when tried again. Grows: read the log",
    ["action"],
)
ENDED = Counter(
    "parkway_worker_requests_ended",
    "Requests that got their response, by how: answered, or the error's type. deadline_exceeded grows: too little "
    "capacity, or deadlines too short",
    ["action", "how"],
)
IGNORED = Counter(
    "parkway_worker_ignored",
    "Records completed without effect: repeated requests, responses that nobody waits for. Harmless",
    ["action", "reason"],
)
DEATHS = Gauge(
    "parkway_worker_deaths",
    "Deaths in a row that unfinished records are suspected of; from 2 on fewer run at once. Stays above 0: read the "
    "log (owner_died), look at exit codes, and stop workers by SIGTERM only",
    ["action"],
)
CONVICTED = Counter(
    "parkway_worker_convicted",
    "Records that killed their process and are not run again. Grows: read the DLQ (poison), mend the handler",
    ["action"],
)
BACK_OFF = Gauge(
    "parkway_worker_back_off",
    "Records that failed and wait for their next attempt. Grows: handlers fail; read the log (action_attempt_failed)",
    ["action"],
)
HELD_UP_PARTITIONS = Gauge(
    "parkway_worker_held_up_partitions",
    "Partitions that nothing more is taken of for now: one record holds up too many behind it. Stays: it runs long, or "
    "its key fails (action_attempt_failed)",
    ["action"],
)
LIMITED = Gauge(
    "parkway_worker_limited",
    "Records that wait for a rate or concurrency limit. Grows: raise the limit, or send less; more workers do not help",
    ["action"],
)
LIMIT_WAIT = Histogram(
    "parkway_limit_wait_seconds",
    "Seconds that a call waited for the limit of its chat model or action. Grows: as parkway_worker_limited",
    ["limit"],
    buckets=_LONG_SECONDS,
)
CANCELLED = Counter(
    "parkway_worker_cancelled",
    "Requests ended by a cancellation: parked, running, queued; not_here: it is remembered until its request comes",
    ["action", "state"],
)
RESTORE_SECONDS = Histogram(
    "parkway_worker_restore_seconds",
    "Seconds from an assignment to its first take: committed offsets and parked records are read. Grows: "
    "a dead owner's open transaction is waited for, or the parked topic is not compacted",
    ["action"],
    buckets=_LONG_SECONDS,
)

# -- models, vector stores and tools, in workers

MODEL_SECONDS = Histogram(
    "parkway_model_call_seconds",
    "Seconds of one call of a model, by outcome (ok, or the error's type). Grows: the provider is slow, or limits you",
    ["model", "outcome"],
    buckets=_LONG_SECONDS,
)
MODEL_TOKENS = Counter(
    "parkway_model_tokens", "Tokens that providers counted, by kind (input, output): the bill", ["model", "kind"]
)
MODEL_RETRIES = Counter(
    "parkway_model_retries",
    "Calls that repeat one that failed or whose reply was of no use. Grows: the provider's limits or outages",
    ["model"],
)
DECISION_SECONDS = Histogram(
    "parkway_decision_seconds",
    "Seconds of one call of a decision model, table or function, by outcome (ok, or the error's type)",
    ["model", "outcome"],
    buckets=_LONG_SECONDS,
)
TOOL_SECONDS = Histogram(
    "parkway_tool_call_seconds",
    "Seconds of one tool call, by outcome (ok, failed, timeout, bad_arguments). bad_arguments grows: describe the "
    "tool better. A tool that does not exist counts as tool `unknown`",
    ["tool", "outcome"],
    buckets=_LONG_SECONDS,
)
RETRIEVAL_SECONDS = Histogram(
    "parkway_retrieval_seconds",
    "Seconds of one query of a vector store, its embedding included, by outcome (ok, empty, failed, "
    "timeout, cancelled). `empty` grows: nothing is in the store, or nothing that its filter lets through",
    ["store", "outcome"],
    buckets=_LONG_SECONDS,
)
