import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from parkway.runtime import metrics
from parkway.runtime.health import Health
from parkway.runtime.http import HttpServer, serve_http
from parkway.runtime.settings import Settings, SettingsError


@pytest.fixture
def health() -> Health:
    return Health()


@pytest.fixture
def server(health: Health) -> Iterator[HttpServer]:
    with HttpServer("127.0.0.1", 0, health) as one:
        yield one


def ask(server: HttpServer, path: str, method: str = "GET") -> tuple[int, Any]:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_metrics_are_prometheus_text(server: HttpServer) -> None:
    metrics.DEAD.labels("bad_id").inc()
    status, body = ask(server, "/metrics")
    assert status == 200
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    assert any(sample.labels == {"reason": "bad_id"} for sample in families["parkway_dlq"].samples)


def test_health_and_readiness_are_two_things(server: HttpServer, health: Health) -> None:
    health.live("poll", lambda: None)
    health.ready("group", lambda: "it has not joined")
    status, body = ask(server, "/healthz")
    assert status == 200
    assert json.loads(body)["checks"]["poll"]["ok"] is True
    status, body = ask(server, "/readyz")
    assert status == 503
    assert json.loads(body)["checks"]["group"]["reason"] == "it has not joined"


def test_other_paths_and_methods(server: HttpServer) -> None:
    status, body = ask(server, "/")
    assert status == 404
    assert json.loads(body)["paths"] == ["/metrics", "/healthz", "/readyz"]
    assert ask(server, "/healthz", "POST")[0] == 405
    assert ask(server, "/healthz", "HEAD") == (200, b"")


def test_a_port_that_is_taken_is_a_clear_error(server: HttpServer, health: Health) -> None:
    with pytest.raises(SettingsError, match=rf"PARKWAY_HTTP_PORT.*{server.port}.*in use.*give each process"):
        HttpServer("127.0.0.1", server.port, health)


def test_a_host_that_is_not_here_is_a_clear_error(health: Health) -> None:
    with pytest.raises(SettingsError, match=r"192\.0\.2\.1"):
        HttpServer("192.0.2.1", 0, health)


def test_a_client_that_says_nothing_keeps_nobody_waiting(server: HttpServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)):
        assert ask(server, "/healthz")[0] == 200


def test_without_a_port_nothing_is_served(health: Health) -> None:
    assert serve_http(Settings(), health) is None
