"""What another server lists, as definitions of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final, TypeAlias

import mcp_types as types

from frontmcp.call import Call
from frontmcp.contexts.base import Context
from frontmcp.definitions.base import Definition
from frontmcp.definitions.completion import Completable
from frontmcp.definitions.prompt import Prompt, PromptArgument
from frontmcp.definitions.resource import Resource, ResourceTemplate
from frontmcp.definitions.tool import Tool
from frontmcp.definitions.upstream import UpstreamOptions
from frontmcp.errors import ConfigurationError
from frontmcp.schema import JsonSchema, Output, output_as_listed
from frontmcp.upstream.errors import MOST_HOPS
from frontmcp.upstream.listing import came_through

Listed: TypeAlias = types.Tool | types.Resource | types.ResourceTemplate | types.Prompt
Address: TypeAlias = tuple[type, str]
"""What is listed by its kind, and the name, URI or template that patterns are compared with."""

PassOn: TypeAlias = Callable[[Call, Any, dict[str, Any]], Coroutine[Any, Any, Any]]
"""A call of what is listed, with its input, at the server that lists it."""

Complete: TypeAlias = Callable[[Call, Any, str, str, dict[str, str]], Coroutine[Any, Any, types.Completion]]
"""Values for an argument of what is listed: its name, what was typed of it, and those already chosen."""


class Foreign(Definition):
    """A definition of what another server lists.

    :ivar listed: as that server lists it.
    :ivar app_id: the app that serves it.
    """

    listed: Any
    app_id: str

    @property
    def source(self) -> str:
        return f'of the server behind app "{self.app_id}"'


Taken: TypeAlias = dict[tuple[type, str], Foreign]
"""Definitions by the kind of what is listed, and their name."""


class ForeignTool(Foreign, Tool):
    """A tool of another server."""

    @cached_property
    def output(self) -> Output | None:
        """What results are checked against, which travel as they came: nothing of them is wrapped here."""
        given = self.output_schema
        return output_as_listed(given) if isinstance(given, JsonSchema) else super().output


class ForeignResource(Foreign, Resource):
    """A resource of another server."""


class ForeignTemplate(Foreign, ResourceTemplate):
    """A resource template of another server."""


class ForeignPrompt(Foreign, Prompt):
    """A prompt of another server."""


class Mirror:
    """Makes definitions of what one server lists.

    :param app_id: the app that serves them.
    :param identity: of the server that has the app: what comes from there is not served again.
    :param pass_on: makes a call of one.
    :param complete: asks for values of an argument of one; None where the server has no such values.
    """

    def __init__(
        self, options: UpstreamOptions, app_id: str, identity: str, pass_on: PassOn, complete: Complete | None
    ) -> None:
        self._options = options
        self._app_id = app_id
        self._identity = identity
        self._pass_on = pass_on
        self._complete = complete

    def definitions(
        self, listed: Iterable[Listed], problems: list[str], known: Mapping[Address, Foreign] | None = None
    ) -> Iterator[Foreign]:
        """Definitions of what is wanted of it.

        :param problems: is told of what can't be served.
        :param known: those that were made before, which are given again for what is still listed as it was.
        """
        wanted = self._wanted(listed)
        kept = {key: each for key, each in (known or {}).items() if wanted.get(key) == each.listed}
        taken: Taken = {(type(each.listed), each.name): each for each in kept.values()}
        for key, each in wanted.items():
            try:
                yield kept.get(key) or self._mirrored(each, taken)
            except (ConfigurationError, TypeError) as error:
                what = f"{type(each).__name__} {address_of(each)!r}"
                problems.append(f'app "{self._app_id}": {what} can\'t be served: {error}; exclude= leaves it out')

    def unmatched(self, listed: Sequence[Listed]) -> Iterator[str]:
        """Patterns that match nothing, in words: what they were to protect, or to leave out, has another name."""
        options = self._options
        told = f'app "{self._app_id}": %s matches nothing that its server lists'
        for keyword, chosen in (("include", options.include), ("exclude", options.exclude)):
            for pattern in _matching_none(chosen, listed):
                if pattern != "*":
                    yield told % f'{keyword}="{pattern}"'
        for keyword, kinds in _KEYWORDS.items():
            for pattern in _matching_none(
                getattr(options, keyword), [each for each in listed if isinstance(each, kinds)]
            ):
                yield told % f'{keyword}={{"{pattern}": …}}'

    def _wants(self, address: str) -> bool:
        options = self._options
        return _matches(address, options.include) and not _matches(address, options.exclude)

    def _goes_round(self, listed: Listed) -> bool:
        via = came_through(listed)
        return self._identity in via or len(via) > MOST_HOPS

    def _wanted(self, listed: Iterable[Listed]) -> dict[Address, Listed]:
        """Each once, the first of its address: what a list has twice changed its page while it was read."""
        wanted: dict[Address, Listed] = {}
        for each in listed:
            if self._wants(address_of(each)) and not self._goes_round(each):
                wanted.setdefault(key_of(each), each)
        return wanted

    def _mirrored(self, listed: Listed, taken: Taken) -> Foreign:
        definition: Foreign = _MAKERS[type(listed)](listed, self._keywords(listed, taken))
        definition.listed, definition.app_id = listed, self._app_id
        other = taken.setdefault((type(listed), definition.name), definition)
        if other is not definition:
            raise ConfigurationError(f"its name= is {definition.name!r}, as that of {address_of(other.listed)!r}")
        definition.bind(_body(listed, definition.context_class, self._pass_on), None)
        if self._complete is not None and isinstance(definition, Completable):
            for argument in definition.completable:
                definition.complete(argument)(_completer(listed, argument, self._complete))
        definition.build()
        return definition

    def _keywords(self, listed: Listed, taken: Taken) -> dict[str, Any]:
        keywords: dict[str, Any] = {
            "name": _name(listed, taken),
            "title": listed.title,
            "description": listed.description,
            "icons": listed.icons or (),
            "meta": listed.meta,
            **self._options.options,
        }
        for keyword, kinds in _KEYWORDS.items():
            if isinstance(listed, kinds):
                for pattern, more in getattr(self._options, keyword).items():
                    if fnmatchcase(address_of(listed), pattern):
                        keywords |= more
        return keywords


def address_of(listed: Listed) -> str:
    """The name, URI or template that patterns are compared with."""
    if isinstance(listed, types.Resource):
        return str(listed.uri)
    return listed.uri_template if isinstance(listed, types.ResourceTemplate) else listed.name


def key_of(listed: Listed) -> Address:
    """What tells it from all others that the same server lists."""
    return type(listed), address_of(listed)


def _name(listed: Listed, taken: Taken) -> str:
    """The name that it is called by, or, of a resource, which is not, one that we can have."""
    if isinstance(listed, types.Tool | types.Prompt):
        return listed.name
    wanted = re.sub(r"[^A-Za-z0-9_.-]+", "_", listed.name)[:120] or "resource"
    name, number = wanted, 1
    while (type(listed), name) in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def _matches(address: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(address, pattern) for pattern in patterns)


def _matching_none(patterns: Iterable[str], listed: Sequence[Listed]) -> list[str]:
    addresses = [address_of(each) for each in listed]
    return [pattern for pattern in patterns if not any(fnmatchcase(address, pattern) for address in addresses)]


def _tool(listed: types.Tool, keywords: dict[str, Any]) -> Any:
    schemas: dict[str, Any] = {
        "input_schema": JsonSchema(listed.input_schema),
        "output_schema": JsonSchema(listed.output_schema) if listed.output_schema is not None else None,
        "annotations": listed.annotations,
    }
    return ForeignTool(**schemas | keywords)


def _resource(listed: types.Resource, keywords: dict[str, Any]) -> Any:
    more = {"mime_type": listed.mime_type, "size": listed.size, "annotations": listed.annotations}
    return ForeignResource(str(listed.uri), **more | keywords)


def _template(listed: types.ResourceTemplate, keywords: dict[str, Any]) -> Any:
    more = {"mime_type": listed.mime_type, "annotations": listed.annotations}
    return ForeignTemplate(listed.uri_template, **more | keywords)


def _prompt(listed: types.Prompt, keywords: dict[str, Any]) -> Any:
    arguments = [PromptArgument(each.name, each.description, bool(each.required)) for each in listed.arguments or ()]
    return ForeignPrompt(**{"arguments": arguments} | keywords)


_MAKERS: Final[Mapping[type, Callable[[Any, dict[str, Any]], Any]]] = {
    types.Tool: _tool,
    types.Resource: _resource,
    types.ResourceTemplate: _template,
    types.Prompt: _prompt,
}
_KEYWORDS: Final[Mapping[str, Any]] = {
    "tools": types.Tool,
    "resources": (types.Resource, types.ResourceTemplate),
    "prompts": types.Prompt,
}
"""The option that has keywords for some, by pattern."""


def _body(listed: Listed, context_class: type[Context], pass_on: PassOn) -> type[Context]:
    async def execute(self: Any, /, **arguments: Any) -> Any:
        return await pass_on(self.call, listed, arguments)

    return type("Foreign", (context_class,), {"execute": execute, "__module__": __name__})


def _completer(listed: Listed, argument: str, complete: Complete) -> Callable[..., Any]:
    async def completer(ctx: Context, value: str, arguments: dict[str, str]) -> types.Completion:
        return await complete(ctx.call, listed, argument, value, arguments)

    return completer
