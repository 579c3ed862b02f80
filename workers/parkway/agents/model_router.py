"""`ModelRouter`: a chat model that is another one for each request, by rules over what the request says."""

from collections.abc import Mapping, Sequence
from typing import Any

from parkway.agents.errors import AgentError, did_you_mean
from parkway.agents.resource import Resource
from parkway.router.cel import Expression, TriggerEvaluationError, TriggerLoadError, compile_expression
from parkway.schemas.events import ChatRequestEvent


class ModelRouter(Resource):
    """Chooses one of the agent's chat models per request; a request names it like a chat model.

        model = ModelRouter(rules=[("size(messages) > 20", "big")], default="small")

    `rules` are pairs of a CEL expression over the request's attributes (`messages`, `prompt_args`, `output_schema`,
    `user_context`) and the name of a ChatModel of the agent. The first that is true decides, else `default`. A rule
    that has no boolean value (a field that is not there) is not true; write `has(user_context.tier) && ...` to be
    plain about it. All rounds of a request stay with the model that was chosen for it.

    Raises AgentError for an expression that is none.
    """

    def __init__(self, *, rules: Sequence[Sequence[str]] = (), default: str) -> None:
        if isinstance(rules, str) or not all(_is_rule(rule) for rule in rules):
            raise AgentError(f"ModelRouter(rules={rules!r}): pairs of a CEL expression and a model's name")
        if not isinstance(default, str) or not default:
            raise AgentError(f"ModelRouter(default={default!r}): the name of a ChatModel of the agent")
        self.rules: tuple[tuple[str, str], ...] = tuple((text, model) for text, model in rules)
        self.default = default
        self._rules = tuple((_compiled(text, model), model) for text, model in self.rules)

    def __repr__(self) -> str:
        return f"ModelRouter(rules={list(self.rules)!r}, default={self.default!r})"

    @property
    def models(self) -> tuple[str, ...]:
        """The names that it may choose, `default` last."""
        return tuple(dict.fromkeys([*(model for _, model in self.rules), self.default]))

    def choose(self, request: Mapping[str, Any]) -> str:
        """The name of the chat model for a chat request in JSON form."""
        for rule, model in self._rules:
            try:
                if rule.evaluate(request):
                    return model
            except TriggerEvaluationError:
                continue
        return self.default


def _is_rule(rule: object) -> bool:
    return (
        isinstance(rule, Sequence)
        and not isinstance(rule, str)
        and len(rule) == 2
        and all(isinstance(part, str) and part for part in rule)
    )


def _compiled(text: str, model: str) -> Expression:
    try:
        rule = compile_expression(text)
    except TriggerLoadError as error:
        raise AgentError(f"ModelRouter: the rule for {model!r}: {error}") from error
    known = ChatRequestEvent.attribute_names()
    for name in sorted(rule.attribute_names.difference(known)):
        raise AgentError(
            f"ModelRouter: the rule for {model!r}: `{text}` reads {name!r}{did_you_mean(name, known)}, "
            f"and a chat request has only {', '.join(known)}"
        )
    return rule
