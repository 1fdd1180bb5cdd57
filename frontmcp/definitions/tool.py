"""`Tool`: how a class or function is served as a tool."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeVar, overload

from mcp_types import Icon, ToolAnnotations
from pydantic import BaseModel

from frontmcp.call import Kind
from frontmcp.contexts.base import Context
from frontmcp.contexts.tool import ToolContext
from frontmcp.definitions.base import Definition, caller_namespace
from frontmcp.definitions.body import Body, read_body
from frontmcp.definitions.options import AvailableWhen, Concurrency, RateLimit, Timeout, Visibility
from frontmcp.content import annotates_content
from frontmcp.errors import ConfigurationError
from frontmcp.schema import (
    Input,
    JsonSchema,
    Output,
    SchemaLike,
    input_from_json_schema,
    input_from_model,
    model_from_shape,
    output_from_json_schema,
    output_from_type,
    output_type,
)

F = TypeVar("F", bound=Callable[..., Any])


class Tool(Definition):
    """Serve a class (derived from `ToolContext`) or a function as a tool.

    ``@Tool`` alone takes name, description and schemas from what it decorates.

    :param name: 1 to 128 of ``A-Z a-z 0-9 _ . -``; by default the function's name, or the class's in snake_case.
    :param description: what the model reads; by default the docstring.
    :param title: what people read.
    :param input_schema: a pydantic model, a shape such as ``{"id": str, "limit": (int, 10)}``, or `JsonSchema`;
        by default the signature.
    :param output_schema: likewise; by default the return annotation, when it says something.
    :param annotations: the protocol's hints, such as ``ToolAnnotations(read_only_hint=True)``.
    :param sync: where a ``def`` body runs: in a worker ``"thread"``, or ``"inline"`` on the event loop.
    :param options: options that plugins claim; one that nobody claims stops the start.
    """

    kind: ClassVar[Kind] = "tool"
    noun: ClassVar[str] = "Tool"
    context_class: ClassVar[type[Context]] = ToolContext

    input_schema: SchemaLike | None
    output_schema: SchemaLike | type | None
    annotations: ToolAnnotations | None
    sync: Literal["thread", "inline"]

    @overload
    def __new__(cls, target: F, /) -> F: ...
    @overload
    def __new__(
        cls,
        *,
        name: str | None = None,
        description: str | None = None,
        title: str | None = None,
        input_schema: SchemaLike | None = None,
        output_schema: SchemaLike | type | None = None,
        annotations: ToolAnnotations | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        sync: Literal["thread", "inline"] = "thread",
        visibility: Visibility | None = None,
        available_when: AvailableWhen | None = None,
        authorities: Any = None,
        rate_limit: RateLimit | None = None,
        concurrency: Concurrency | None = None,
        timeout: Timeout | None = None,
        **options: Any,
    ) -> Tool: ...
    def __new__(
        cls,
        target: Any = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        title: str | None = None,
        input_schema: SchemaLike | None = None,
        output_schema: SchemaLike | type | None = None,
        annotations: ToolAnnotations | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        sync: Literal["thread", "inline"] = "thread",
        **options: Any,
    ) -> Any:
        tool = super().__new__(cls)
        tool._configure(
            name=name, title=title, description=description, icons=icons, meta=meta, tags=tags, options=options
        )
        tool.input_schema = input_schema
        tool.output_schema = output_schema
        tool.annotations = annotations
        tool.sync = sync
        if sync not in ("thread", "inline"):
            raise ConfigurationError(f'Tool: sync={sync!r} must be "thread" or "inline"')
        if target is None:
            return tool
        tool.bind(target, caller_namespace())
        tool.attach(target)
        return target

    def __call__(self, target: F) -> F:
        self.bind(target, caller_namespace())
        self.attach(target)
        return target

    @classmethod
    def from_callable(cls, target: Any) -> Tool:
        """A definition for a plain function, which stays unmarked."""
        tool = cls()
        tool.bind(target, None)
        return tool

    def bind(self, target: Any, namespace: Mapping[str, Any] | None) -> None:
        super().bind(target, namespace)
        try:
            body = self.body
        except NameError:
            # An annotation of a class that is defined further down: read again when the tool is registered.
            return
        if self.output_schema is not None and annotates_content(body.returns):
            raise ConfigurationError(
                f'Tool "{self.name}": output_schema= beside a content type as return annotation; '
                "content has no schema, drop one of the two"
            )

    @cached_property
    def body(self) -> Body:
        return read_body(self.target, self.namespace, self.noun)

    @cached_property
    def model_parameter(self) -> str | None:
        """The parameter that takes the whole ``input_schema`` model."""
        if inspect.isclass(self.input_schema) and issubclass(self.input_schema, BaseModel):
            return self.body.parameter_of(self.input_schema)
        return None

    @cached_property
    def input(self) -> Input:
        """The arguments; from ``input_schema=``, else from the signature."""
        given, body = self.input_schema, self.body
        if isinstance(given, JsonSchema):
            return input_from_json_schema(given)
        if inspect.isclass(given) and issubclass(given, BaseModel):
            return input_from_model(given, as_model=self.model_parameter is not None)
        shape = body.field_shape() if given is None else given
        if not isinstance(shape, Mapping):
            raise ConfigurationError(f"input_schema= takes a pydantic model, a shape or JsonSchema, not {given!r}")
        extra: Literal["allow", "ignore"] = "allow" if body.takes_any else "ignore"
        return input_from_model(model_from_shape(shape, self.name, extra=extra), as_model=False)

    @cached_property
    def output(self) -> Output | None:
        """What results are checked against; None when nothing is said of them."""
        given = self.output_schema
        if isinstance(given, JsonSchema):
            return output_from_json_schema(given)
        if isinstance(given, Mapping):
            return output_from_type(model_from_shape(given, self.name))
        annotation = output_type(self.body.returns) if given is None else given
        return None if annotation is None else output_from_type(annotation)

    def build(self) -> None:
        """Read the body and build both schemas now.

        :raises ConfigurationError: something of it can't be served, named with place and fix.
        """
        try:
            self._check_parameters()
            _ = self.output
        except NameError as error:
            raise ConfigurationError(f'Tool "{self.name}" ({self.source}): annotation: {error}') from error
        except ConfigurationError as error:
            raise ConfigurationError(f'Tool "{self.name}" ({self.source}): {error}') from error

    def _check_parameters(self) -> None:
        """An input that the body does not take, or lacks, would fail at every call."""
        schema = self.input.schema
        if self.input_schema is None or self.model_parameter is not None:
            return
        properties = set(schema.get("properties", ()))
        if isinstance(self.input_schema, type) and issubclass(self.input_schema, BaseModel):
            properties = set(self.input_schema.model_fields)
        elif not isinstance(self.input_schema, JsonSchema):
            properties = set(self.input_schema)  # type: ignore[arg-type]
        if not self.body.takes_any and (unknown := sorted(properties - set(self.body.fields))):
            raise ConfigurationError(f"the body has no parameter for {', '.join(map(repr, unknown))} of input_schema=")
        required = {name for name, each in self.body.fields.items() if each.default is each.empty}
        if missing := sorted(required - properties):
            raise ConfigurationError(f"input_schema= lacks {', '.join(map(repr, missing))}, which the body requires")
