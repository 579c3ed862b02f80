"""How tracing is set up (each test a process: OpenTelemetry is set up once per process), and headers."""

import os
import subprocess
import sys
import textwrap

import pytest
from opentelemetry.sdk.trace import TracerProvider

from parkway.runtime import tracing

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SETUP = """
from parkway.runtime.logs import configure_logs
from parkway.runtime.tracing import configure_tracing, end_tracing, tracer
configure_logs("json")
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-c", SETUP + textwrap.dedent(code)],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_the_variables_it_is_off_and_loads_no_sdk() -> None:
    done = run("""
        import sys
        assert configure_tracing("parkway-router", "r0") is False
        assert tracer() is None
        assert "opentelemetry.sdk" not in sys.modules
        end_tracing()
    """)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    "environment",
    [
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_it_can_be_turned_off(environment: dict[str, str]) -> None:
    done = run("assert configure_tracing('parkway-router', 'r0') is False", **environment)
    assert done.returncode == 0, done.stderr


SPAN = """
assert configure_tracing("parkway-router", "r0") is True
with tracer().start_as_current_span("one"):
    pass
end_tracing()
"""


def test_spans_name_the_service_the_instance_and_the_version() -> None:
    done = run(SPAN, OTEL_TRACES_EXPORTER="console")
    assert '"service.name": "parkway-router"' in done.stdout, done.stderr
    assert '"service.instance.id": "r0"' in done.stdout
    assert '"name": "one"' in done.stdout


def test_the_users_names_win() -> None:
    done = run(
        SPAN,
        OTEL_TRACES_EXPORTER="console",
        OTEL_SERVICE_NAME="mine",
        OTEL_RESOURCE_ATTRIBUTES="service.instance.id=pod-7,team=a",
    )
    assert '"service.name": "mine"' in done.stdout, done.stderr
    assert '"service.instance.id": "pod-7"' in done.stdout
    assert '"team": "a"' in done.stdout


def test_a_provider_that_the_user_has_set_up_is_used() -> None:
    done = run("""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        assert configure_tracing("parkway-worker", "w0") is True
        tracer().start_span("one").end()
        assert [span.name for span in exporter.get_finished_spans()] == ["one"]
    """)
    assert done.returncode == 0, done.stderr


def test_a_missing_extra_is_a_warning_with_the_way_out() -> None:
    done = run(
        """
        import sys
        sys.modules["opentelemetry.sdk"] = None  # as if it were not installed
        assert configure_tracing("parkway-worker", "w0") is False
        """,
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1",
    )
    assert done.returncode == 0, done.stderr
    assert "tracing_not_installed" in done.stderr
    assert "pip install 'parkway[otel]'" in done.stderr
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in done.stderr


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "no exporter 'zipkin'"),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, "http/protobuf, grpc"),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "exporter-otlp-proto-grpc"),
    ],
)
def test_what_cannot_be_followed_is_a_clear_error(environment: dict[str, str], said: str) -> None:
    done = run(
        """
        from parkway.runtime.settings import SettingsError
        try:
            configure_tracing("parkway-worker", "w0")
        except SettingsError as error:
            print(error)
        """,
        **environment,
    )
    assert said in done.stdout, done.stderr


def test_a_collector_that_is_away_does_not_keep_a_process_from_ending() -> None:
    done = run(
        """
        import time
        configure_tracing("parkway-worker", "w0")
        tracer().start_span("one").end()
        began = time.monotonic()
        end_tracing(0.5)
        print(time.monotonic() - began)
        import os
        os._exit(0)
        """,
        OTEL_EXPORTER_OTLP_ENDPOINT="http://192.0.2.1:4318",
    )
    assert float(done.stdout) < 2.0, done.stderr


def test_headers_carry_a_trace_and_nothing_else_changes() -> None:
    given = [("a", b"1"), ("traceparent", PARENT.encode()), ("tracestate", b"v=1"), ("traceparent", b"x"), ("b", None)]
    assert tracing.with_traceparent(given, "00-new") == [
        ("a", b"1"),
        ("tracestate", b"v=1"),
        ("b", None),
        ("traceparent", b"00-new"),
    ]
    assert given[1] == ("traceparent", PARENT.encode())


def test_a_span_is_the_child_of_what_the_headers_name() -> None:
    context = tracing.context_of({"traceparent": PARENT.encode(), "tracestate": b"v=1"})
    span = TracerProvider().get_tracer("t").start_span("one", context)
    value = tracing.traceparent(span)
    assert value.split("-")[1] == PARENT.split("-")[1]
    assert value.split("-")[2] != PARENT.split("-")[2]
    assert span.get_span_context().trace_state.get("v") == "1"


@pytest.mark.parametrize(
    "value", [b"", b"nonsense", b"\xff\xfe", b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01", PARENT.encode() * 100]
)
def test_nonsense_is_no_trace(value: bytes) -> None:
    assert tracing.remote_span(tracing.context_of({"traceparent": value, "tracestate": b"\xff=\x00"})) is None
