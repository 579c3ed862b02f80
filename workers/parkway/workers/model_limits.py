"""The limiter of a chat or decision model, as its author asked for it."""

from parkway.agents.chat_model import ChatModel
from parkway.agents.decision_model import DecisionModel
from parkway.agents.rate import RateLimit
from parkway.workers.limiter import Limiter


def limiter_of(name: str, model: ChatModel | DecisionModel) -> Limiter | None:
    """None when the model has no limits."""
    if model.requests_per_minute is None and model.tokens_per_minute is None and model.concurrency is None:
        return None
    kind = "chat" if isinstance(model, ChatModel) else "decision"
    return Limiter(
        f"{kind} model {name}",
        calls=_a_minute(model.requests_per_minute),
        tokens=_a_minute(model.tokens_per_minute),
        concurrency=model.concurrency,
    )


def _a_minute(times: int | None) -> RateLimit | None:
    return RateLimit(times, per=60.0) if times is not None else None
