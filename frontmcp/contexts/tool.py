"""`ToolContext`: the base class of class tools, and the ``ctx`` parameter of function tools."""

from __future__ import annotations

from frontmcp.contexts.base import Context


class ToolContext(Context):
    """A tool's view of its call. Subclass it and define ``execute``, or take it as a parameter."""
