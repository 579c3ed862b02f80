"""A collector of traces for tests: takes OTLP over HTTP, as a real one does, and keeps the spans."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class Collected:
    service: str
    name: str
    trace_id: str
    span_id: str
    parent: str | None
    links: tuple[str, ...]  # their span ids
    attributes: dict[str, Any]
    text: str  # everything in it


class Collector:
    def __init__(self) -> None:
        self.spans: list[Collected] = []
        collected = self.spans

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                collected.extend(_spans(ExportTraceServiceRequest.FromString(body)))
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.environment = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self._server.server_port}",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def of_trace(self, trace_id: str) -> list[Collected]:
        return [span for span in list(self.spans) if span.trace_id == trace_id]


@contextmanager
def collector() -> Iterator[Collector]:
    one = Collector()
    try:
        yield one
    finally:
        one.close()


def _spans(request: ExportTraceServiceRequest) -> Iterator[Collected]:
    for resource in request.resource_spans:
        names = {pair.key: _value(pair.value) for pair in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Collected(
                    names["service.name"],
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex() or None,
                    tuple(link.span_id.hex() for link in span.links),
                    {pair.key: _value(pair.value) for pair in span.attributes},
                    str(span),
                )


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))
