"""`Resource` and `ResourceTemplate`: how a class or function is served under a URI, or under many."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from mcp_types import Annotations, Icon

from frontmcp.call import Kind
from frontmcp.contexts.base import Context
from frontmcp.contexts.resource import ResourceContext
from frontmcp.definitions.base import Definition, Sync
from frontmcp.definitions.completion import Completable
from frontmcp.errors import ConfigurationError
from frontmcp.schema import Input, input_from_shape

if TYPE_CHECKING:
    from frontmcp.definitions.options import AvailableWhen, Cache, Concurrency, RateLimit, Timeout, Visibility

URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f\x7f]+")


class Addressed(Definition):
    """What resources and templates share.

    :ivar address: the URI, or the template of URIs.
    """

    context_class: ClassVar[type[Context]] = ResourceContext
    suffix: ClassVar[str] = "Resource"

    def _configure(
        self,
        *,
        address: str = "",
        mime_type: str | None = None,
        annotations: Annotations | None = None,
        cache: Cache | None = None,
        **shared: Any,
    ) -> None:
        super()._configure(**shared)
        if not isinstance(address, str) or URI.fullmatch(address) is None:
            raise ConfigurationError(f'{self.noun}: {address!r} is no URI; write one like "tickets://open"')
        self.address = address
        self.mime_type = mime_type
        self.annotations = annotations
        self.ttl_ms, self.is_public = _cache(cache or {}, self.noun)

    @cached_property
    def input(self) -> Input:  # type: ignore[override]
        return input_from_shape(self._shape(), self.name)

    def _shape(self) -> dict[str, Any]:
        parameter = self.body.fields.get("uri")
        return {"uri": str if parameter is None or parameter.annotation is Any else parameter.annotation}

    @property
    def variables(self) -> Sequence[str]:
        """The names of the template's variables."""
        return ()

    def _check(self) -> None:
        super()._check()
        if unknown := sorted(self.body.fields.keys() - {"uri", *self.variables}):
            raise ConfigurationError(
                f"the body takes {', '.join(map(repr, unknown))}, which {self.address!r} does not have as a variable"
            )


class Resource(Addressed):
    """Serve a class (derived from `ResourceContext`) or a function as the resource of one URI.

    ``execute`` may take the ``uri``.

    :param uri: where clients read it.
    :param name: 1 to 128 of ``A-Z a-z 0-9 _ . -``; by default the function's name, or the class's in snake_case.
    :param description: what the model reads; by default the docstring.
    :param mime_type: what it is; by default text, JSON or bytes, by what the body returns.
    :param size: in bytes, when known.
    :param annotations: the protocol's hints: audience, priority, last modified.
    :param cache: how long clients may keep it, like ``{"ttl": 60, "scope": "public"}``; not at all by default.
    :param sync: where a ``def`` body runs: in a worker ``"thread"``, or ``"inline"`` on the event loop.
    :param options: options that plugins claim; one that nobody claims stops the start.
    """

    kind: ClassVar[Kind] = "resource"
    noun: ClassVar[str] = "Resource"

    def __init__(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        annotations: Annotations | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        cache: Cache | None = None,
        sync: Sync = "thread",
        visibility: Visibility | None = None,
        available_when: AvailableWhen | None = None,
        authorities: Any = None,
        rate_limit: RateLimit | None = None,
        concurrency: Concurrency | None = None,
        timeout: Timeout | None = None,
        **options: Any,
    ) -> None:
        self._configure(
            address=uri,
            name=name,
            title=title,
            description=description,
            mime_type=mime_type,
            annotations=annotations,
            icons=icons,
            meta=meta,
            tags=tags,
            cache=cache,
            sync=sync,
            visibility=visibility,
            available_when=available_when,
            authorities=authorities,
            rate_limit=rate_limit,
            concurrency=concurrency,
            timeout=timeout,
            **options,
        )
        self.size = size
        if isinstance(uri, str) and UriTemplate.is_template(uri):
            raise ConfigurationError(f"Resource: {uri!r} has variables; write ResourceTemplate({uri!r})")


class ResourceTemplate(Addressed, Completable):
    """Serve a class (derived from `ResourceContext`) or a function as the resources of many URIs.

    ``execute`` takes any of the ``uri`` and the template's variables, by name; annotations say what they are read as.

    :param uri_template: such as ``"tickets://{id}"`` (RFC 6570); ``{+path}`` takes several segments.
    :param name: and the other parameters: as those of `Resource`.
    """

    kind: ClassVar[Kind] = "resource_template"
    noun: ClassVar[str] = "ResourceTemplate"

    def __init__(
        self,
        uri_template: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        annotations: Annotations | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        cache: Cache | None = None,
        sync: Sync = "thread",
        visibility: Visibility | None = None,
        available_when: AvailableWhen | None = None,
        authorities: Any = None,
        rate_limit: RateLimit | None = None,
        concurrency: Concurrency | None = None,
        timeout: Timeout | None = None,
        **options: Any,
    ) -> None:
        self._configure(
            address=uri_template,
            name=name,
            title=title,
            description=description,
            mime_type=mime_type,
            annotations=annotations,
            icons=icons,
            meta=meta,
            tags=tags,
            cache=cache,
            sync=sync,
            visibility=visibility,
            available_when=available_when,
            authorities=authorities,
            rate_limit=rate_limit,
            concurrency=concurrency,
            timeout=timeout,
            **options,
        )
        try:
            self.template = UriTemplate.parse(uri_template)
        except InvalidUriTemplate as error:
            raise ConfigurationError(f"ResourceTemplate: {uri_template!r} is no template: {error}") from None
        if not self.variables:
            raise ConfigurationError(f"ResourceTemplate: {uri_template!r} has no variable; write Resource(…)")
        if "uri" in self.variables:
            raise ConfigurationError(f"ResourceTemplate: {uri_template!r}: uri is the whole URI; rename the variable")

    @property
    def variables(self) -> Sequence[str]:
        return self.template.variable_names

    @property
    def completable(self) -> set[str]:
        return set(self.variables)

    def _shape(self) -> dict[str, Any]:
        shape = super()._shape()
        optional = self.template.query_variable_names
        for name in self.variables:
            parameter = self.body.fields.get(name)
            annotation = Any if parameter is None else parameter.annotation
            default = None if parameter is None or parameter.default is parameter.empty else parameter.default
            shape[name] = (annotation, default) if name in optional else annotation
        return shape

    def _check(self) -> None:
        super()._check()
        if missing := sorted(self.template.query_variable_names & self.body.required):
            raise ConfigurationError(
                f"the body requires {', '.join(map(repr, missing))}, which a URI may leave out: give it a default"
            )


def _cache(given: Any, noun: str) -> tuple[int, bool]:
    """A cache hint as milliseconds and whether it is public."""
    ttl, scope = given.get("ttl", 0), given.get("scope", "private")
    if (
        given.keys() - {"ttl", "scope"}
        or not isinstance(ttl, int | float)
        or ttl < 0
        or scope not in ("public", "private")
    ):
        raise ConfigurationError(f'{noun}: cache= is like {{"ttl": 60, "scope": "public"}}, in seconds, not {given!r}')
    return int(ttl * 1000), scope == "public"


def resource_of(uri: str, **keywords: Any) -> Resource | ResourceTemplate:
    """A `ResourceTemplate` if the URI has variables, else a `Resource`."""
    if isinstance(uri, str) and "{" in uri:
        return ResourceTemplate(uri, **keywords)
    return Resource(uri, **keywords)
