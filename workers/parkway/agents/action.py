"""`@action`: a method of an agent that handles the events its triggers match."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, get_args

from parkway.agents.errors import AgentError
from parkway.agents.rate import RateLimit
from parkway.agents.retry import ONE_ATTEMPT, Retry
from parkway.schemas import topics

Order = Literal["key", "unordered"]
Handler = TypeVar("Handler", bound=Callable[..., Any])

BUILT_IN_ACTIONS: Final = ("chat", "tool", "retrieval", "decision")
_MARK: Final = "__parkway_action__"


@dataclass(frozen=True, slots=True)
class ActionOptions:
    """What stands between the parentheses of `@action`. `where`: how messages name an action that is no method."""

    triggers: tuple[str, ...]
    when: str | None
    external: bool
    name: str | None
    order: Order
    concurrency: int | None
    retry: Retry
    rate: RateLimit | None = None
    timeout: float | None = None
    deadline: float | None = None
    state: bool = False
    steps: bool = False
    where: str | None = None


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """A user action: its name, the method behind it, and the options of its decorator.

    `where` is the method as error messages name it, such as `Support.triage`.
    """

    name: str
    method: str
    where: str
    function: Callable[..., Any]
    options: ActionOptions


def action(
    *triggers: str,
    when: str | None = None,
    external: bool = False,
    name: str | None = None,
    order: Order = "key",
    concurrency: int | None = None,
    retry: Retry = ONE_ATTEMPT,
    rate: RateLimit | str | None = None,
    timeout: float | None = None,
    deadline: float | None = None,
    state: bool = False,
    steps: bool = False,
    where: str | None = None,
) -> Callable[[Handler], Handler]:
    """Make a method an action: it handles every event that one of `triggers` matches.

    A trigger is an event type name or a CEL expression; `when` is a CEL expression that must hold as well.
    `external` lets producers outside send these event types to `<namespace>.requests`. The action is called
    after the method (`close_issue` becomes `close-issue`) unless `name` says otherwise. With `order="key"`
    the records of one key are handled one after another, `"unordered"` waits for none; `concurrency` bounds
    the records in hand of one process (None: the worker's setting), `rate` (such as "100/m") the attempts in
    the whole installation.

    Without `retry` there is one attempt. An attempt that takes longer than `timeout` seconds is cancelled and
    fails with a TimeoutError, which `retry` may repeat. An event that is not handled by the deadline that came
    with it (`parkway-deadline`), or else `deadline` seconds after its first attempt began, goes to the DLQ. A
    sync method cannot be stopped: what it sends after that is refused.

    `state` gives the handler a small memory per record key (`ctx.state`), and needs `order="key"`. `steps` lets it
    record results that must not be computed again after a crash (`ctx.step`). `where` is how messages name an action
    that is declared elsewhere; default `Agent.method`.

    Raises AgentError for arguments that cannot be meant.
    """
    _check_triggers(triggers)
    if when is not None and (not isinstance(when, str) or not when.strip()):
        raise AgentError(f"@action(when={when!r}): a CEL expression such as 'amount > 100', or leave it out")
    if order not in get_args(Order):
        raise AgentError(f"@action(order={order!r}): 'key' or 'unordered'")
    if concurrency is not None and (not isinstance(concurrency, int) or concurrency < 1):
        raise AgentError(f"@action(concurrency={concurrency!r}): at least 1, or None for the worker's setting")
    if not isinstance(retry, Retry):
        raise AgentError(f"@action(retry={retry!r}): a Retry, such as Retry(attempts=3, on=(TimeoutError,))")
    for given, value in (("timeout", timeout), ("deadline", deadline)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value <= 0):
            raise AgentError(f"@action({given}={value!r}): seconds, more than 0, or None for no limit")
    for given, value in (("state", state), ("steps", steps)):
        if not isinstance(value, bool):
            raise AgentError(f"@action({given}={value!r}): True or False")
    if state and order != "key":
        raise AgentError(
            f"@action(state=True, order={order!r}): state is kept by key, and records of one key would change it at "
            'the same time: leave order out (it is "key")'
        )
    try:
        limit = RateLimit.of(rate) if rate is not None else None
    except ValueError as error:
        raise AgentError(f"@action(rate=...): {error}") from None
    options = ActionOptions(
        triggers, when, external, name, order, concurrency, retry, limit, timeout, deadline, state, steps, where
    )

    def mark(function: Handler) -> Handler:
        if isinstance(function, staticmethod | classmethod) or not callable(function):
            raise AgentError(f"@action on a {type(function).__name__}: it goes on a plain method")
        setattr(function, _MARK, options)
        return function

    return mark


def options_of(value: object) -> ActionOptions | None:
    """The options of a method that `@action` decorates, or None."""
    options = getattr(value, _MARK, None)
    return options if isinstance(options, ActionOptions) else None


def spec_of(agent: str, method: str, function: Callable[..., Any], options: ActionOptions) -> ActionSpec:
    """Name an action. Raises AgentError for a name that no topic can have, or that a built-in action has."""
    where = options.where if options.where is not None else f"{agent}.{method}"
    name = options.name if options.name is not None else method.strip("_").replace("_", "-")
    if not isinstance(name, str) or not topics.ACTION_NAME.fullmatch(name):
        proposal = re.sub(r"[^a-z0-9]+", "-", str(name).lower()).strip("-")[:64] or "other-name"
        raise AgentError(
            f"{where}: action name {name!r}: 1 to 64 lower-case letters, digits and dashes; "
            f"write @action(..., name={proposal!r})"
        )
    if name in BUILT_IN_ACTIONS:
        raise AgentError(
            f"{where}: {name!r} is a built-in action ({', '.join(BUILT_IN_ACTIONS)}); "
            f"rename the method or write @action(..., name='my-{name}')"
        )
    return ActionSpec(name, method, where, function, options)


def _check_triggers(triggers: tuple[object, ...]) -> None:
    if not triggers:
        raise AgentError("@action() without a trigger: name an event type, as in @action('ticket')")
    for trigger in triggers:
        if isinstance(trigger, type):
            raise AgentError(
                f"@action({trigger.__name__}): a trigger is text: an event type name such as 'ticket' or "
                "EventType.ChatResponseEvent, or a CEL expression"
            )
        if callable(trigger):
            raise AgentError("@action without parentheses: write @action('event-type') above the method")
        if not isinstance(trigger, str) or not trigger.strip():
            raise AgentError(f"@action({trigger!r}): a trigger is an event type name or a CEL expression")
