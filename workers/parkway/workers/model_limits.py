"""The limiter of a chat model, as its author asked for it."""

from parkway.agents.chat_model import ChatModel
from parkway.agents.rate import RateLimit
from parkway.workers.limiter import Limiter


def limiter_of(name: str, chat: ChatModel) -> Limiter | None:
    """None when the model has no limits."""
    if chat.requests_per_minute is None and chat.tokens_per_minute is None and chat.concurrency is None:
        return None
    return Limiter(
        f"chat model {name}",
        calls=_a_minute(chat.requests_per_minute),
        tokens=_a_minute(chat.tokens_per_minute),
        concurrency=chat.concurrency,
    )


def _a_minute(times: int | None) -> RateLimit | None:
    return RateLimit(times, per=60.0) if times is not None else None
