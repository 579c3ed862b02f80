"""What a running installation shows of itself: traces, metrics, health, logs. On a real Kafka."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from collector import Collected, Collector, collector
from installation import Installation, event, wait_for
from prometheus_client.parser import text_string_to_metric_families

SAMPLED = "0af7651916cd43dd8448eb211c80319c"
NOT_SAMPLED = "1bf7651916cd43dd8448eb211c80319c"
PRODUCER = "b7ad6b7169203331"


@pytest.fixture
def traces() -> Iterator[Collector]:
    with collector() as one:
        yield one


class Page:
    """The HTTP port of a process, as its log names it."""

    def __init__(self, here: Installation, name: str) -> None:
        def port() -> int | None:
            said = [line["port"] for line in here.log_lines(name) if line["event"] == "http_listening"]
            return said[-1] if said else None

        self.port = str(wait_for(f"the port of {name}", port))
        self._base = f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(self._base + path, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def checks(self, path: str) -> tuple[int, dict[str, Any]]:
        status, body = self.get(path)
        return status, json.loads(body)["checks"]

    def metric(self, sample: str, **labels: str) -> float | None:
        text = self.get("/metrics")[1].decode()
        for family in text_string_to_metric_families(text):
            for one in family.samples:
                if one.name == sample and labels.items() <= one.labels.items():
                    return one.value
        return None


def chat_request(request_id: str, text: str) -> dict[str, Any]:
    return event("_chat_request_event", request_id, model="assistant", messages=[{"role": "user", "content": text}])


def test_one_trace_goes_from_the_producer_over_chat_and_tool_to_the_output(
    install: Callable[..., Installation], traces: Collector
) -> None:
    here = install("agents:Chats")
    here.router(**traces.environment)
    here.worker("w-chat", "chat", **traces.environment)
    here.worker("w-rest", "tool", "ask", "answer", **traces.environment)
    for trace_id, flags in ((SAMPLED, "01"), (NOT_SAMPLED, "00")):
        parent = f"00-{trace_id}-{PRODUCER}-{flags}"
        headers = {"traceparent": parent, "tracestate": "vendor=1"}
        here.emit(chat_request(f"r-{flags}", "1 rounds for 7"), key="k", headers=headers)
    here.flush()
    outputs = {one.json["attributes"]["request_id"]: one for one in here.wait_read(here.topics.outputs, 2)}

    # chat twice, tool once; the router before each of them; a model call in each chat, and the tool's call
    def complete() -> bool:
        return len(traces.of_trace(SAMPLED)) >= 9

    wait_for("nine spans", complete)
    spans = {span.span_id: span for span in traces.of_trace(SAMPLED)}
    path = path_to(spans, outputs["r-01"].headers["traceparent"].decode().split("-")[2])
    namespace = here.topics.namespace
    assert path == [
        f"route {namespace}.requests",
        f"process {namespace}.action.chat",
        f"route {namespace}.events",
        f"process {namespace}.action.tool",
        f"route {namespace}.events",
        f"process {namespace}.resume.chat",
    ]
    names = sorted(span.name for span in spans.values())
    assert len([name for name in names if name.startswith("chat ")]) == 2
    assert "execute_tool lookup" in names
    assert len(spans) == 9
    for span in spans.values():  # a tree: every parent is there, and one of them is the producer's
        assert span.parent in spans or (span.parent == PRODUCER and span.name == path[0])
    assert {span.service for span in spans.values()} == {"parkway-router", "parkway-worker"}
    (first,) = [span for span in spans.values() if span.name == path[1]]
    (last,) = [span for span in spans.values() if span.name == path[-1]]
    assert last.links == (first.span_id,)
    assert first.attributes["parkway.outcome"] == "parked"
    assert last.attributes["parkway.outcome"] == "done"
    assert all("rounds for" not in span.text for span in traces.spans)  # no content

    # What is not sampled arrives as it was sent, and has no span.
    assert traces.of_trace(NOT_SAMPLED) == []
    assert outputs["r-00"].headers["traceparent"].decode() == f"00-{NOT_SAMPLED}-{PRODUCER}-00"
    assert {one.headers["tracestate"] for one in outputs.values()} == {b"vendor=1"}
    # A span per batch links to the events in it.
    linked = {link for span in traces.spans if span.name == f"commit {namespace}.router" for link in span.links}
    assert linked >= {span.span_id for span in spans.values() if span.name.startswith("route ")}


def path_to(spans: dict[str, Collected], span_id: str) -> list[str]:
    """Names from the root to this span."""
    found: list[str] = []
    while span_id in spans:
        found.insert(0, spans[span_id].name)
        span_id = spans[span_id].parent or ""
    return found


def test_a_request_without_a_trace_begins_one_in_the_router(
    install: Callable[..., Installation], traces: Collector
) -> None:
    here = install("agents:Orders")
    here.router(**traces.environment)
    worker = here.worker("w0", "process", **traces.environment)
    here.emit(event("order", number=1))
    here.flush()
    (output,) = here.wait_read(here.topics.outputs, 1)
    worker.terminate()
    assert worker.wait(30) == 0  # a worker that ends sends what is left
    trace_id = output.headers["traceparent"].decode().split("-")[1]
    names = wait_for("its spans", lambda: sorted(one.name for one in traces.of_trace(trace_id)))
    assert names == [f"process {here.topics.action('process')}", f"route {here.topics.requests}"]


def test_health_metrics_and_lag_of_a_running_installation(install: Callable[..., Installation]) -> None:
    here = install("agents:Orders", 2)
    http = {"PARKWAY_HTTP_PORT": "0", "PARKWAY_HTTP_HOST": "127.0.0.1"}
    here.router(**http)
    here.worker("w0", "process", "step", **http, PARKWAY_CONCURRENCY="2", PARKWAY_DRAIN="0")
    r0, w0 = Page(here, "r0"), Page(here, "w0")
    wait_for("a ready router", lambda: r0.get("/readyz")[0] == 200)
    wait_for("a ready worker", lambda: w0.get("/readyz")[0] == 200)
    assert set(w0.checks("/readyz")[1]) == {"started", "group:process", "group:step"}
    status, checks = w0.checks("/healthz")
    assert status == 200
    assert {"loop", "poll:process-group", "poll:step-group"} <= set(checks)
    group = here.topics.worker_group("process")
    assert w0.metric("parkway_assigned_partitions", group=group) == 2
    assert r0.metric("parkway_plan_info", build=here.plan.build) == 1

    other = here.worker("w1", "process", **http | {"PARKWAY_HTTP_PORT": w0.port})
    assert other.wait(30) == 2
    assert f"PARKWAY_HTTP_PORT (or --http-port) {w0.port} on 127.0.0.1: Address already in use" in here.logs()

    # More than it takes at once: the lag counts what still lies in the topic.
    for number in range(1500):
        here.emit(event("order", number=number, wait=600), key=f"k{number % 50}")
    here.flush()
    # Markers of the transactions that brought them, one at least and few of them, lie between.
    wait_for("the lag", lambda: 1500 <= (w0.metric("parkway_worker_lag", action="process") or 0) < 1600)
    assert w0.metric("parkway_worker_running", action="process") == 2
    assert 0 < (w0.metric("parkway_worker_queued", action="process") or 0) < 1498
    first = w0.metric("parkway_worker_oldest_unfinished_seconds", action="process")
    assert first is not None
    wait_for(
        "it grows older",
        lambda: (w0.metric("parkway_worker_oldest_unfinished_seconds", action="process") or 0) > first > 0,
    )
    assert r0.metric("parkway_router_taken_total", source="requests") == 1500
    assert r0.metric("parkway_router_published_total", topic="action.process") == 1500
    assert (r0.metric("parkway_transaction_records_count", role="router") or 0) >= 1


def test_metrics_of_chats_models_and_tools(install: Callable[..., Installation]) -> None:
    here = install("agents:Chats", 1)
    here.router()
    here.worker("w0", PARKWAY_HTTP_PORT="0")
    here.emit(chat_request("r", "2 rounds for 7"))
    here.flush()
    here.wait_read(here.topics.outputs, 1)
    here.wait_all_done()
    w0 = Page(here, "w0")
    assert w0.metric("parkway_worker_handled_total", action="chat", outcome="parked") == 2
    assert w0.metric("parkway_worker_handler_seconds_count", action="chat", outcome="done") == 1
    assert w0.metric("parkway_worker_requests_ended_total", action="chat", how="answered") == 1
    assert w0.metric("parkway_tool_call_seconds_count", tool="lookup", outcome="ok") == 2
    assert w0.metric("parkway_model_call_seconds_count", outcome="ok") == 3
    assert (w0.metric("parkway_model_tokens_total", kind="input") or 0) > 0
    assert w0.metric("parkway_worker_parked", action="chat") == 0
    assert w0.metric("parkway_worker_parked_bytes", action="chat") == 0
    wait_for("no lag", lambda: w0.metric("parkway_worker_lag", action="chat") == 0)


def test_every_line_of_the_logs_is_json_and_says_who_wrote_it(install: Callable[..., Installation]) -> None:
    here = install("agents:Logs", 1)
    router = here.router()
    worker = here.worker("w0")
    here.emit(event("say", "e-1"))
    here.flush()
    here.wait_read(here.topics.outputs, 1)
    for process in (router, worker):
        process.terminate()
        assert process.wait(30) == 0
    for name in ("r0", "w0"):
        lines = (here.folder / f"{name}.log").read_text().splitlines()
        parsed = [json.loads(line) for line in lines]
        assert {"timestamp", "level", "component", "event"} <= set.intersection(*(set(line) for line in parsed))
        running = parsed[[line["event"] for line in parsed].index("assigned") :]
        assert {(line["namespace"], line["instance"]) for line in running} == {(here.topics.namespace, name)}
    said = {line["event"]: line for line in here.log_lines("w0")}
    assert said["a handler says"]["component"] == "agents"
    assert said["a thread says"]["action"] == said["a handler says"]["action"] == "say"
