"""A server on this machine that answers as hosts of decision models do: POST /v1/systemone and POST /v1/decisions."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANG = "hang"
CUT = "cut"


class Host:
    """One scripted step after the other, the last one for ever: (status, headers, body), a body's text, HANG, CUT."""

    def __init__(self) -> None:
        self.script: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.arrived = threading.Event()
        self.released = threading.Event()
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                host.times.append(time.monotonic())
                host.headers.append({name.lower(): value for name, value in self.headers.items()})
                host.requests.append({"path": self.path, **body})
                step = host.script.pop(0) if len(host.script) > 1 else host.script[0]
                host.arrived.set()
                if step == HANG:
                    host.released.wait(30)
                    step = (503, {}, {"detail": "late"})
                status, headers, answer = (200, {}, "x" * 10_000) if step == CUT else step
                data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    for name, value in {"content-type": "application/json", **headers}.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data[:100] if step == CUT else data)
                    self.close_connection = step == CUT
                except ConnectionError:
                    pass  # the client gave up, which is what the test is about

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def noul(probability: float) -> dict[str, Any]:
    return {"type": "noul", "noul": probability}


def choice(picked: str, confidence: float = 0.5, **probabilities: float) -> dict[str, Any]:
    return {"type": "choice", "choice": picked, "confidence": confidence, "probabilities": probabilities}


def score(value: float, *probabilities: float, confidence: float = 0.5) -> dict[str, Any]:
    legend = {str(level): f"level {level}" for level in range(len(probabilities))}
    by_level = {str(level): probability for level, probability in enumerate(probabilities)}
    return {"type": "score", "score": value, "confidence": confidence, "legend": legend, "probabilities": by_level}


def system_one(**answers: dict[str, Any]) -> Any:
    usage = {"input_tokens": 7, "output_tokens": 2}
    return 200, {}, {"model": "jev-1.14.3", "answers": answers, "usage": usage}


def openai(*answers: dict[str, Any]) -> Any:
    usage = {
        "input_tokens": 11,
        "output_tokens": 3,
        "total_tokens": 14,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return 200, {}, {"model": "gpt-6-luna-1", "answers": list(answers), "usage": usage}


def error(status: int, detail: Any = "my secret plan", **headers: str) -> Any:
    """FastAPI's form of an error, as TypeSafe's host sends it."""
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, {"detail": detail}
