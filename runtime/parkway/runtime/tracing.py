"""Traces: OpenTelemetry spans of routers and workers, and how a trace travels in record headers.

The standard `OTEL_*` variables turn tracing on (extra `parkway[otel]`); a tracer provider that the user's code or
`opentelemetry-instrument` has set up is used as it is. Off, nothing here costs more than a look at `tracer()`.

A trace travels as W3C `traceparent` (and `tracestate`, which is passed on untouched). Spans carry names, places and
outcomes, never what events contain: exceptions stand in them as their type.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points, version
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from parkway.runtime.logs import get_logger
from parkway.runtime.settings import SettingsError
from parkway.schemas import headers
from parkway.schemas.headers import Headers

ROUTER: Final = "parkway-router"
WORKER: Final = "parkway-worker"

_ON: Final = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_OTLP: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_INSTALL: Final = "pip install 'parkway[otel]'"
_W3C: Final = TraceContextTextMapPropagator()

_tracer: Tracer | None = None
_flush: Callable[[], object] | None = None


def tracer() -> Tracer | None:
    """The tracer of this process, or None: tracing is off."""
    return _tracer


def configure_tracing(service: str, instance: str) -> bool:
    """Set up tracing from the OTEL_* variables; True when it is on. Raises SettingsError for ones it cannot follow.

    `service` stands in the spans unless OTEL_SERVICE_NAME says otherwise.
    """
    global _tracer, _flush  # noqa: PLW0603  one process, one set-up; as OpenTelemetry's own provider is
    provider: Any = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):  # nobody has set one up
        names = _exporters()
        if not names:
            return False
        provider = _provider(service, instance, names)
        if provider is None:
            return False
        trace.set_tracer_provider(provider)
    _tracer = provider.get_tracer("parkway", version("parkway"))
    _flush = getattr(provider, "shutdown", None)
    return True


def end_tracing(seconds: float = 5.0) -> None:
    """Send what is left, for `seconds` at most: a collector may be away, and a process must end."""
    if _flush is not None:
        sending = threading.Thread(target=_flush, name="last-spans", daemon=True)
        sending.start()
        sending.join(seconds)


def _exporters() -> list[str]:
    """The exporters that the environment asks for; none: tracing is off."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    if not any(os.environ.get(name) for name in _ON):
        return []
    names = [name.strip() for name in (os.environ.get("OTEL_TRACES_EXPORTER") or "otlp").split(",")]
    return [name for name in names if name not in ("", "none")]


def _provider(service: str, instance: str, names: Iterable[str]) -> Any:
    """An SDK's tracer provider, or None (with a warning) when the extra is not installed."""
    try:
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415  an extra
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        asked = [name for name in _ON if os.environ.get(name)]
        get_logger("tracing").warning("tracing_not_installed", asked_by=asked, way_out=_INSTALL)
        return None
    ours = {"service.name": service, "service.instance.id": instance, "service.version": version("parkway")}
    users = OTELResourceDetector().detect()  # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
    provider = TracerProvider(resource=Resource.create(ours).merge(users), shutdown_on_exit=False)
    for name in names:
        provider.add_span_processor(BatchSpanProcessor(_exporter(name)))
    return provider


def _exporter(name: str) -> Any:
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    entry = name
    if name == "otlp":
        protocol = protocol or "http/protobuf"
        if protocol not in _OTLP:
            raise SettingsError(f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: one of {', '.join(_OTLP)}")
        entry = _OTLP[protocol]
    found = next(iter(entry_points(group="opentelemetry_traces_exporter", name=entry)), None)
    if found is None:
        package = f"opentelemetry-exporter-{entry.replace('_', '-')}"
        way_out = _INSTALL if entry == "otlp_proto_http" else f"install the package that has it, such as {package}"
        raise SettingsError(f"there is no exporter {entry!r} (OTEL_TRACES_EXPORTER={name}): {way_out}")
    return found.load()()


# -- headers


def context_of(given: Mapping[str, bytes] | Mapping[str, str]) -> Context:
    """The context of a record's (or parked record's) headers; an empty one when they name no trace."""
    carrier = {
        name: value if isinstance(value, str) else value.decode("latin-1")
        for name in (headers.TRACEPARENT, headers.TRACESTATE)
        if (value := given.get(name)) is not None
    }
    return _W3C.extract(carrier, Context())


def remote_span(context: Context) -> SpanContext | None:
    """The span that a context of headers names, or None."""
    found = trace.get_current_span(context).get_span_context()
    return found if found.is_valid else None


def traceparent(span: Span) -> str:
    """The header's value for what is caused in this span."""
    carrier: dict[str, str] = {}
    _W3C.inject(carrier, trace.set_span_in_context(span, Context()))
    return carrier.get(headers.TRACEPARENT, "")


def with_traceparent(given: Headers, value: str) -> Headers:
    """The same headers with this `traceparent`."""
    return [*(one for one in given if one[0] != headers.TRACEPARENT), (headers.TRACEPARENT, value.encode())]


# -- attributes: OpenTelemetry's semantic conventions for messaging, and ours under `parkway.`


def record_attributes(topic: str, partition: int, offset: int, group: str) -> dict[str, Any]:
    """What a span says of the record that it is about."""
    return {
        "messaging.system": "kafka",
        "messaging.operation.type": "process",
        "messaging.destination.name": topic,
        "messaging.destination.partition.id": str(partition),
        "messaging.kafka.offset": offset,
        "messaging.consumer.group.name": group,
    }


@contextmanager
def inner_span(name: str, attributes: Mapping[str, Any]) -> Iterator[Span]:
    """A span inside the current one, around the body; nothing while tracing is off."""
    if _tracer is None:
        yield trace.INVALID_SPAN
        return
    with _tracer.start_as_current_span(
        name, attributes=dict(attributes), record_exception=False, set_status_on_exception=False
    ) as span:
        yield span


def links_to(*contexts: SpanContext | None) -> list[Link]:
    return [Link(context) for context in contexts if context is not None]


def mark_failed(span: Span, error_type: str) -> None:
    """The span ended badly; `error_type` is one word, never a text that may quote an event."""
    span.set_attribute("error.type", error_type)
    span.set_status(StatusCode.ERROR, error_type)
