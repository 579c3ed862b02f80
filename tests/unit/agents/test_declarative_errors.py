"""What is wrong with an agent in YAML is said with file, line, the value and the way out."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parkway.agents import AgentError, build_plan, load_agent

PARTS = """
from pydantic import BaseModel
from parkway.agents import Context, tool
class Ticket(BaseModel):
    amount: float
@tool(name="lookup")
def find(customer: str) -> str: return customer
def check(ticket: Ticket, ctx: Context) -> None: ...
def takes_three(a, b, c): ...
def yields(event, ctx): yield
async def slow(event, ctx): ...
number = 3
"""
ACTION = """
agents:
  - name: support
    actions:
      - name: check
        function: {function}
        trigger_conditions: [{trigger}]
        {more}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "yaml_parts.py").write_text(PARTS)
    yield tmp_path
    sys.modules.pop("yaml_parts", None)


def said(text: str, source: str = "agent.yaml") -> str:
    Path("agent.yaml").write_text(text)
    with pytest.raises(AgentError) as caught:
        build_plan(load_agent(source), source)
    return str(caught.value)


def action(function: str = "yaml_parts:check", trigger: str = "ticket", more: str = "") -> str:
    return said(ACTION.format(function=function, trigger=trigger, more=more))


def resource(section: str, members: str) -> str:
    """Of a resource in line 4."""
    return said(f"agents:\n  - name: support\n    {section}:\n      - {{{members}}}\n")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("wen: amount > 1", "agent.yaml:8: agents[support].actions[check]: unknown member 'wen' (did you mean when?)"),
        (
            "listen_to: [x]",
            "agent.yaml:8: agents[support].actions[check]: unknown member 'listen_to': write trigger_con",
        ),
        (
            "order: by_key",
            "agent.yaml:8: agents[support].actions[check].order: 'key' or 'unordered' is needed, got 'by_k",
        ),
        ("timeout: soon", "agent.yaml:8: agents[support].actions[check].timeout: a valid number is needed, got 'soon'"),
        ("timeout: 0", "agent.yaml:5: actions[check]: @action(timeout=0.0): seconds, more than 0"),
        (
            "when: amont > 1",
            "action 'check' (agent.yaml:5): when='amont > 1': Ticket has no field 'amont' (did you mean",
        ),
        ("when: amount >", "action 'check' (agent.yaml:5): when='amount >': "),
        (
            "state: true\n        order: unordered",
            "agent.yaml:5: actions[check]: @action(state=True, order='unordered')",
        ),
        ("rate: often", "agent.yaml:5: actions[check]: @action(rate=...): rate 'often'"),
        ("retry: {attempts: 0}", "agent.yaml:5: actions[check].retry: Retry(attempts=0): the first attempt counts"),
        ("retry: {on: [TimeoutEror]}", "no built-in exception is called 'TimeoutEror' (did you mean TimeoutError?)"),
        (
            "retry: {atempts: 2}",
            "agent.yaml:8: agents[support].actions[check].retry: unknown member 'atempts' (did you",
        ),
        ("name: again", "agent.yaml:8: 'name' stands there twice"),
        ("type: java", "agent.yaml:8: agents[support].actions[check].type: 'python' is needed, got 'java'"),
    ],
)
def test_members_of_an_action(more: str, message: str) -> None:
    assert message in action(more=more)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            "check",
            "agent.yaml:6: agents[support].actions[check].function: 'check': write module:name, such as support.t",
        ),
        (
            "yaml_parts:chek",
            "agent.yaml:5: actions[check]: function: module yaml_parts has no 'chek' (did you mean check?)",
        ),
        (
            "yaml_prts:check",
            "agent.yaml:5: actions[check]: function: no module 'yaml_prts' (did you mean yaml_parts?); lo",
        ),
        ("yaml_parts:number", "agent.yaml:5: actions[check]: function: 3 is no function"),
        ("yaml_parts:Ticket", "agent.yaml:5: actions[check]: function: <class 'yaml_parts.Ticket'> is no function"),
        (
            "yaml_parts:yields",
            "agent.yaml:5: actions[check]: function: a handler sends with ctx.send(...); it must not ",
        ),
        ("yaml_parts:takes_three", "agent.yaml:5(self, a, b, c): a handler is def takes_three"),
    ],
)
def test_functions(function: str, message: str) -> None:
    assert message in action(function)


@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        (
            "true",
            "agent.yaml:7: agents[support].actions[check].trigger_conditions[0]: a text is needed, got True: put it",
        ),
        ("", "agent.yaml:7: agents[support].actions[check].trigger_conditions: List should have at least 1 item"),
        ("amount /", "action 'check' (agent.yaml:5): trigger 'amount /': "),
        ("chat_respons, x: y", "trigger_conditions[1]: a valid string is needed, got {'x': 'y'}"),
        ("output", "action 'check' (agent.yaml:5): trigger '_output_event': output events leave the system and"),
    ],
)
def test_triggers(trigger: str, message: str) -> None:
    assert message in action(trigger=trigger)


