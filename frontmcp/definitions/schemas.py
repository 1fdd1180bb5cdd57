"""`SchemaDefinition`: a definition whose input and output have schemas, given or taken from the signature."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic import BaseModel

from frontmcp.definitions.base import Definition
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


class SchemaDefinition(Definition):
    """What tools and jobs share: ``input_schema=`` and ``output_schema=``, else the signature."""

    input_schema: SchemaLike | None
    output_schema: Any

    def _configure(self, *, input_schema: SchemaLike | None = None, output_schema: Any = None, **shared: Any) -> None:
        super()._configure(**shared)
        self.input_schema = input_schema
        self.output_schema = output_schema

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
        given = output_type(self.body.returns) if self.output_schema is None else self.output_schema
        return None if given is None else self.output_of(given)

    def output_of(self, given: Any) -> Output:
        """What results of a schema, a shape or a type are checked against."""
        if isinstance(given, JsonSchema):
            return output_from_json_schema(given)
        if isinstance(given, Mapping):
            return output_from_shape(given, self.name)
        return output_from_type(given)

    def _check(self) -> None:
        self._check_parameters()
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
