"""`Tool`: how a class or function is served as a tool."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, overload

from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types import Icon, ToolAnnotations
from pydantic import BaseModel

from frontmcp.call import Kind
from frontmcp.content import annotates_content
from frontmcp.contexts.base import Context
from frontmcp.contexts.tool import ToolContext
from frontmcp.definitions.base import Definition, F, Sync
from frontmcp.definitions.options import AvailableWhen, Concurrency, RateLimit, Timeout, Visibility
from frontmcp.errors import ConfigurationError
from frontmcp.schema import (
    Input,
    JsonSchema,
    Output,
    SchemaLike,
    input_from_json_schema,
    input_from_model,
    input_from_shape,
    output_from_json_schema,
    output_from_shape,
    output_from_type,
    output_type,
)


class Tool(Definition):
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

    input_schema: SchemaLike | None
    output_schema: Any
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
        **options: Any,
    ) -> Tool: ...
    def __new__(cls, target: Any = None, /, **keywords: Any) -> Any:
        tool = super().__new__(cls)
        tool._configure(**keywords)
        return tool if target is None else tool(target)

    def _configure(
        self,
        *,
        input_schema: SchemaLike | None = None,
        output_schema: Any = None,
        annotations: ToolAnnotations | None = None,
        **shared: Any,
    ) -> None:
        super()._configure(**shared)
        self.input_schema = input_schema
        self.output_schema = output_schema
        self.annotations = annotations

    def _check_annotations(self) -> None:
        returns = self.body.returns
        if self.output_schema is not None and annotates_content(returns):
            raise ConfigurationError(
                "output_schema= beside a content type as return annotation; content has no schema, drop one of the two"
            )

    @cached_property
    def model_parameter(self) -> str | None:  # type: ignore[override]
        """The parameter that takes the whole ``input_schema`` model."""
        return self.body.parameter_of(self.input_schema) if _is_model(self.input_schema) else None

    @cached_property
    def input(self) -> Input:  # type: ignore[override]
        """The arguments; from ``input_schema=``, else from the signature."""
        given, body = self.input_schema, self.body
        if given is None:
            return input_from_shape(body.field_shape(), self.name, others=body.others)
        if isinstance(given, JsonSchema):
            return input_from_json_schema(given, takes_any=body.takes_any)
        if isinstance(given, Mapping):
            return input_from_shape(given, self.name, others=body.others)
        if _is_model(given):
            return input_from_model(given, as_model=self.model_parameter is not None)
        raise ConfigurationError(f"input_schema= takes a pydantic model, a shape or JsonSchema, not {given!r}")

    @cached_property
    def output(self) -> Output | None:
        """What results are checked against; None when nothing is said of them."""
        given = self.output_schema
        if isinstance(given, JsonSchema):
            return output_from_json_schema(given)
        if isinstance(given, Mapping):
            return output_from_shape(given, self.name)
        annotation = output_type(self.body.returns) if given is None else given
        return None if annotation is None else output_from_type(annotation)

    def _check(self) -> None:
        self._check_parameters()
        if problem := find_invalid_x_mcp_header(self.input.schema):
            raise ConfigurationError(f"input schema: {problem}")
        self._check_output()

    def _check_output(self) -> None:
        try:
            _ = self.output
        except ConfigurationError as error:
            hint = "; annotate it with Any to serve it without a schema" if self.output_schema is None else ""
            raise ConfigurationError(f"output schema: {error}{hint}") from error

    def _check_parameters(self) -> None:
        """An input that the body does not take, or lacks, would fail at every call."""
        given, body, schema = self.input_schema, self.body, self.input.schema
        if given is None:
            return
        if isinstance(given, JsonSchema):
            names = set(schema.get("properties", ()))
            certain = {
                name for name in names if name in schema.get("required", ()) or "default" in schema["properties"][name]
            }
        else:
            names = certain = self._field_names()
        if not body.takes_any and (unknown := sorted(names - set(body.fields))):
            raise ConfigurationError(f"the body has no parameter for {_listed(unknown)} of input_schema=")
        if missing := sorted(body.required - certain):
            raise ConfigurationError(
                f"the body requires {_listed(missing)}, which input_schema= lacks or may leave out: give it a default"
            )

    def _field_names(self) -> set[str]:
        if self.model_parameter is not None:
            return {self.model_parameter}
        given: Any = self.input_schema
        return set(given) if isinstance(given, Mapping) else set(given.model_fields)


def _is_model(given: Any) -> Any:
    return inspect.isclass(given) and issubclass(given, BaseModel)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
