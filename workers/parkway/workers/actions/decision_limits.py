"""What hosts of decision models take at most: asked too much, they answer 400 without saying what to do."""

from dataclasses import replace
from typing import Any, Final, cast

from pydantic_ai.models.decision import DecisionModel as ProviderModel

from parkway.agents.decision_model import DecisionLimits
from parkway.schemas import jsonio
from parkway.schemas.decision_questions import Choice, Score
from parkway.schemas.json_form import json_form
from parkway.workers.actions.decision_ask import Ask

# By how the host's model names begin; what pydantic-ai knows of a model goes before it.
_KNOWN: Final = {
    "jev": DecisionLimits(options=255, levels=10),  # docs.typesafe.ai: a 256th option, an 11th level is a 400
    "pplx-decider": DecisionLimits(options=255, levels=10, questions=128),  # Perplexity's own documentation
    "nimble": DecisionLimits(options=255, levels=255, questions=64, bytes=1_048_576),  # docs.bespokelabs.ai/nimble
}


def limits_of(model: ProviderModel[Any], own: DecisionLimits) -> DecisionLimits:
    """What is known of the model's host; `own`, which the agent's author has set, goes before everything."""
    name = model.model_name.rpartition("/")[2]
    known = next((limits for begin, limits in _KNOWN.items() if name.startswith(begin)), DecisionLimits())
    profile = cast("dict[str, Any]", model.profile)
    options = profile.get("decision_max_choice_options", model.max_choice_options)
    levels = profile.get("decision_max_score_levels", model.max_score_levels)
    return replace(
        known,
        options=own.options or options or known.options,
        levels=own.levels or levels or known.levels,
        questions=own.questions or model.max_questions or known.questions,
        bytes=own.bytes or known.bytes,
    )


def exceeded(limits: DecisionLimits, ask: Ask) -> str | None:
    """What is too much, with the question's name; None when it is not."""
    if limits.questions is not None and len(ask.questions) > limits.questions:
        return f"{len(ask.questions)} questions, it takes {limits.questions} in a request; send them in several"
    for name, question in ask.questions.items():
        if isinstance(question, Choice) and limits.options is not None and len(question.options) > limits.options:
            return f"question {name!r} has {len(question.options)} options, it takes {limits.options}"
        if isinstance(question, Score) and limits.levels is not None and len(question.levels) > limits.levels:
            return f"question {name!r} has {len(question.levels)} levels, it takes {limits.levels}"
    if limits.bytes is not None:
        size = len(jsonio.dumps(json_form({"state": ask.state, "questions": ask.questions}, "request")))
        if size > limits.bytes:
            return f"state and questions are {size:,} bytes of JSON, it takes {limits.bytes:,}"
    return None
