"""`ChannelEntry`: what a channel's value tells clients."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from frontmcp.call import Call
from frontmcp.definitions.channel import Channel
from frontmcp.entries.base import Entry, check_sendable, text_of
from frontmcp.errors import ChannelExecutionError, FrontMcpError, InvalidOutputError
from frontmcp.providers import Providers
from frontmcp.threads import Threads

KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ChannelEvent(NamedTuple):
    """What clients that subscribed to a channel are told.

    :param content: text; None tells them nothing.
    :param meta: text by identifiers, ``source`` (the channel's name) among them.
    """

    content: str | None
    meta: Mapping[str, str]


class ChannelEntry(Entry):
    """A channel that is told of events, each a call whose only argument is ``payload``."""

    kind = "channel"
    kinds = ("channel",)
    sought = "channel"
    list_name = "channels"
    result_type = ChannelEvent
    definition: Channel

    def __init__(self, definition: Channel, app_id: str, *, threads: Threads, providers: Providers) -> None:
        super().__init__(definition, app_id, threads=threads, providers=providers)
        parameter, validate = definition.payload_parameter, definition.input.validate
        self.validate = lambda given: validate({} if parameter is None else {parameter: given.get("payload")})

    def format(self, call: Call, value: Any) -> ChannelEvent:
        """The event for a raw value: text, ``{"content": …, "meta": …}``, or any other JSON as text.

        :raises InvalidOutputError: it is no JSON, or a key of its meta is no identifier.
        """
        meta: Any = {}
        if isinstance(value, ChannelEvent):
            value, meta = value.content, value.meta
        elif isinstance(value, Mapping) and "content" in value and value.keys() <= {"content", "meta"}:
            value, meta = value["content"], value.get("meta") or {}
        own = {**self.definition.meta, **meta, "source": self.name}
        if strange := next((key for key in own if not isinstance(key, str) or KEY.fullmatch(key) is None), None):
            raise InvalidOutputError("keys of meta are identifiers", f"meta.{strange}", "Channel output")
        event = ChannelEvent(
            None if value is None else text_of(value), {key: text_of(each) for key, each in own.items()}
        )
        self.check(event)
        return event

    def check(self, result: ChannelEvent) -> None:
        check_sendable([result.content, dict(result.meta)])

    def failed(self, call: Call, error: BaseException | None) -> FrontMcpError:
        return ChannelExecutionError(self.name, error)
