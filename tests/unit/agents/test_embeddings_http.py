"""Embeddings through the real OpenAI client, against a server on this machine that answers as told."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from parkway.agents import Document, SqliteVec, VectorStore


class Server:
    """Speaks /embeddings: a vector per text, from its length. `failures` is how many requests it refuses first."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.failures = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.requests.append(body)
                status, answer = 200, server.answer(body)
                if server.failures > 0:
                    server.failures -= 1
                    status, answer = 503, {"error": {"message": "overloaded", "type": "server_error", "code": None}}
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    @staticmethod
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        vectors = [[1.0, len(text) / 10, 0.5] for text in body["input"]]
        data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        usage = {"prompt_tokens": 7, "total_tokens": 7}
        return {"object": "list", "data": data, "model": "served-embedding", "usage": usage}

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    running = Server()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-abcdef123456")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{running.http.server_port}/v1")
    yield running
    running.stop()


async def test_documents_go_in_batches_and_a_query_alone(server: Server, tmp_path: Path) -> None:
    store = VectorStore(
        SqliteVec(tmp_path / "docs.db"),
        embedder="openai:text-embedding-3-small",
        embedding_settings={"dimensions": 3},
        batch=2,
    )
    await store.add([Document(id=str(n), content="x" * n) for n in (1, 50, 90)])
    assert [request["input"] for request in server.requests] == [["x", "x" * 50], ["x" * 90]]
    assert {(request["model"], request["dimensions"]) for request in server.requests} == {("text-embedding-3-small", 3)}
    assert (await store.query("y" * 49))[0].id == "50"
    embedded = await store.embed(["y"], "query")
    assert embedded is not None
    assert (embedded.model, embedded.tokens) == ("served-embedding", 7)
    await store.close()


async def test_the_client_does_not_try_again_by_itself(server: Server, tmp_path: Path) -> None:
    """The retries are the store's policy, seen and counted."""
    server.failures = 1
    store = VectorStore(SqliteVec(tmp_path / "docs.db"), embedder="openai:text-embedding-3-small")
    with pytest.raises(ModelHTTPError, match="503"):
        await store.query("anything")
    assert len(server.requests) == 1
