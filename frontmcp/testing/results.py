"""What a client got, in a form that tests can ask and that fails with a useful message."""

from __future__ import annotations

import base64
import json
from typing import Any, Self

from mcp import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    GetPromptResult,
    PromptMessage,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
)


class ToolResult:
    """The result of one ``tools/call``.

    :ivar raw: the SDK's result, as it came over the wire.
    """

    __tracebackhide__ = True

    def __init__(self, name: str, raw: CallToolResult) -> None:
        self._name = name
        self.raw = raw

    @property
    def is_error(self) -> bool:
        """Whether the tool, or the way to it, failed."""
        return self.raw.is_error

    @property
    def code(self) -> str | None:
        """The error's code, such as ``"TOOL_NOT_FOUND"``; None for a success."""
        code = (self.raw.meta or {}).get("code")
        return code if isinstance(code, str) else None

    def text(self) -> str:
        """The text blocks of the content, one to a line."""
        return "\n".join(block.text for block in self.raw.content if isinstance(block, TextContent))

    def json(self) -> Any:
        """The value that the tool returned, the same in every era: without the ``{"result": …}`` around it that older
        clients get when it is no object. ``raw.structured_content`` is what was sent.

        :raises AssertionError: the result has no data.
        """
        data = self.raw.structured_content
        if data is None:
            return self._parsed()
        if isinstance(data, dict) and data.keys() == {"result"} and self._says(data["result"]):
            return data["result"]
        return data

    def _parsed(self) -> Any:
        try:
            return json.loads(self.text())
        except ValueError:
            raise AssertionError(f"{self} has neither structured content nor JSON as its text") from None

    def _says(self, value: Any) -> bool:
        """Whether the text shows ``value`` itself."""
        text = self.text()
        if value is None or isinstance(value, str):
            return text == (value or "")
        try:
            return bool(json.loads(text) == value)
        except ValueError:
            return False

    def assert_ok(self) -> Self:
        """Fail unless the tool succeeded."""
        __tracebackhide__ = True
        if self.is_error:
            raise AssertionError(f"{self}, but should have succeeded{self._stack()}")
        return self

    def assert_error(self, code: str | None = None) -> Self:
        """Fail unless the tool failed, with ``code`` when it is given."""
        __tracebackhide__ = True
        wanted = "an error" if code is None else code
        if not self.is_error or (code is not None and self.code != code):
            raise AssertionError(f"{self}, but should have failed with {wanted}{self._stack()}")
        return self

    def _stack(self) -> str:
        stack = (self.raw.meta or {}).get("stack")
        return f"\n\nOn the server:\n{stack}" if stack else ""

    def __str__(self) -> str:
        if self.is_error:
            return f'"{self._name}" failed with {self.code or "no code"}: {self.text()}'
        return f'"{self._name}" returned {self.raw.structured_content or self.text()!r}'

    def __repr__(self) -> str:
        return f"<ToolResult {self}>"


def refusal_result(error: MCPError) -> CallToolResult | None:
    """The result that a denial would be on a road without HTTP; None for any other error of the protocol."""
    if not isinstance(error.data, dict) or error.code == MISSING_REQUIRED_CLIENT_CAPABILITY:
        return None
    data = dict(error.data)
    meta = {key: data.pop(key) for key in ("code", "errorId") if key in data}
    if "code" not in meta:
        return None
    if data:
        meta["data"] = data
    return CallToolResult(content=[TextContent(text=error.message)], is_error=True, _meta=meta)


class ResourceResult:
    """The result of one ``resources/read``.

    :ivar raw: the SDK's result, as it came over the wire.
    """

    def __init__(self, raw: ReadResourceResult) -> None:
        self.raw = raw

    @property
    def contents(self) -> list[TextResourceContents | BlobResourceContents]:
        """Everything that was read."""
        return self.raw.contents

    def text(self) -> str:
        """The texts of the contents, one to a line."""
        return "\n".join(each.text for each in self.contents if isinstance(each, TextResourceContents))

    def json(self) -> Any:
        """The text, read as JSON."""
        return json.loads(self.text())

    def bytes(self) -> bytes:
        """The bytes of the contents that are no text."""
        blobs = (each.blob for each in self.contents if isinstance(each, BlobResourceContents))
        return b"".join(map(base64.b64decode, blobs))

    def mime_type(self) -> str | None:
        """What the first of the contents is."""
        return self.contents[0].mime_type if self.contents else None

    def __repr__(self) -> str:
        return f"<ResourceResult {self.contents!r}>"


class PromptResult:
    """The result of one ``prompts/get``.

    :ivar raw: the SDK's result, as it came over the wire.
    """

    def __init__(self, raw: GetPromptResult) -> None:
        self.raw = raw

    @property
    def messages(self) -> list[PromptMessage]:
        """What the prompt says, as the SDK's messages."""
        return self.raw.messages

    def text(self) -> str:
        """The texts of the messages, one to a line."""
        return "\n".join(text for each in self.messages if (text := _text_of(each.content)) is not None)

    def __repr__(self) -> str:
        return f"<PromptResult {self.messages!r}>"


def _text_of(content: Any) -> str | None:
    if isinstance(content, EmbeddedResource):
        content = content.resource
    return content.text if isinstance(content, TextContent | TextResourceContents) else None
