"""`authorities`: who may call what (docs/authorities.md).

``authorities=`` of an entry names profiles or is a policy; the server option of the same name defines profiles, and
where roles and permissions stand among a caller's claims. Every call is judged anew, by the caller it carries.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Annotated, Any

from pydantic import PlainValidator

from frontmcp import Call, ConfigurationError, Option, Plugin, hookimpl
from plugins_builtin.authorities.errors import AuthorityDeniedError as AuthorityDeniedError
from plugins_builtin.authorities.errors import Denial as Denial


def _load(module: str) -> Any:
    """A module of this package; loaded when an option first needs it, so that servers without one don't wait for it."""
    return import_module(f"{__name__}.{module}")


def _read(module: str, adapter: str, value: Any) -> Any:
    return getattr(_load(module), adapter).validate_python(value)


class Authorities(Plugin):
    """Answers `check_authorities`, for lists and calls, of clients and of tools alike."""

    name = "authorities"
    options = (
        Option("authorities", Annotated[Any, PlainValidator(partial(_read, "engine", "REQUIREMENT"))]),
        Option("authorities", Annotated[Any, PlainValidator(partial(_read, "engine", "OPTIONS"))], server=True),
    )

    def __init__(self) -> None:
        self._engine: Any = None

    @hookimpl
    def settled(self, server: Any) -> None:
        guarded = [entry for entry in server.entries() if entry.options.get("authorities") is not None]
        options = server.options.get("authorities")
        if guarded or options is not None:
            self._engine = _load("engine").Engine(options, guarded)
            if self._engine.problems:
                raise ConfigurationError(self._engine.problems)

    @hookimpl(option="authorities")
    async def check_authorities(self, call: Call) -> None:
        await self._engine.judge(call)
