"""What is waited for after an event was sent: its response, its first output, or all its outputs."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Final, TypeVar

from parkway.client.answers import Answer, Root
from parkway.client.errors import ClientError, DeadLetteredError
from parkway.runtime.codec import EventCodec
from parkway.schemas import headers
from parkway.schemas.event_types import EventType
from parkway.schemas.events import Event, EventError
from parkway.schemas.format_error import FormatError
from parkway.schemas.topics import Topics

T = TypeVar("T")

# Request type -> type of its response, and the built-in action that gives it.
RESPONSES: Final = {
    EventType.ChatRequestEvent: (EventType.ChatResponseEvent, "chat"),
    EventType.ToolRequestEvent: (EventType.ToolResponseEvent, "tool"),
    EventType.ContextRetrievalRequestEvent: (EventType.ContextRetrievalResponseEvent, "retrieval"),
    EventType.DecisionRequestEvent: (EventType.DecisionResponseEvent, "decision"),
}


class Begins:
    """Where topics ended: (topic, partition) -> offset. `taken_at`: `time.monotonic` before it was asked."""

    def __init__(self, taken_at: float, ends: dict[tuple[str, int], int]) -> None:
        self.taken_at = taken_at
        self.ends = ends

    def of(self, topic: str, partition: int) -> int:
        """Where to read from; a partition that was not there yet is read from its beginning."""
        return self.ends.get((topic, partition), 0)


class Waiter(ABC):
    """One event of ours that is on its way. Guarded by the lock of `InFlight`.

    `root` is its place in `requests`, once it is delivered. `begins` are the ends of what is read for it, taken before
    it was produced. `when_placed` are called with the place, or with None when it will never have one.
    """

    def __init__(self, event: Event, codec: EventCodec, topics: Topics) -> None:
        self.event = event
        self.secret = secrets.token_hex(16)
        self.root: Root | None = None
        self.begins: Begins | None = None
        self.produced_at = 0.0
        self.when_placed: list[Callable[[Root | None], None]] = []
        self.over = False
        self._codec = codec
        self._topics = topics

    @abstractmethod
    def take(self, answer: Answer) -> bool:
        """A record with this event as its root was read. True: nothing more is waited for."""

    @abstractmethod
    def fail(self, error: ClientError) -> None:
        """There will be no answer."""

    def _read(self, answer: Answer) -> Event:
        try:
            return Event.parse(self._codec.decode(answer.value))
        except (EventError, FormatError) as error:
            raise ClientError(
                f"{answer.place} cannot be read: {error}; is this client older than the workers?"
            ) from None

    def _dead(self, answer: Answer) -> DeadLetteredError:
        return DeadLetteredError(
            self.event.id, answer.text(headers.ERROR_TYPE), answer.text(headers.ERROR_MESSAGE), answer.place
        )


class ResponseWaiter(Waiter):
    """Waits for the one terminal response to a request."""

    def __init__(self, event: Event, codec: EventCodec, topics: Topics) -> None:
        super().__init__(event, codec, topics)
        if event.type not in RESPONSES:
            raise ClientError(
                f"{event.type}: only {', '.join(RESPONSES)} end in a response; wait for the output of any other event "
                "by ask(), for several by outputs(), or send() it without waiting"
            )
        self._response_type, self.action = RESPONSES[event.type]
        self.future: Future[Event] = Future()

    def take(self, answer: Answer) -> bool:
        if answer.origin is not None:
            if not self._is_the_request(answer):
                return False
            self.fail(self._dead(answer))
            return True
        if answer.text(headers.TYPE) != self._response_type:
            return False
        try:
            response = self._read(answer)
        except ClientError as error:
            self.fail(error)
            return True
        if response.attributes.get("request_id") != self.event.id:
            return False
        resolve(self.future, response)
        return True

    def fail(self, error: ClientError) -> None:
        resolve_failed(self.future, error)

    def _is_the_request(self, answer: Answer) -> bool:
        """Not something that an agent did on the way: the request itself, in the hands of the action it is for."""
        if answer.origin == self._topics.requests:
            return True
        own = {self._topics.action(self.action), self._topics.resume(self.action)}
        return answer.origin in own and headers.number(answer.headers.get(headers.HOPS), 0) == 0


class OutputsWaiter(Waiter):
    """Waits for output events; `give` gets each, and the error that ends it. It returns True when it has enough."""

    def __init__(
        self, event: Event, codec: EventCodec, topics: Topics, give: Callable[[Event | ClientError], bool]
    ) -> None:
        super().__init__(event, codec, topics)
        self._give = give

    def take(self, answer: Answer) -> bool:
        if answer.origin is not None:
            self._give(self._dead(answer))
            return True
        if answer.text(headers.TYPE) != EventType.OutputEvent:
            return False
        try:
            return self._give(self._read(answer))
        except ClientError as error:
            self._give(error)
            return True

    def fail(self, error: ClientError) -> None:
        self._give(error)


def resolve(future: "Future[T]", value: T) -> None:
    """Set the result, unless whoever waited has gone."""
    try:
        future.set_result(value)
    except InvalidStateError:
        return


def resolve_failed(future: "Future[T]", error: Exception) -> None:
    """Set the exception, unless whoever waited has gone."""
    try:
        future.set_exception(error)
    except InvalidStateError:
        return
