"""An agent as a class, with everything that a class can say; `every.yaml` says the same."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_ai.models.test import TestModel

from parkway.agents import (
    Agent,
    ChatMessage,
    ChatModel,
    ChatRequestEvent,
    ChatResponseEvent,
    Choice,
    Context,
    DecisionModel,
    DecisionTable,
    DocumentStore,
    Event,
    EventType,
    HashingEmbedder,
    MCPServer,
    ModelRouter,
    Noul,
    PgVector,
    Prompt,
    Qdrant,
    Retry,
    Sink,
    Source,
    SqliteVec,
    UsageLimits,
    VectorStore,
    action,
    tool,
)

HERE = Path(__file__).parent


class Ticket(BaseModel):
    customer: str
    amount: float
    text: str


class Verdict(BaseModel):
    urgent: bool
    reason: str


class OutOfOrderError(Exception):
    """The shop is closed."""


class Shelf(DocumentStore):
    async def query(self, text: str, embedding: Any, *, max_results: int, where: Any) -> list[Any]:
        return []


@tool(timeout=7)
async def lookup(customer: str) -> dict[str, str]:
    """Looks a customer up."""
    return {"customer": customer}


def weather(city: str, limit: int = 3) -> str:
    """The weather."""
    return f"{city}: {limit} degrees"


def expensive(arguments: Any) -> bool:
    return arguments.get("amount", 0) > 100


def refund_order(order: str, amount: float, currency: str, tenant: str) -> str:
    """Pays back."""
    return f"{amount} {currency} for {order} of {tenant}"


def scripted() -> TestModel:
    return TestModel(custom_output_text="hello")


def decide(state: dict[str, Any]) -> dict[str, Any]:
    return {"urgent": state["amount"] > 100}


async def lifespan(self: Any) -> AsyncIterator[None]:
    self.opened = True
    yield
    self.opened = False


def redact(kind: str, content: Any) -> Any:
    return {"kind": kind}


async def triage(ticket: Ticket, ctx: Context) -> None:
    message = ChatMessage.user(f"{ticket.customer}: {ticket.text}")
    ctx.send(ChatRequestEvent(model="assistant", messages=[message], user_context={"step": "triage"}))


def answer(self: Any, event: ChatResponseEvent, ctx: Context) -> None:
    ctx.output({"urgent": self.assistant.output(event).urgent}, to=self.done)


async def count(ctx: Context) -> None:
    ctx.state["seen"] = ctx.state.get("seen", 0) + 1
    ctx.output(ctx.state["seen"])


class Every(Agent):
    """The agent that `every.yaml` declares."""

    greeting = Prompt("You serve {shop}.", defaults={"shop": "Ada's"})
    dialogue = Prompt([ChatMessage.system("Be brief."), ChatMessage.user("{question}")])
    manual_prompt = Prompt.from_file(HERE / "prompt.md", role="user")

    git = MCPServer.stdio("uvx", ["mcp-server-git"], env={"GIT_AUTHOR_NAME": "Ada"}, cwd=HERE / ".", prefix="git")
    github = MCPServer.http(
        "https://example.com/mcp",
        headers=lambda: {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}"},
        tools=["get_issue", "merge"],
        requires_approval={"merge": expensive, "get_issue": "it is slow"},
        approval_timeout=60,
        timeout=9,
        connect_timeout=3,
        max_result_bytes=1000,
    )

    assistant = ChatModel(
        "openai:gpt-5-mini",
        instructions="You triage tickets.",
        prompt="greeting",
        tools=[
            lookup,
            weather,
            tool(
                name="refund",
                inject={"currency": "EUR"},
                injected=["tenant"],
                max_result_bytes=500,
                requires_approval=expensive,
                approval_timeout=30,
            )(refund_order),
            git,
            github,
        ],
        output_type=Verdict,
        fallbacks=["anthropic:claude-haiku-4-5", scripted],
        settings={"temperature": 0.0},
        max_retries=1,
        max_tool_rounds=5,
        timeout=20,
        deadline=90,
        usage_limits=UsageLimits(request_limit=4, total_tokens_limit=9000),
        requests_per_minute=60,
        tokens_per_minute=10_000,
        concurrency=3,
    )
    small = ChatModel(scripted, output_type={"type": "object", "properties": {"urgent": {"type": "boolean"}}})
    either = ModelRouter(rules=[("size(messages) > 20", "assistant")], default="small")

    manual = VectorStore(
        SqliteVec(HERE / "manual.db", table="pages"),
        embedder=HashingEmbedder(),
        filter={"lang": "en"},
        retry=Retry(attempts=2, on=(ConnectionError, OutOfOrderError), backoff=0.5),
        timeout=5,
        concurrency=2,
        batch=16,
    )
    orders_store = VectorStore(PgVector("orders", dsn_env="ORDERS_DSN"), embedder="openai:text-embedding-3-small")
    news = VectorStore(Qdrant("news", url_env="NEWS_URL", api_key_env="NEWS_KEY"), embedder="openai:x")
    shelf = VectorStore(Shelf)

    rules = DecisionTable(
        [{"when": "amount > 1000", "queue": "manager", "urgent": True}],
        questions={"queue": Choice(["manager", "other"]), "urgent": Noul("Within the hour?")},
        default={"queue": "other", "urgent": False},
        state=Ticket,
    )
    routing = DecisionTable.from_file(HERE / "routing.csv")
    judge = DecisionModel(
        "system_one:jev-1.14",
        questions={"urgent": Noul("Within the hour?"), "queue": Choice(["manager", "other"])},
        fallbacks=["openai_decisions:gpt-6-luna", rules],
        max_retries=1,
        requests_per_minute=10,
    )
    by_size = DecisionModel.of(decide, questions={"urgent": Noul("Within the hour?")}, timeout=3)

    orders = Source("shop.orders", type="order")
    done = Sink("shop.done")
    told = Sink("shop.news", format="cloudevents", type="shop.triaged")
    archive = Sink("shop.archive", format="avro", schema=(HERE / "archive.avsc").read_text())

    @action("ticket", when="amount > 100", external=True, retry=Retry(attempts=3, on=(TimeoutError,)), timeout=30)
    async def triage(self, ticket: Ticket, ctx: Context) -> None:
        await triage(ticket, ctx)

    @action(EventType.ChatResponseEvent, "type == 'retry' && has(user_context.step)", name="answer-it")
    def answer_it(self, event: Event, ctx: Context) -> None:
        assert isinstance(event, ChatResponseEvent)
        answer(self, event, ctx)

    @action("order", state=True, rate="100/m", concurrency=5, deadline=60)
    async def count(self, ctx: Context) -> None:
        await count(ctx)

    @action("refund", external=True, order="unordered", steps=True)
    async def refund(self, event: Event, ctx: Context) -> None:
        await ctx.step("pay", lambda: "paid")

    async def lifespan(self) -> AsyncIterator[None]:
        async for _ in lifespan(self):
            yield

    def redact(self, kind: str, content: Any) -> Any:
        return redact(kind, content)
