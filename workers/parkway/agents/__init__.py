"""What the author of an agent imports. No Kafka."""

from pydantic_ai.usage import UsageLimits

from parkway.agents.action import ActionSpec, action
from parkway.agents.agent import Agent, Definition, definition_of, running
from parkway.agents.build import build_plan
from parkway.agents.chat_model import ChatModel, ModelSource
from parkway.agents.context import Context
from parkway.agents.decision_model import DecisionLimits, DecisionModel
from parkway.agents.decision_table import DecisionTable
from parkway.agents.errors import AgentError, ContextError, ToolArgumentsError
from parkway.agents.hashing_embedder import HashingEmbedder
from parkway.agents.load import load_agent
from parkway.agents.mcp_server import MCPServer
from parkway.agents.model_router import ModelRouter
from parkway.agents.prompt import Prompt
from parkway.agents.rate import RateLimit
from parkway.agents.react import ReActAgent
from parkway.agents.resource import Resource
from parkway.agents.retry import Retry
from parkway.agents.sink import Sink
from parkway.agents.source import Source
from parkway.agents.state import State
from parkway.agents.step import StepError
from parkway.agents.stores import DocumentStore, Filter, PgVector, Qdrant, SqliteVec, StoreError
from parkway.agents.tool import Tool, tool
from parkway.agents.tool_context import ToolContext
from parkway.agents.vector_store import VectorStore
from parkway.schemas.decision_answers import AnswerError, ChoiceAnswer, NoulAnswer, ScoreAnswer
from parkway.schemas.decision_events import DecisionFailedError
from parkway.schemas.decision_questions import Choice, Noul, Question, QuestionError, Score
from parkway.schemas.event_types import EventType
from parkway.schemas.events import (
    ApprovalRequestEvent,
    ApprovalResponseEvent,
    CancelRequestEvent,
    ChatFailedError,
    ChatRequestEvent,
    ChatResponseEvent,
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
    DecisionRequestEvent,
    DecisionResponseEvent,
    Document,
    Event,
    EventError,
    InputEvent,
    OutputEvent,
    ToolRequestEvent,
    ToolResponseEvent,
    ToolResult,
)
from parkway.schemas.messages import ChatMessage, FunctionCall, ToolCall
from parkway.schemas.state import StateError

__all__ = [
    "ActionSpec",
    "Agent",
    "AgentError",
    "AnswerError",
    "ApprovalRequestEvent",
    "ApprovalResponseEvent",
    "CancelRequestEvent",
    "ChatFailedError",
    "ChatMessage",
    "ChatModel",
    "ChatRequestEvent",
    "ChatResponseEvent",
    "Choice",
    "ChoiceAnswer",
    "Context",
    "ContextError",
    "ContextRetrievalRequestEvent",
    "ContextRetrievalResponseEvent",
    "DecisionFailedError",
    "DecisionLimits",
    "DecisionModel",
    "DecisionRequestEvent",
    "DecisionResponseEvent",
    "DecisionTable",
    "Definition",
    "Document",
    "DocumentStore",
    "Event",
    "EventError",
    "EventType",
    "Filter",
    "FunctionCall",
    "HashingEmbedder",
    "InputEvent",
    "MCPServer",
    "ModelRouter",
    "ModelSource",
    "Noul",
    "NoulAnswer",
    "OutputEvent",
    "PgVector",
    "Prompt",
    "Qdrant",
    "Question",
    "QuestionError",
    "RateLimit",
    "ReActAgent",
    "Resource",
    "Retry",
    "Score",
    "ScoreAnswer",
    "Sink",
    "Source",
    "SqliteVec",
    "State",
    "StateError",
    "StepError",
    "StoreError",
    "Tool",
    "ToolArgumentsError",
    "ToolCall",
    "ToolContext",
    "ToolRequestEvent",
    "ToolResponseEvent",
    "ToolResult",
    "UsageLimits",
    "VectorStore",
    "action",
    "build_plan",
    "definition_of",
    "load_agent",
    "running",
    "tool",
]
