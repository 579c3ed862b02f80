"""A schema registry for the tests: its REST interface over HTTP, so that confluent-kafka's own client talks to it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class RegistryServer:
    """Subjects and schema ids in memory. `requests` counts what was asked; `broken` makes every answer a 500."""

    def __init__(self) -> None:
        self.schemas: dict[int, str] = {}
        self.subjects: dict[str, list[int]] = {}
        self.references: dict[str, list[dict[str, object]]] = {}  # schema -> what it refers to
        self.requests: list[str] = []
        self.broken = False
        self.read_only = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def add(self, schema: str, *references: tuple[str, str]) -> int:
        """Register a schema by hand, such as one of a Java producer; `references` are (name, schema) pairs."""
        for name, referenced in references:
            self.subjects[f"{name}-value"] = [self.add(referenced)]
        if references:
            self.references[schema] = [
                {"name": name, "subject": f"{name}-value", "version": 1} for name, _ in references
            ]
        for schema_id, known in self.schemas.items():
            if known == schema:
                return schema_id
        self.schemas[len(self.schemas) + 1] = schema
        return len(self.schemas)

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, body: dict[str, str]) -> tuple[int, dict[str, object]]:
        self.requests.append(f"{method} {path}")
        if self.broken:
            return 500, {"error_code": 50001, "message": "Error in the backend data store"}
        steps = path.partition("?")[0].strip("/").split("/")
        if method == "GET" and steps[:2] == ["schemas", "ids"]:
            schema = self.schemas.get(int(steps[2]))
            if schema is None:
                return 404, {"error_code": 40403, "message": "Schema not found"}
            return 200, {"schema": schema, "references": self.references.get(schema, [])}
        if method == "GET" and steps[0] == "subjects" and steps[1] not in self.subjects:
            return 404, {"error_code": 40401, "message": "Subject not found"}
        if method == "GET" and steps[0] == "subjects":
            known = self.subjects[steps[1]]
            version = len(known) if steps[3] == "latest" else int(steps[3])
            schema_id = known[version - 1]
            schema = self.schemas[schema_id]
            answer = {"subject": steps[1], "version": version, "id": schema_id, "schema": schema}
            return 200, {**answer, "references": self.references.get(schema, [])}
        if method == "POST" and steps[0] == "subjects":
            subject, register = steps[1], steps[2:] == ["versions"]
            if register and self.read_only:
                return 403, {"error_code": 40301, "message": "User is denied operation Write"}
            return self._post(subject, body["schema"], register=register)
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _post(self, subject: str, schema: str, *, register: bool) -> tuple[int, dict[str, object]]:
        if register:
            schema_id = self.add(schema)
            if schema_id not in self.subjects.setdefault(subject, []):
                self.subjects[subject].append(schema_id)
            return 200, {"id": schema_id}
        if subject not in self.subjects:
            return 404, {"error_code": 40401, "message": "Subject not found"}
        for version, schema_id in enumerate(self.subjects[subject], 1):
            if self.schemas[schema_id] == schema:
                return 200, {"subject": subject, "version": version, "id": schema_id, "schema": schema}
        return 404, {"error_code": 40403, "message": "Schema not found"}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer({})

            def do_POST(self) -> None:
                self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _answer(self, body: dict[str, str]) -> None:
                status, answer = registry.answer(self.command, self.path, body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        return Handler
