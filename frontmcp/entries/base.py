"""`Entry`: one thing that can be called, and all that differs from kind to kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import pydantic_core
from mcp_types import Completion

from frontmcp.call import Call, Kind, Sought
from frontmcp.definitions.base import Definition
from frontmcp.errors import FrontMcpError, InvalidInputError
from frontmcp.invoke import Invoke, make_invoke
from frontmcp.providers import Providers
from frontmcp.schema import json_text, jsonable
from frontmcp.schema.values import unserializable
from frontmcp.threads import Threads

ListName: TypeAlias = Literal["tools", "resources", "templates", "prompts", "jobs", "workflows", "channels"]


class Entry:
    """One thing that can be called. Made by the registry; plugins read it, and write ``options`` in `prepare_entry`.

    :cvar kinds: what it counts as, in a hook's ``kinds=``.
    :cvar sought: what a call asks for that finds it.
    :cvar list_name: the list it stands in.
    :cvar result_type: the protocol's result of a call.
    :cvar passes_all: the body takes all of its input.
    :ivar definition: what the user wrote.
    :ivar owner: what it belongs to, and only that finds; None for what the server serves.
    :ivar members: what belongs to it, exports included, by what each is found by.
    :ivar options: options that plugins claim, by name.
    :ivar listed_name: its name in lists where several apps have an entry of that name.
    :ivar plan: its stages, compiled; owned by the pipeline.
    :ivar invoke: starts the body for a call with validated input.
    :ivar validate: arguments → typed input; raises `InvalidInputError`.
    """

    kind: ClassVar[Kind]
    kinds: ClassVar[tuple[Kind, ...]]
    sought: ClassVar[Sought] = "tool"
    list_name: ClassVar[ListName]
    result_type: ClassVar[type[Any]]
    passes_all: ClassVar[bool] = True

    def __init__(self, definition: Definition, app_id: str, *, threads: Threads, providers: Providers) -> None:
        self.definition = definition
        self.app_id = app_id
        self.name = definition.entry_name
        self.id = f"{app_id}:{self.name}"
        self.listed_name = f"{app_id}.{self.name}"
        self.options: dict[str, Any] = dict(definition.options)
        self.owner: Entry | None = None
        self.members: dict[str, Entry] = {}
        self.plan: Any = None
        self._wire: dict[tuple[str, bool], Any] = {}
        definition.build()
        body = definition.body
        providers.ask(body.injected, definition.place)
        self.validate: Callable[[Any], Any] = definition.input.validate
        self.invoke: Invoke = make_invoke(
            body,
            model_parameter=definition.model_parameter,
            sync=definition.sync,
            threads=threads,
            providers=providers,
            only=None if body.takes_any or self.passes_all else body.fields,
        )

    def __repr__(self) -> str:
        return f'<{self.kind} "{self.id}">'

    @property
    def addresses(self) -> tuple[str, ...]:
        """What it is found by among the members of another."""
        return self.name, self.id

    def adopt(self, member: Entry) -> Iterator[str]:
        """Find another entry as one of its own; what is wrong with that, in words."""
        for address in member.addresses:
            if self.members.setdefault(address, member) is not member:
                yield f'two of its own are called "{address}"; rename one'

    def belong_to(self, owner: Entry) -> None:
        """Be found by another entry only; before it is registered."""
        self.owner = owner
        self.id = f"{owner.id}/{self.name}"

    def format(self, call: Call, value: Any) -> Any:
        """The protocol's result for a raw value.

        :raises InvalidOutputError: it does not match, or is no JSON.
        """
        raise NotImplementedError

    def check(self, result: Any) -> None:
        """Check a result that was not made by `format`.

        :raises InvalidOutputError: it does not match, or is no JSON.
        """
        raise NotImplementedError

    def failed(self, call: Call, error: BaseException | None) -> FrontMcpError:
        """The error that an error of the body, which is not public, becomes."""
        raise NotImplementedError

    def ensure_success(self, result: Any) -> None:
        """Raise the error that a result stands for, if it does."""

    async def complete(self, call: Call, argument: str, value: str, arguments: Mapping[str, str]) -> Completion:
        """Values for an argument, the best first.

        :param value: what was typed so far.
        :param arguments: those already chosen.
        """
        return Completion(values=[])

    def wire(self, *, name: str, modern: bool) -> Any:
        """As listed under a name, to clients of 2026-07-28 on or to older ones; made once."""
        key = (name, modern)
        if key not in self._wire:
            self._wire[key] = self.listed(name, modern=modern)
        return self._wire[key]

    def listed(self, name: str, *, modern: bool) -> Any:
        """What `wire` gives, made anew."""
        raise NotImplementedError


def validating(validate: Callable[[Any], Any], wrong: str) -> Callable[[Any], Any]:
    """Validation that says of arguments that do not fit what they are no arguments of.

    :param wrong: such as ``"Invalid resource URI"``.
    """

    def validated(arguments: Any) -> Any:
        try:
            return validate(arguments)
        except InvalidInputError as error:
            problems = error.validation_errors
        raise InvalidInputError(wrong, problems)

    return validated


def listed_meta(definition: Definition) -> dict[str, Any] | None:
    """The ``_meta`` of a listed entry."""
    meta = dict(definition.meta)
    if definition.tags:
        meta["frontmcp/tags"] = list(definition.tags)
    return meta or None


def text_of(value: Any) -> str:
    """The text that stands for a value: a string as it is, else compact JSON.

    :raises InvalidOutputError: a part of it is no JSON, or no text, named by its path.
    """
    return text_of_data(jsonable(value))


def text_of_data(data: Any) -> str:
    """`text_of`, for what is JSON data already."""
    if not isinstance(data, str):
        return json_text(data)
    if not data.isascii():
        check_sendable(data)
    return data


def check_sendable(data: Any) -> None:
    """What can't be written as JSON would end the connection: it fails when the result has left us.

    :raises InvalidOutputError: it can't.
    """
    try:
        pydantic_core.to_json(data)
    except ValueError as error:
        raise unserializable(data) from error
