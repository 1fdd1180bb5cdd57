"""`ChannelContext`: the base class of class channels, and the ``ctx`` parameter of function ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from frontmcp.contexts.base import Context


class ChannelContext(Context):
    """A channel's view of one event. Subclass it and define ``on_event``, or take it as a parameter.

    Nobody calls a channel: ``auth`` is anonymous, and so is the caller of the tools it calls.
    """

    _body: ClassVar[str] = "on_event"
    on_event: Callable[..., Any]
