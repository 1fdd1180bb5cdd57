"""`ResourceContext`: the base class of class resources and templates, and the ``ctx`` parameter of function ones."""

from __future__ import annotations

from frontmcp.contexts.base import Context


class ResourceContext(Context):
    """A resource's view of the call that reads it. Subclass it and define ``execute``, or take it as a parameter."""

    @property
    def uri(self) -> str:
        """The URI that is read, as it was asked for."""
        uri: str = self.call.input["uri"]
        return uri