@pytest.mark.parametrize(
    ("section", "members", "message"),
    [
        (
            "chat_models",
            "name: a, model: x",
            "agent.yaml:3: agents[support]: unknown member 'chat_models': write chat_mo",
        ),
        (
            "chat_model_connections",
            "name: a",
            "agent.yaml:3: agents[support]: unknown member 'chat_model_connections': t",
        ),
        (
            "chat_model_setups",
            "name: a",
            "agent.yaml:4: agents[support].chat_model_setups[a]: member 'model' is missing",
        ),
        (
            "chat_model_setups",
            "name: a, clazz: ollama, model: x",
            "unknown member 'clazz': there is none: the provider ",
        ),
        (
            "chat_model_setups",
            "name: a, model: gpt",
            "agent.yaml:4: chat_model_setups[a]: ChatModel('gpt'): a model nam",
        ),
        (
            "chat_model_setups",
            "name: a-b, model: 'x:y'",
            "name 'a-b': letters, digits and '_', as an attribute of a cla",
        ),
        ("chat_model_setups", "name: redact, model: 'x:y'", "every agent has something of that name"),
        (
            "chat_model_setups",
            "name: a, model: 'x:y', prompt: p",
            "chat_model_setups[a]: prompt: nothing in prompts is ca",
        ),
        (
            "chat_model_setups",
            "name: a, model: 'x:y', tools: [t]",
            "nothing in tools or mcp_servers is called 't'; there",
        ),
        (
            "chat_model_setups",
            "name: a, model: 'x:y', max_retries: many",
            "max_retries: a valid integer is needed, got 'm",
        ),
        ("chat_model_setups", "name: a, model: {fn: x}", "chat_model_setups[a].model: unknown member 'fn'"),
        (
            "chat_model_setups",
            "name: a, model: 'x:y', output_type: 'yaml_parts:Tiket'",
            "output_type: module yaml_parts",
        ),
        (
            "chat_model_setups",
            "name: a, model: 'x:y', usage_limits: {cost_limit: 1}",
            "usage_limits: unknown member 'cost",
        ),
        ("prompts", "name: p", "agent.yaml:4: agents[support].prompts[p]: exactly one of text, messages and file"),
        ("prompts", "name: p, file: no.md", "agent.yaml:4: prompts[p]: Prompt.from_file("),
        ("tools", "name: find, function: 'yaml_parts:find'", "is called 'lookup' by its @tool; write name: lookup"),
        (
            "tools",
            "name: lookup, function: 'yaml_parts:find', timeout: 3",
            "has an @tool of its own: timeout stands there",
        ),
        (
            "tools",
            "name: t, function: 'yaml_parts:check', parameter_types: []",
            "unknown member 'parameter_types': of Java",
        ),
        (
            "tools",
            "name: t, function: 'yaml_parts:check', requires_approval: 3",
            "requires_approval: a text is needed, got",
        ),
        ("mcp_servers", "name: m", "agent.yaml:4: agents[support].mcp_servers[m]: exactly one of endpoint and command"),
        ("mcp_servers", "name: m, command: uvx, headers: {A: b}", "mcp_servers[m]: headers: of an endpoint only"),
        (
            "mcp_servers",
            "name: m, endpoint: 'ftp://x'",
            "agent.yaml:4: mcp_servers[m]: MCPServer.http('ftp://x'): a URL",
        ),
        (
            "mcp_servers",
            "name: m, endpoint: 'http://x', headers: {A: '${a b}'}",
            "headers.A: `${a b}`: the name of an env",
        ),
        ("mcp_servers", "name: m, command: uvx, args: -v", "mcp_servers[m].args: a valid list is needed, got '-v'"),
        ("model_routers", "name: r, default: big", "model_routers[r]: nothing in chat_model_setups is called 'big'"),
        (
            "vector_stores",
            "name: v, clazz: chroma",
            "vector_stores[v]: clazz 'chroma': no vector store is called so; there are: sqlite_vec",
        ),
        ("vector_stores", "name: v, clazz: sqlite_vec, path: x.db", "vector_stores[v]: VectorStore(SqliteVec("),
        ("vector_stores", "name: v, clazz: pgvector, table: t, dsn: 'postgresql://u:hunter2@h'", "dsn: ${NAME}"),
        ("vector_stores", "name: v, clazz: qdrant, collection: c, api_key: hunter2", "api_key: ${NAME}"),
        (
            "decision_models",
            "name: d",
            "agent.yaml:4: agents[support].decision_models[d]: exactly one of model and function",
        ),
        (
            "decision_models",
            "name: d, model: 'system_one:x', fallbacks: [e]",
            "nothing in decision_models or decision_tab",
        ),
        (
            "decision_models",
            "name: d, model: 'system_one:x', fallbacks: [d]",
            "decision_models[d]: it falls back on itself",
        ),
        (
            "decision_models",
            "name: d, model: 'system_one:x', questions: {q: {type: nul}}",
            "type 'nul' (did you mean 'noul'?)",
        ),
        (
            "decision_tables",
            "name: t, rows: [{when: 'a >', x: true}]",
            "agent.yaml:4: decision_tables[t]: DecisionTable, row 1",
        ),
        ("decision_tables", "name: t, file: no.csv", "agent.yaml:4: decision_tables[t]: "),
        ("sources", "name: s, topic: 'a b'", "agent.yaml:4: sources[s]: Source('a b'): a topic's name"),
        ("sinks", "name: s, topic: t, schema: x", "sinks[s]: unknown member 'schema': write avro_schema"),
        (
            "sinks",
            "name: s, topic: t, format: xml",
            "agent.yaml:4: agents[support].sinks[s].format: 'json', 'avro' or 'cloud",
        ),
    ],
)
def test_resources(section: str, members: str, message: str) -> None:
    text = resource(section, members)
    assert message in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "agent 'agent.yaml': the file is empty; it begins with `agents:`"),
        ("agents: []", "agent.yaml:1: agents: List should have at least 1 item"),
        ("- name: a", "agent.yaml:1: a map is needed, got [{'name': 'a'}]"),
        ("agent: {}", "agent.yaml:1: unknown member 'agent' (did you mean agents?)"),
        ("agents:\n  - name: a b\n", "agent.yaml:2: agents[a b].name: name 'a b': letters, digits, '_' and '-'"),
        ("agents:\n  - name: [", "agent.yaml:2:12: expected the node content"),
        ("agents:\n  - name: a: b\n", "agent.yaml:2:12: mapping values are not allowed here; quote a text"),
        ("agents: !!python/object/apply:os.getcwd []", "agent.yaml:1:9: could not determine a constructor"),
        ("agents: &a [*a]", "agent.yaml:1: an alias (*) of what it stands in"),
        ("agents:\n  - name: a\n", "agent.yaml: a has no actions"),
        ("agents:\n  - {name: a}\n  - {name: a}\n", "agent.yaml:3: two agents are called 'a'"),
        ("agents:\n  - {name: a}\n  - {name: b}\n", "the file has 2 agents: write agent.yaml:a; there are: a, b"),
        (
            "agents:\n  - {name: a, actions: [go]}\n",
            "agent.yaml:2: no action beside agents is called 'go'; there are: no",
        ),
        (
            "agents:\n  - {name: a, sinks: [{name: x, topic: t}],\n     sources: [{name: x, topic: u, type: v}]}\n",
            "agent.yaml:2: sinks[x]: agent.yaml:3: sources[x] has this name",
        ),
        (
            "agents:\n  - name: a\n    sinks:\n      - {name: x, topic: t}\n      - {name: y, topic: t}\n",
            "agent.yaml:2: a: x and y both write topic 't'",
        ),
        (
            "agents:\n  - name: a\n    actions:\n      - {name: chat, function: 'm:f', trigger_conditions: [x]}\n",
            "agent.yaml:4: agents[a].actions[chat].name: name 'chat': a built-in action",
        ),
    ],
)
def test_files(text: str, message: str) -> None:
    assert message in said(text)


