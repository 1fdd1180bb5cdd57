"""`Tool`: how a class or function is served as a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types import Icon, ToolAnnotations

from frontmcp.call import Kind
from frontmcp.content import annotates_content
from frontmcp.contexts.base import Context
from frontmcp.contexts.tool import ToolContext
from frontmcp.definitions.base import F, Sync
from frontmcp.definitions.schemas import SchemaDefinition
from frontmcp.errors import ConfigurationError
from frontmcp.schema import SchemaLike

if TYPE_CHECKING:
    from frontmcp.definitions.options import AvailableWhen, Concurrency, RateLimit, Timeout, Visibility


class Tool(SchemaDefinition):
    """Serve a class (derived from `ToolContext`) or a function as a tool.

    ``@Tool`` alone takes name, description and schemas from what it decorates.

    :param name: 1 to 128 of ``A-Z a-z 0-9 _ . -``; by default the function's name, or the class's in snake_case.
    :param description: what the model reads; by default the docstring.
    :param title: what people read.
    :param input_schema: a pydantic model, a shape such as ``{"id": str, "limit": (int, 10)}``, or `JsonSchema`;
        by default the signature.
    :param output_schema: likewise, or any type; by default the return annotation, when it says something.
    :param annotations: the protocol's hints, such as ``ToolAnnotations(read_only_hint=True)``.
    :param sync: where a ``def`` body runs: in a worker ``"thread"``, or ``"inline"`` on the event loop.
    :param options: options that plugins claim; one that nobody claims stops the start.
    """

    kind: ClassVar[Kind] = "tool"
    noun: ClassVar[str] = "Tool"
    context_class: ClassVar[type[Context]] = ToolContext

    annotations: ToolAnnotations | None

    # Type checkers take a decorated thing for what `__new__` returns: the bare form gives it back as it is.
    @overload
    def __new__(cls, target: F, /) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(
        cls,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        title: str | None = None,
        input_schema: SchemaLike | None = None,
        output_schema: Any = None,
        annotations: ToolAnnotations | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        sync: Sync = "thread",
        visibility: Visibility | None = None,
        available_when: AvailableWhen | None = None,
        authorities: Any = None,
        rate_limit: RateLimit | None = None,
        concurrency: Concurrency | None = None,
        timeout: Timeout | None = None,
        task: Literal[True, "required"] | None = None,
        **options: Any,
    ) -> Tool: ...
    def __new__(cls, target: Any = None, /, **keywords: Any) -> Any:
        tool = super().__new__(cls)
        tool._configure(**keywords)
        return tool if target is None else tool(target)

    def _configure(
        self,
        *,
        annotations: ToolAnnotations | None = None,
        **shared: Any,
    ) -> None:
        super()._configure(**shared)
        self.annotations = annotations

    def _check_annotations(self) -> None:
        returns = self.body.returns
        if self.output_schema is not None and annotates_content(returns):
            raise ConfigurationError(
                "output_schema= beside a content type as return annotation; content has no schema, drop one of the two"
            )

    def _check(self) -> None:
        super()._check()
        if problem := find_invalid_x_mcp_header(self.input.schema):
            raise ConfigurationError(f"input schema: {problem}")
