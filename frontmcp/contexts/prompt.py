"""`PromptContext`: the base class of class prompts, and the ``ctx`` parameter of function prompts."""

from __future__ import annotations

from frontmcp.contexts.base import Context


class PromptContext(Context):
    """A prompt's view of its call. Subclass it and define ``execute``, or take it as a parameter."""