def test_every_problem_of_a_file_is_said_at_once() -> None:
    text = action(more="wen: x\n        ordr: key\n").splitlines()
    assert len(text) == 1  # one part, one unknown member at a time
    text = said("agents:\n  - name: a\n    sinks: [{name: s}]\n    sources: [{name: r}]\n").splitlines()
    assert [line.partition(": ")[0] for line in text] == ["agent.yaml:4", "agent.yaml:3"]


def test_a_file_that_is_not_there_and_a_name_that_is_not_in_it(folder: Path) -> None:
    with pytest.raises(AgentError, match=r"agent 'no\.yaml': No such file or directory; looked in "):
        load_agent("no.yaml")
    assert "has no agent 'suport' (did you mean support?)" in said(
        ACTION.format(function="yaml_parts:check", trigger="ticket", more=""), "agent.yaml:suport"
    )


def test_the_handler_may_be_async() -> None:
    Path("agent.yaml").write_text(ACTION.format(function="yaml_parts:slow", trigger="ticket", more="external: true"))
    assert "ticket" in build_plan(load_agent("agent.yaml"), "agent.yaml").accepts


@pytest.mark.parametrize(
    ("clazz", "message"),
    [
        ("sqlitevec", "clazz 'sqlitevec': no vector store is called so (did you mean sqlite_vec?); one of your own is"),
    ],
)
def test_a_vector_store_of_no_kind_is_not_taken_for_one_of_your_own(clazz: str, message: str) -> None:
    found = resource("vector_stores", f"name: manual, clazz: {clazz}, path: manual.db, embedder: hashing")
    assert found.startswith("agent.yaml:4: agents[support].vector_stores[manual]: ")
    assert message in found
