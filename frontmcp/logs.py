"""Logging of a server that runs by itself: text for people, or a JSON object a line for machines, on stderr."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from frontmcp.errors import shorten

FIELDS: Final = ("request_id", "caller", "path", "error_id")
"""What records of calls carry beside the usual."""


class LogOptions(BaseModel):
    """The setting ``logging``.

    :ivar format: ``"text"``, or ``"json"`` for an object a line.
    :ivar level: the least level that is logged, in capitals or not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    format: Literal["text", "json"] = "text"
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @field_validator("level", mode="before")
    @classmethod
    def _in_capitals(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value


class JsonFormatter(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update((name, getattr(record, name)) for name in FIELDS if hasattr(record, name))
        if record.exc_info:
            line["traceback"] = record.exc_text or self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """A line for people, the request's fields at its end."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        # A caller's id or a name may come from outside: it must not begin a line of its own.
        fields = " ".join(f"{name}={shorten(str(getattr(record, name)))}" for name in FIELDS if hasattr(record, name))
        return super().formatMessage(record) + (f"  [{fields}]" if fields else "")


def configure_logging(options: LogOptions) -> None:
    """Let all logs go to stderr, those of libraries from warnings on, unless the program has set up logging itself."""
    logger, root = logging.getLogger("frontmcp"), logging.getLogger()
    logger.setLevel(options.level)
    if logger.handlers or root.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if options.format == "json" else TextFormatter())
    root.addHandler(handler)


def announce(options: LogOptions, text: str) -> None:
    """Tell a person at the terminal, or a machine that reads logs, where a server serves."""
    if options.format == "json":
        logging.getLogger("frontmcp.server").info("%s", text)
    else:
        print(text, file=sys.stderr, flush=True)  # noqa: T201
