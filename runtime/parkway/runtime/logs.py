"""Logs: structlog, JSON lines on a pipe and readable ones on a terminal."""

import logging
import sys
from typing import Any

import structlog


def configure_logs(log_format: str = "auto", level: str = "info") -> None:
    """Set up structlog once per process. `auto`: readable on a terminal, JSON elsewhere. Writes to stderr."""
    readable = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    renderer: Any = structlog.dev.ConsoleRenderer() if readable else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


def get_logger(component: str) -> Any:
    """A logger whose lines carry `component`."""
    return structlog.get_logger(component=component)
