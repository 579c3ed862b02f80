"""One HTTP port per process: `/metrics`, `/healthz` and `/readyz`."""

import json
import socketserver
import threading
from collections.abc import Iterable
from typing import Any, Final, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse, WSGIEnvironment

from prometheus_client import make_wsgi_app

from parkway.runtime.health import Health, Kind
from parkway.runtime.logs import get_logger
from parkway.runtime.settings import Settings, SettingsError

_HEALTH: Final = {"/healthz": Kind.LIVE, "/readyz": Kind.READY}
_SLOWEST_CLIENT: Final = 10  # seconds

_log = get_logger("http")


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def server_bind(self) -> None:
        # Not the parent's: it asks DNS for this host's full name, which can take a while in a container.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()


class _Handler(WSGIRequestHandler):
    timeout = _SLOWEST_CLIENT

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the parent's signature
        _log.debug("http_request", line=format % args)


class HttpServer:
    """Serves until the process ends or `close` is called; on daemon threads. Raises SettingsError."""

    def __init__(self, host: str, port: int, health: Health) -> None:
        self._health = health
        self._metrics = make_wsgi_app()
        try:
            self._server = _Server((host, port), _Handler)
        except OSError as error:
            raise SettingsError(
                f"PARKWAY_HTTP_PORT (or --http-port) {port} on {host}: {error.strerror}; "
                "give each process on a host its own, or leave it out to serve no HTTP"
            ) from None
        self._server.set_app(self._answer)
        self._thread = threading.Thread(target=self._server.serve_forever, name="http", daemon=True)
        self._thread.start()
        _log.info("http_listening", host=host, port=self.port)

    @property
    def port(self) -> int:
        return int(self._server.server_port)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if environ.get("REQUEST_METHOD") not in ("GET", "HEAD"):
            return _say(start_response, "405 Method Not Allowed", {"error": "GET or HEAD only"})
        if path == "/metrics":
            answer: Iterable[bytes] = self._metrics(environ, start_response)
            return answer
        kind = _HEALTH.get(path)
        if kind is None:
            there = ["/metrics", *_HEALTH]
            return _say(start_response, "404 Not Found", {"error": f"no {path} here", "paths": there})
        report = self._health.report(kind)
        return _say(start_response, "200 OK" if report.ok else "503 Service Unavailable", report.body)


def serve_http(settings: Settings, health: Health) -> HttpServer | None:
    """Serve on `settings.http_port`; None without one. Raises SettingsError when the port is taken."""
    if settings.http_port is None:
        return None
    return HttpServer(settings.http_host, settings.http_port, health)


def _say(start_response: StartResponse, status: str, body: dict[str, Any]) -> list[bytes]:
    text = json.dumps(body, indent=1).encode() + b"\n"
    start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(text)))])
    return [text]
