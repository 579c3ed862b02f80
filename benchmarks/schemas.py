"""Reading and writing a 1 KB event as its typed class, against pydantic alone on plain models of the same members.

python benchmarks/schemas.py [--check]

The bar (issue "Schemas"): decode at most 2x of `pydantic_core.from_json` plus model validation, encode at most 2x of
`model_dump_json`. Times are the best of a round, ratios the median over rounds in which both sides take turns, so a
busy machine slows both. With --check a missed bar exits with 1. Avro is shown beside it, without a bar.
"""

import argparse
import sys
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import pydantic_core
from pydantic import BaseModel, ConfigDict

from parkway.schemas.avro import AvroCodec
from parkway.schemas.events import (
    ChatMessage,
    ChatRequestEvent,
    ChatResponseEvent,
    Event,
    ToolResponseEvent,
    TypedEvent,
)

BAR = 2.0
ROUNDS = 9
CALLS = 2000

TEXT = "My order 4711 has not come yet, and nobody answers the telephone. Please tell me where it is. "
USER_CONTEXT = {"step": "triage", "ticket": 42, "tags": ["urgent", "order"]}


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Message(Strict):
    role: str = "user"
    content: str = ""
    tool_calls: list[Any] = []
    extra_args: dict[str, Any] = {}


class ChatRequest(Strict):
    model: str
    messages: list[Message]
    prompt_args: dict[str, Any] = {}
    output_schema: Any = None
    user_context: dict[str, Any] | None = None


class ChatResponse(Strict):
    request_id: str
    response: Message | None
    success: bool = True
    error: dict[str, Any] | None = None
    retry_count: int = 0
    total_retry_wait_sec: float = 0
    user_context: dict[str, Any] | None = None


class ToolResponse(Strict):
    request_id: str
    responses: dict[str, Any]
    success: Any
    error: Any
    external_ids: Any
    user_context: dict[str, Any] | None = None


class Plain(BaseModel):
    id: str
    type: str


class PlainChatRequest(Plain):
    attributes: ChatRequest


class PlainChatResponse(Plain):
    attributes: ChatResponse


class PlainToolResponse(Plain):
    attributes: ToolResponse


@dataclass(frozen=True)
class Case:
    event: TypedEvent
    plain: type[BaseModel]


CASES = [
    Case(
        ChatRequestEvent(
            model="assistant",
            messages=[ChatMessage.system("You triage tickets."), *(ChatMessage.user(TEXT) for _ in range(3))],
            user_context=USER_CONTEXT,
        ),
        PlainChatRequest,
    ),
    Case(
        ChatResponseEvent(request_id="r", response=ChatMessage.assistant(TEXT * 7), user_context=USER_CONTEXT),
        PlainChatResponse,
    ),
    Case(
        ToolResponseEvent(
            request_id="r",
            responses={f"call-{i}": {"order": i, "state": TEXT} for i in range(4)},
            user_context=USER_CONTEXT,
        ),
        PlainToolResponse,
    ),
]


def microseconds(call: Callable[[], object]) -> float:
    return min(timeit.repeat(call, number=CALLS, repeat=3)) / CALLS * 1e6


def compare(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float, float]:
    """Median microseconds of both, and the median of their ratios."""
    rounds = [(microseconds(ours), microseconds(theirs)) for _ in range(ROUNDS)]
    return median(a for a, _ in rounds), median(b for _, b in rounds), median(a / b for a, b in rounds)


def pairs(case: Case) -> list[tuple[str, Callable[[], object], Callable[[], object]]]:
    """What is measured, ours, and pydantic alone."""
    data = case.event.to_json()
    event, validate = Event.parse(data), case.plain.__pydantic_validator__.validate_python
    plain = validate(pydantic_core.from_json(data))
    return [
        ("decode", lambda: Event.parse(data), lambda: validate(pydantic_core.from_json(data))),
        ("encode", event.to_json, plain.model_dump_json),
    ]


def avro(case: Case) -> list[tuple[str, Callable[[], object]]]:
    codec, data = AvroCodec(), case.event.to_json()
    encoded = codec.encode_event(data)
    return [("from Avro", lambda: codec.decode_event(encoded)), ("to Avro", lambda: codec.encode_event(data))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    check = parser.parse_args().check
    missed = False
    print(f"{'':28}{'bytes':>7}{'ours us':>9}{'pydantic us':>13}{'ratio':>7}{'bar':>6}")
    for case in CASES:
        name, size = type(case.event).__name__, len(case.event.to_json())
        for what, ours, theirs in pairs(case):
            mine, alone, ratio = compare(ours, theirs)
            missed |= ratio > BAR
            verdict = "  MISSED" if ratio > BAR else ""
            print(f"{name + ' ' + what:28}{size:7}{mine:9.1f}{alone:13.1f}{ratio:7.2f}{BAR:6.1f}{verdict}")
        for what, call in avro(case):
            print(f"{name + ' ' + what:28}{size:7}{microseconds(call):9.1f}")
    return int(check and missed)


if __name__ == "__main__":
    sys.exit(main())
