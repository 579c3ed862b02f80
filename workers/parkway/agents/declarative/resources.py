"""Resources out of their YAML form: each section has one function that makes what a class body would hold."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic_ai.usage import UsageLimits

from parkway.agents.chat_model import ChatModel
from parkway.agents.decision_model import DecisionLimits, DecisionModel
from parkway.agents.decision_table import DecisionTable
from parkway.agents.declarative.environment import filled_later, variable_of
from parkway.agents.declarative.scope import Entry, Scope, telling
from parkway.agents.declarative.spec_base import FunctionSpec
from parkway.agents.declarative.spec_resources import PgVectorSpec, QdrantSpec, RetrySpec, SqliteVecSpec
from parkway.agents.errors import AgentError
from parkway.agents.hashing_embedder import HashingEmbedder
from parkway.agents.mcp_server import MCPServer
from parkway.agents.model_router import ModelRouter
from parkway.agents.prompt import Prompt
from parkway.agents.resource import Resource
from parkway.agents.retry import Retry
from parkway.agents.sink import Sink
from parkway.agents.source import Source
from parkway.agents.stores import PgVector, Qdrant, SqliteVec
from parkway.agents.tool import Tool, as_tool
from parkway.agents.vector_store import VectorStore

_TOOLS: Final = ("tools", "mcp_servers")
_DECIDERS: Final = ("decision_models", "decision_tables")


class ResourceMaker:
    """Makes each resource of an agent once, in whatever order they name each other. Raises AgentError."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._made: dict[int, Any] = {}
        self._in_the_making: list[Entry] = []

    def resources(self) -> dict[str, Resource]:
        """All of them by name."""
        return {entry.spec.name: self.made(entry) for entry in self._scope if entry.section != "tools"}

    def tools(self) -> dict[str, Tool[..., Any]]:
        """All of them by name."""
        return {entry.spec.name: self.made(entry) for entry in self._scope if entry.section == "tools"}

    def made(self, entry: Entry) -> Any:
        """What the entry declares."""
        if entry in self._in_the_making:
            raise AgentError(f"{entry.where}: it falls back on itself")
        if id(entry) not in self._made:
            self._in_the_making.append(entry)
            with telling(entry.where):
                self._made[id(entry)] = _MAKERS[entry.section](self, entry)
            self._in_the_making.pop()
        return self._made[id(entry)]

    def retry(self, where: str, spec: RetrySpec) -> Retry:
        """Give a `Retry`."""
        options = spec.given("on")
        if spec.on is not None:
            options["on"] = self._scope.exceptions(where, spec.on)
        with telling(where):
            return Retry(**options)

    def _tool(self, entry: Entry) -> Tool[..., Any]:
        spec = entry.spec
        found = self._scope.resolve(entry.where, spec.function)
        options = spec.given("function", "type")
        if isinstance(spec.requires_approval, FunctionSpec):
            options["requires_approval"] = self._condition(entry, spec.requires_approval)
        if not isinstance(found, Tool):
            return Tool(found, name=spec.name, **options)
        if options:
            raise AgentError(f"{spec.function} has an @tool of its own: {', '.join(options)} stands there")
        if found.name != spec.name:
            raise AgentError(f"{spec.function} is called {found.name!r} by its @tool; write name: {found.name}")
        return found

    def _mcp_server(self, entry: Entry) -> MCPServer:
        spec = entry.spec
        own = ("endpoint", "headers", "command", "args", "env", "cwd")
        options = spec.given("clazz", "requires_approval", *own)
        if spec.requires_approval is not None:
            options["requires_approval"] = self._approvals(entry, spec.requires_approval)
        if spec.endpoint is not None:
            headers = filled_later(f"{entry.where}: headers", spec.headers or {})
            return MCPServer.http(spec.endpoint, headers=headers, **options)
        cwd = self._scope.path(spec.cwd) if spec.cwd is not None else None
        env = filled_later(f"{entry.where}: env", spec.env or {})
        return MCPServer.stdio(spec.command, spec.args or (), env=env, cwd=cwd, **options)

    def _approvals(self, entry: Entry, given: Any) -> Any:
        if isinstance(given, dict):
            return {name: self._condition(entry, each) for name, each in given.items()}
        return self._condition(entry, given)

    def _condition(self, entry: Entry, given: Any) -> Any:
        if not isinstance(given, FunctionSpec):
            return given
        return self._scope.resolve(f"{entry.where}: requires_approval", given.function)

    def _prompt(self, entry: Entry) -> Prompt:
        spec = entry.spec
        options = spec.given("text", "messages", "file")
        if spec.file is not None:
            return Prompt.from_file(self._scope.path(spec.file), **options)
        if spec.text is not None:
            return Prompt(spec.text, **options)
        return Prompt([message.model_dump() for message in spec.messages], **options)

    def _chat_model(self, entry: Entry) -> ChatModel[Any]:
        spec = entry.spec
        options = spec.given("model", "tools", "output_type", "fallbacks", "usage_limits")
        if spec.prompt is not None:
            self._scope.entry(f"{entry.where}: prompt", spec.prompt, "prompts")
        if spec.tools is not None:
            options["tools"] = [self._tool_named(entry, name) for name in spec.tools]
        if spec.output_type is not None:
            options["output_type"] = self._output_type(entry, spec.output_type)
        if spec.fallbacks is not None:
            options["fallbacks"] = [self._source(entry, each) for each in spec.fallbacks]
        if spec.usage_limits is not None:
            options["usage_limits"] = UsageLimits(**spec.usage_limits.given())
        return ChatModel(self._source(entry, spec.model), **options)

    def _tool_named(self, entry: Entry, name: str) -> Any:
        if ":" in name:
            return as_tool(self._scope.resolve(f"{entry.where}: tools", name))
        if name not in self._scope.names(*_TOOLS):
            raise AgentError(f"{self._scope.unknown(name, *_TOOLS)}, and module:name is a function")
        return self.made(self._scope.entry(entry.where, name, *_TOOLS))

    def _output_type(self, entry: Entry, given: str | dict[str, Any]) -> Any:
        return given if isinstance(given, dict) else self._scope.resolve(f"{entry.where}: output_type", given)

    def _model_router(self, entry: Entry) -> ModelRouter:
        spec = entry.spec
        for name in (*(rule.model for rule in spec.rules), spec.default):
            self._scope.entry(entry.where, name, "chat_model_setups")
        return ModelRouter(rules=[(rule.when, rule.model) for rule in spec.rules], default=spec.default)

    def _vector_store(self, entry: Entry) -> VectorStore:
        spec = entry.spec
        options = spec.given("clazz", "embedder", "retry", "path", "dsn", "url", "api_key", "collection", "table")
        if spec.retry is not None:
            options["retry"] = self.retry(entry.where, spec.retry)
        if spec.embedder is not None:
            hashing = spec.embedder == "hashing"
            options["embedder"] = HashingEmbedder() if hashing else self._source(entry, spec.embedder)
        return VectorStore(self._store(entry), **options)

    def _store(self, entry: Entry) -> Any:
        spec = entry.spec
        if isinstance(spec, SqliteVecSpec):
            return SqliteVec(self._scope.path(spec.path), **_set(table=spec.table))
        if isinstance(spec, PgVectorSpec):
            return PgVector(spec.table, **_set(dsn_env=variable_of(spec.dsn or "")))
        if isinstance(spec, QdrantSpec):
            variable = variable_of(spec.url or "")
            path = str(self._scope.path(spec.path)) if spec.path is not None else None
            url = spec.url if variable is None else None
            key = variable_of(spec.api_key or "")
            return Qdrant(spec.collection, **_set(url=url, url_env=variable, api_key_env=key, path=path))
        return self._scope.resolve(f"{entry.where}: clazz", spec.clazz)

    def _decision_model(self, entry: Entry) -> DecisionModel:
        spec = entry.spec
        options = spec.given("model", "function", "fallbacks", "limits")
        if spec.fallbacks is not None:
            options["fallbacks"] = [self._decider(entry, each) for each in spec.fallbacks]
        if spec.function is not None:
            return DecisionModel.of(self._scope.resolve(f"{entry.where}: function", spec.function), **options)
        if spec.limits is not None:
            options["limits"] = DecisionLimits(**spec.limits.given())
        return DecisionModel(self._source(entry, spec.model), **options)

    def _decision_table(self, entry: Entry) -> DecisionTable:
        spec = entry.spec
        options = spec.given("rows", "file", "state", "fallbacks")
        if spec.state is not None:
            options["state"] = self._scope.resolve(f"{entry.where}: state", spec.state)
        if spec.fallbacks is not None:
            options["fallbacks"] = [self._decider(entry, each) for each in spec.fallbacks]
        if spec.file is not None:
            return DecisionTable.from_file(self._scope.path(spec.file), **options)
        return DecisionTable(spec.rows, **options)

    def _decider(self, entry: Entry, given: str | FunctionSpec) -> Any:
        """A fallback: another one of the agent by its name, or a model."""
        if isinstance(given, str) and ":" not in given:
            return self.made(self._scope.entry(f"{entry.where}: fallbacks", given, *_DECIDERS))
        return self._source(entry, given)

    def _source(self, entry: Entry, given: str | FunctionSpec) -> Any:
        return given if isinstance(given, str) else self._scope.resolve(entry.where, given.function)

    def _topic_source(self, entry: Entry) -> Source:
        return Source(entry.spec.topic, **entry.spec.given("topic"))

    def _sink(self, entry: Entry) -> Sink:
        options = entry.spec.given("topic", "avro_schema")
        if entry.spec.avro_schema is not None:
            options["schema"] = self._scope.path(entry.spec.avro_schema).read_text(encoding="utf-8")
        return Sink(entry.spec.topic, **options)


_MAKERS: Final[Mapping[str, Callable[[ResourceMaker, Entry], Any]]] = {
    "tools": ResourceMaker._tool,  # noqa: SLF001  its own
    "mcp_servers": ResourceMaker._mcp_server,  # noqa: SLF001
    "prompts": ResourceMaker._prompt,  # noqa: SLF001
    "chat_model_setups": ResourceMaker._chat_model,  # noqa: SLF001
    "model_routers": ResourceMaker._model_router,  # noqa: SLF001
    "vector_stores": ResourceMaker._vector_store,  # noqa: SLF001
    "decision_models": ResourceMaker._decision_model,  # noqa: SLF001
    "decision_tables": ResourceMaker._decision_table,  # noqa: SLF001
    "sources": ResourceMaker._topic_source,  # noqa: SLF001
    "sinks": ResourceMaker._sink,  # noqa: SLF001
}


def _set(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
