"""Logging: structlog over the standard library, so that libraries' records come out in the same form."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, MutableMapping

import structlog

from coordinator.config import LogSettings
from coordinator.security.redaction import redacted

_LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING, "ERROR": logging.ERROR}
_CHATTY = ("SQLQueryContextLogger", "pyspark.sql.connect.logging", "httpx", "httpcore", "uvicorn.access", "py4j")


def configure_logging(settings: LogSettings, redact: Callable[[str], str] = redacted) -> None:
    """Send every record to standard error: JSON in containers, coloured lines on a terminal, secrets out."""
    as_json = settings.format == "json" or (settings.format == "auto" and not sys.stderr.isatty())
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer()
    )
    final: list[structlog.types.Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if as_json:
        final.append(structlog.processors.format_exc_info)

    def hiding(logger: object, name: str, event: MutableMapping[str, object]) -> str:
        return redact(str(renderer(logger, name, event)))

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[*final, hiding]))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_LEVELS[settings.level])
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger("pyiceberg.io").setLevel(logging.WARNING)  # a line for every table of every statement
