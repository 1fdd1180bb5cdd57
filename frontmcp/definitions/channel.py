"""`Channel`: how a class or function is told of events from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from mcp_types import Icon

from frontmcp.arguments import called
from frontmcp.call import Kind
from frontmcp.contexts.base import Context
from frontmcp.contexts.channel import ChannelContext
from frontmcp.definitions.base import Definition, Sync
from frontmcp.errors import ConfigurationError
from frontmcp.schema import Input, input_from_shape

if TYPE_CHECKING:
    from frontmcp.definitions.options import Concurrency, RateLimit, Source, Timeout


class Channel(Definition):
    """Tell a class (derived from `ChannelContext`) or a function of events from outside, one by one.

    Its ``on_event`` takes the payload, may call tools, and returns what subscribed clients are told: text, or
    ``{"content": …, "meta": {…}}``; None tells nothing.

    :param name: 1 to 128 of ``A-Z a-z 0-9 _ . -``; by default the function's name, or the class's in snake_case.
    :param source: where events come from: ``{"type": "webhook", "path": "/hooks/github", "secret": {"env": "…"}}``,
        ``{"type": "app-event", "event": "ticket.closed"}``, ``{"type": "agent-completion"}``,
        ``{"type": "job-completion"}`` or ``{"type": "manual"}``.
    :param tools: tools that come with the channel, for clients to answer by.
    :param replay: how many events are kept for clients that come later: ``{"max_events": 50}``.
    :param events: options of the resource ``channel://<name>``, where clients read events and subscribe to them, such
        as ``{"authorities": "staff"}``.
    :param meta: what every event's meta has, beside ``source``.
    :param sync: where a ``def`` body runs: in a worker ``"thread"``, or ``"inline"`` on the event loop.
    :param options: options that plugins claim; one that nobody claims stops the start.
    """

    kind: ClassVar[Kind] = "channel"
    noun: ClassVar[str] = "Channel"
    context_class: ClassVar[type[Context]] = ChannelContext

    def __init__(
        self,
        name: str | None = None,
        *,
        source: Source,
        tools: Sequence[Any] = (),
        replay: Mapping[str, Any] | None = None,
        events: Mapping[str, Any] | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        sync: Sync = "thread",
        rate_limit: RateLimit | None = None,
        concurrency: Concurrency | None = None,
        timeout: Timeout | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(source, Mapping):
            raise ConfigurationError(
                f'Channel: source= takes a dict such as {{"type": "manual"}}, not {called(source)}'
            )
        self.event_source: Mapping[str, Any] = dict(source)
        self.tools = tuple(tools)
        self.replay = dict(replay or {})
        self.events = dict(events or {})
        self._configure(
            name=name,
            title=title,
            description=description,
            icons=icons,
            meta=meta,
            tags=tags,
            sync=sync,
            rate_limit=rate_limit,
            concurrency=concurrency,
            timeout=timeout,
            **options,
        )

    @cached_property
    def payload_parameter(self) -> str | None:
        """The parameter that takes the payload; None where the body takes none."""
        return next(iter(self.body.fields), None)

    @cached_property
    def input(self) -> Input:  # type: ignore[override]
        return input_from_shape(self.body.field_shape(), self.name)

    def _check(self) -> None:
        super()._check()
        if len(self.body.fields) > 1:
            raise ConfigurationError(
                f"an event has one payload, but the body takes {', '.join(map(repr, self.body.fields))}: take a model"
            )
