"""What a body asks of the client: the question as the protocol writes it, and the answer as the body reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

from mcp.server.elicitation import render_elicitation_schema
from mcp_types import (
    CreateMessageRequestParams,
    ElicitResult,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    Root,
    SamplingMessage,
    TextContent,
    Tool,
    ToolChoice,
)
from pydantic import BaseModel, ValidationError

from frontmcp.call import Accepted, Answer, Asked, Cancelled, Declined, Question, SamplingResult
from frontmcp.errors import ClientAnswerError, ElicitationInvalidError, sendable
from frontmcp.schema import JsonSchema, inline_references

R = TypeVar("R", bound=BaseModel)

Messages: TypeAlias = str | SamplingMessage | Sequence[str | SamplingMessage]
Models: TypeAlias = str | Sequence[str] | ModelPreferences

ELICIT: Final[Asked] = "elicitation/create"
SAMPLE: Final[Asked] = "sampling/createMessage"
LIST_ROOTS: Final[Asked] = "roots/list"

FLAT: Final = (
    "a form is flat; its fields are str, int, float, bool, a date, a URL, a Literal or Enum, or a list of a Literal or "
    "Enum of texts, each also with | None or a default"
)


# A form, or a URL


def form(message: str, model: Any, key: str | None) -> Question:
    """A form for the user to fill in.

    :param model: a flat pydantic model, or a `JsonSchema` of one.
    :raises TypeError: it is no flat form.
    """
    params = {"mode": "form", "message": sendable(message), "requestedSchema": _form_schema(model)}
    return Question(ELICIT, params, {"elicitation": {"form": {}}}, key)


class _Form:
    """What the SDK renders, references inlined: the form of an enum is flat, though pydantic lists it apart."""

    def __init__(self, model: type[BaseModel] | JsonSchema) -> None:
        self._model = model

    def model_json_schema(self, schema_generator: Any) -> dict[str, Any]:
        if isinstance(self._model, JsonSchema):
            return self._model.schema
        return inline_references(self._model.model_json_schema(schema_generator=schema_generator))


def _form_schema(model: Any) -> dict[str, Any]:
    if not (isinstance(model, JsonSchema) or (isinstance(model, type) and issubclass(model, BaseModel))):
        raise TypeError(f"elicit takes a pydantic model or a JsonSchema as its form, not {model!r}")
    rendering: Any = _Form(model)
    try:
        schema = render_elicitation_schema(rendering)
    except TypeError as error:
        # It names the field first, then shows what pydantic made of it.
        field, _, _ = str(error).partition(" rendered as ")
        raise TypeError(f"{field.removeprefix('Elicitation schema ')} can't be asked for: {FLAT}") from None
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), Mapping):
        raise TypeError("the JsonSchema of a form has the type object, and properties")
    return schema


def read_form(answer: Answer, model: Any) -> Accepted[Any] | Declined | Cancelled:
    """What the user did with a form.

    :raises ElicitationInvalidError: the answer does not fit.
    :raises ClientAnswerError: it is none.
    """
    result = _result(answer, ElicitResult, ELICIT)
    if result.action != "accept":
        return _refusal(result)
    content = result.content if result.content is not None else {}
    if isinstance(model, JsonSchema):
        paths = [issue["path"] for issue in model.check(content)]
        if not paths:
            return Accepted(content)
        raise _unfit(paths, model.schema["properties"])
    try:
        return Accepted(model.model_validate(content))
    except ValidationError as error:
        paths = [each["loc"] for each in error.errors()]
    raise _unfit(paths, model.model_fields)


def _refusal(result: ElicitResult) -> Declined | Cancelled:
    return Declined() if result.action == "decline" else Cancelled()


def _unfit(paths: Sequence[Sequence[Any]], declared: Mapping[str, Any]) -> ElicitationInvalidError:
    names = sorted({str(path[0]) for path in paths if path and path[0] in declared})
    where = f" at {', '.join(names)}" if names else ""
    return ElicitationInvalidError(f"The answer does not fit the form{where}")


def link(message: str, url: str, elicitation_id: str | None, key: str | None) -> Question:
    """A URL for the user to open.

    :param elicitation_id: names the matter where the protocol wants it (2025-11-25).
    :raises ValueError: it is no URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError("elicit_url takes an http(s) URL")
    params = {"mode": "url", "message": sendable(message), "url": sendable(url)}
    if elicitation_id is not None:
        params["elicitationId"] = elicitation_id
    return Question(ELICIT, params, {"elicitation": {"url": {}}}, key)


def read_link(answer: Answer) -> Accepted[None] | Declined | Cancelled:
    """What the user did with a URL.

    :raises ClientAnswerError: it is no answer.
    """
    result = _result(answer, ElicitResult, ELICIT)
    return Accepted(None) if result.action == "accept" else _refusal(result)


# The client's model, and its roots


def sampling(
    messages: Messages,
    max_tokens: int,
    system_prompt: str | None,
    temperature: float | None,
    stop_sequences: Sequence[str] | None,
    model_preferences: Models | None,
    tools: Sequence[Tool] | None,
    tool_choice: ToolChoice | None,
    key: str | None,
) -> Question:
    """Messages for the client's model to go on from."""
    with_tools = tools is not None or tool_choice is not None
    params = CreateMessageRequestParams(
        messages=_messages(messages),
        max_tokens=max_tokens,
        system_prompt=sendable(system_prompt) if system_prompt is not None else None,
        temperature=temperature,
        stop_sequences=list(stop_sequences) if stop_sequences is not None else None,
        model_preferences=_preferences(model_preferences),
        tools=list(tools) if tools is not None else None,
        tool_choice=tool_choice,
    )
    required: dict[str, Any] = {"sampling": {"tools": {}} if with_tools else {}}
    return Question(SAMPLE, params.model_dump(mode="json", by_alias=True, exclude_none=True), required, key)


def _messages(given: Messages) -> list[SamplingMessage]:
    listed = [given] if isinstance(given, str | SamplingMessage) else given
    return [_message(each) for each in listed]


def _message(given: str | SamplingMessage) -> SamplingMessage:
    if isinstance(given, SamplingMessage):
        return given
    return SamplingMessage(role="user", content=TextContent(text=sendable(given)))


def _preferences(given: Models | None) -> ModelPreferences | None:
    if given is None or isinstance(given, ModelPreferences):
        return given
    names = [given] if isinstance(given, str) else given
    return ModelPreferences(hints=[ModelHint(name=name) for name in names])


def read_sampling(answer: Answer) -> SamplingResult:
    """What the client's model said.

    :raises ClientAnswerError: nothing that the protocol knows.
    """
    return _result(answer, SamplingResult, SAMPLE)


def roots(key: str | None) -> Question:
    """The question where the client's files are."""
    return Question(LIST_ROOTS, {}, {"roots": {}}, key)


def read_roots(answer: Answer) -> list[Root]:
    """The roots that the client listed.

    :raises ClientAnswerError: it listed something else.
    """
    return _result(answer, ListRootsResult, LIST_ROOTS).roots


def _result(answer: Answer, model: type[R], method: Asked) -> R:
    try:
        return model.model_validate(answer.data)
    except ValidationError:
        raise ClientAnswerError(f"The client's answer to {method} is none") from None
