"""Logs: one line per event on stderr, JSON on a pipe and readable on a terminal.

structlog's (ours) and `logging`'s (the user's, every library's, librdkafka's) come out in one form: `timestamp`,
`level`, `component`, `event`, then what the process is (`namespace`, `instance`), what it works on (`action`), the
span (`trace_id`, `span_id`) and the line's own fields.
"""

import logging
import os
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

import structlog
from opentelemetry.trace import get_current_span

from parkway.schemas.errors import ParkwayError

Line = MutableMapping[str, Any]

_FIRST: Final = ("timestamp", "level", "component", "event")
_process: dict[str, str] = {}

# Libraries that say something at every call to a model, at level info.
_CHATTY: Final = ("httpx", "httpx2", "httpcore", "httpcore2", "openai", "anthropic", "urllib3")

# Libraries of ours whose exceptions quote what a tool has answered.
_QUOTING: Final = ("mcp",)


def configure_logs(log_format: str = "auto", level: str = "info", *, capture_content: bool = False) -> None:
    """Set up the logs of this process. `auto`: readable on a terminal, JSON elsewhere. Writes to stderr.

    Texts of exceptions, which may quote what an event contains, stand in our lines only with `capture_content`.
    """
    terminal = sys.stderr.isatty()
    number = logging.getLevelNamesMapping()[level.upper()]
    renderer: Any = structlog.processors.JSONRenderer()
    if log_format == "console" or (log_format == "auto" and terminal):
        renderer = structlog.dev.ConsoleRenderer(colors=terminal and "NO_COLOR" not in os.environ)
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_process,
        _add_span,
    ]
    exceptions: Any = structlog.processors.format_exc_info if capture_content else _frames_only
    structlog.configure(
        processors=[*shared, exceptions, _in_order, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=_Lines,
        cache_logger_on_first_use=True,
    )
    theirs: Any = structlog.processors.format_exc_info if capture_content else _frames_only_of_quoting
    _configure_logging(number, [*shared, _add_logger_name], theirs, renderer)


def name_process(**fields: str) -> None:
    """Fields of every line from now on: `namespace`, `instance`."""
    _process.update(fields)


def get_logger(component: str) -> Any:
    """A logger whose lines carry `component`.

    In a process that has set up no logs of ours (one that uses the client, a command) they go to `logging`, as
    `parkway.<component>`: what a library says must not stand in its user's standard output.
    """
    return _Logger(component, {})


class _Logger:
    """Decides line by line whether structlog is set up. `bind` gives one with more fields."""

    def __init__(self, component: str, fields: Mapping[str, Any]) -> None:
        self._component = component
        self._fields = fields

    def bind(self, **fields: Any) -> "_Logger":
        return _Logger(self._component, {**self._fields, **fields})

    def __getattr__(self, name: str) -> Any:
        if structlog.is_configured():
            return getattr(structlog.get_logger(component=self._component, **self._fields), name)
        logger = structlog.wrap_logger(
            logging.getLogger(f"parkway.{self._component}"),
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.processors.format_exc_info,
                structlog.processors.KeyValueRenderer(key_order=["event"]),
            ],
            wrapper_class=structlog.stdlib.BoundLogger,
        )
        return getattr(logger.bind(**self._fields), name)


class _Lines:
    """structlog's lines: each in one call, for other threads write too, to what `sys.stderr` is at that moment."""

    def __init__(self, *_: Any) -> None: ...

    def msg(self, line: str) -> None:
        sys.stderr.write(line + "\n")

    debug = info = warning = error = critical = exception = msg


class _Stderr(logging.Handler):
    """The lines of `logging`, written as those of structlog are."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
        except Exception:
            self.handleError(record)


def _configure_logging(level: int, chain: list[Any], exceptions: Any, renderer: Any) -> None:
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=chain,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            exceptions,
            _in_order,
            renderer,
        ],
    )
    handler = _Stderr()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for other in list(root.handlers):
        if isinstance(other, _Stderr):
            root.removeHandler(other)
    root.addHandler(handler)
    root.setLevel(level)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING) if level > logging.DEBUG else level)
    logging.captureWarnings(capture=True)


def _add_process(_logger: Any, _method: str, line: Line) -> Line:
    for name, value in _process.items():
        line.setdefault(name, value)
    return line


def _add_span(_logger: Any, _method: str, line: Line) -> Line:
    context = get_current_span().get_span_context()
    if context.is_valid:
        line["trace_id"] = f"{context.trace_id:032x}"
        line["span_id"] = f"{context.span_id:016x}"
    return line


def _add_logger_name(_logger: Any, _method: str, line: Line) -> Line:
    line["component"] = line["_record"].name
    return line


def _in_order(_logger: Any, _method: str, line: Line) -> Mapping[str, Any]:
    return {name: line[name] for name in _FIRST if name in line} | {
        name: value for name, value in line.items() if name not in _FIRST
    }


def _frames_only_of_quoting(logger: Any, method: str, line: Line) -> Any:
    if str(line.get("component")).partition(".")[0] in _QUOTING:
        return _frames_only(logger, method, line)
    return structlog.processors.format_exc_info(logger, method, line)


def _frames_only(_logger: Any, _method: str, line: Line) -> Line:
    """An exception as its kind and its frames; the text of our own errors, which quote no event."""
    given = line.pop("exc_info", None)
    error = sys.exc_info()[1] if given is True else given[1] if isinstance(given, tuple) else given
    if not isinstance(error, BaseException):
        return line
    parts: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(parts) < 5:
        text = f": {seen}" if isinstance(seen, ParkwayError) else ""
        frames = "".join(traceback.format_tb(seen.__traceback__))
        parts.append(f"{frames}{type(seen).__name__}{text}")
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    line["exception"] = "\nabove it:\n".join(parts)
    return line
