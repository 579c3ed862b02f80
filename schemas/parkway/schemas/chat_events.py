"""A request to a chat model, and its one terminal response."""

from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, TypeAdapter

from parkway.schemas import jsonio
from parkway.schemas.event_types import EventType
from parkway.schemas.json_form import valid_text
from parkway.schemas.messages import ChatMessage
from parkway.schemas.typed_event import TypedEvent
from parkway.schemas.user_context import UserContext
from parkway.schemas.wire_model import ListOf, WireModel

Output = TypeVar("Output")

# Key in `extra_args` under which Flink Agents puts the value that it read from the text.
STRUCTURED_OUTPUT: Final = "structured_output"


def _said(message: object) -> object:
    return valid_text(message) if isinstance(message, str) else message


class ErrorInfo(WireModel):
    """Why a request failed. `type` is one of `errors.ErrorType`; `usage` counts tokens spent on the way.

    `questions` names those of a decision that have no answer, where others have.
    """

    model_config = ConfigDict(extra="allow")
    OMITTED: ClassVar[frozenset[str]] = frozenset({"usage", "questions"})

    type: str
    message: Annotated[str, BeforeValidator(_said)] = ""
    attempts: StrictInt = 0
    usage: dict[str, Any] | None = None
    questions: list[str] | None = None


class ChatFailedError(RuntimeError):
    """The response of a chat that failed was read; `error` says why."""

    def __init__(self, error: ErrorInfo) -> None:
        super().__init__(f"the chat failed: {error.type}: {error.message}")
        self.error = error


class ChatRequestEvent(TypedEvent):
    """Asks the chat model `model`. `output_schema` is a JSON schema; a pydantic class is turned into one."""

    EVENT_TYPE: ClassVar[str] = EventType.ChatRequestEvent

    model: str
    messages: ListOf[ChatMessage]
    prompt_args: dict[str, Any] = Field(default_factory=dict)
    output_schema: Any = None
    user_context: UserContext = None

    @classmethod
    def _prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        schema = values.get("output_schema")
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            return {**values, "output_schema": schema.model_json_schema()}
        return values


class ChatResponseEvent(TypedEvent):
    """The end of a chat. `message` is the answer or None; reading `response` of a failed one raises."""

    EVENT_TYPE: ClassVar[str] = EventType.ChatResponseEvent

    request_id: str
    message: ChatMessage | None = Field(alias="response")
    success: StrictBool = True
    error: ErrorInfo | None = None
    retry_count: StrictInt = 0
    total_retry_wait_sec: StrictInt | StrictFloat = 0
    user_context: UserContext = None

    @property
    def response(self) -> ChatMessage:
        """The model's answer. Raises ChatFailedError when there is none."""
        if not self.success:
            raise ChatFailedError(self.error or ErrorInfo(type="internal", message="no reason was given"))
        if self.message is None:
            raise ChatFailedError(ErrorInfo(type="internal", message="the response holds no message"))
        return self.message

    def output(self, output_type: type[Output]) -> Output:
        """The answer as that type: a pydantic model, or any other that pydantic can validate.

        Raises ChatFailedError when there is no answer, pydantic's ValidationError when it is not of that form.
        """
        message = self.response
        value = message.extra_args.get(STRUCTURED_OUTPUT)
        text = message.content if value is None else jsonio.dumps(value)
        hashable: Any = output_type  # which mypy does not know of a class
        output: Output = _adapter(hashable).validate_json(text)
        return output


@lru_cache(maxsize=256)
def _adapter(output_type: Any) -> TypeAdapter[Any]:
    return TypeAdapter(output_type)
