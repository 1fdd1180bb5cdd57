"""`Image`, `Audio`, `File`: what a tool returns that is not JSON, and how a value becomes content."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, get_args, get_origin
from urllib.parse import quote

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

_SUBTYPES = {"jpg": "jpeg", "svg": "svg+xml", "mp3": "mpeg"}


class _Media:
    """Bytes given as such or as a file, with what they are."""

    family: ClassVar[str]
    default_mime_type: ClassVar[str]

    def __init__(
        self,
        *,
        data: bytes | None = None,
        path: str | Path | None = None,
        format: str | None = None,
        mime_type: str | None = None,
    ) -> None:
        if (data is None) == (path is None):
            raise ValueError(f"{type(self).__name__} takes either data= or path=")
        self.data = Path(path).read_bytes() if path is not None else data or b""
        self.name = Path(path).name if path is not None else None
        named = None if format is None else f"{self.family}/{_SUBTYPES.get(format.lower(), format.lower())}"
        self.mime_type = mime_type or named or self._guessed(self.name) or self.default_mime_type

    def _guessed(self, name: str | None) -> str | None:
        guessed = mimetypes.guess_type(name)[0] if name is not None else None
        return guessed if guessed is not None and guessed.startswith(self.family) else None

    def _base64(self) -> str:
        return base64.b64encode(self.data).decode("ascii")

    def to_contents(self, uri: str) -> TextResourceContents | BlobResourceContents:
        """As the contents of a resource."""
        return BlobResourceContents(uri=uri, mime_type=self.mime_type, blob=self._base64())


class Image(_Media):
    """An image that a tool returns.

    :param data: its bytes, or ``path`` of a file that is read at once.
    :param format: such as ``"png"``; else by the file's name, else ``"png"``.
    :param mime_type: in place of ``format``.
    """

    family = "image"
    default_mime_type = "image/png"

    def to_content(self) -> ImageContent:
        """As a block of a result."""
        return ImageContent(data=self._base64(), mime_type=self.mime_type)


class Audio(_Media):
    """A sound that a tool returns; parameters as those of `Image`, ``"wav"`` by default."""

    family = "audio"
    default_mime_type = "audio/wav"

    def to_content(self) -> AudioContent:
        """As a block of a result."""
        return AudioContent(data=self._base64(), mime_type=self.mime_type)


class File(_Media):
    """A file that a tool returns, embedded in the result.

    :param data: its bytes, or ``path`` of a file that is read at once.
    :param mime_type: what it is; else by its name.
    :param name: how it is called; else the file's name.
    """

    family = ""
    default_mime_type = "application/octet-stream"

    def __init__(
        self,
        *,
        data: bytes | None = None,
        path: str | Path | None = None,
        mime_type: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(data=data, path=path, mime_type=mime_type or self._guessed(name))
        self.name = name or self.name or "file"

    def to_content(self) -> EmbeddedResource:
        """As a block of a result."""
        return EmbeddedResource(resource=self.to_contents(f"file:///{quote(self.name or '')}"))

    def to_contents(self, uri: str) -> TextResourceContents | BlobResourceContents:
        if self.mime_type.startswith("text/"):
            try:
                return TextResourceContents(uri=uri, mime_type=self.mime_type, text=self.data.decode())
            except UnicodeDecodeError:
                # Text in an encoding of its own.
                pass
        return super().to_contents(uri)


BLOCK_TYPES = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)
MEDIA_TYPES = (Image, Audio, File)
CONTENT_TYPES = (*BLOCK_TYPES, *MEDIA_TYPES, CallToolResult)


def is_content(value: Any) -> bool:
    """Whether a value is content by itself, rather than data."""
    return isinstance(value, (*BLOCK_TYPES, *MEDIA_TYPES))


def to_blocks(value: Any, text_of: Callable[[Any], str]) -> list[ContentBlock] | None:
    """The content blocks of content or of a list that holds some; None for data.

    :param text_of: the text that stands for what is no content beside content.
    """
    if is_content(value):
        return [to_block(value)]
    if isinstance(value, list | tuple) and any(map(is_content, value)):
        return [to_block(item) if is_content(item) else TextContent(text=text_of(item)) for item in value]
    return None


def to_block(item: Any) -> ContentBlock:
    """The content block of content."""
    block: ContentBlock = item.to_content() if isinstance(item, MEDIA_TYPES) else item
    return block


def annotates_content(annotation: Any) -> bool:
    """Whether a return annotation says content: a content type, or a list or union with one."""
    if isinstance(annotation, type) and issubclass(annotation, CONTENT_TYPES):
        return True
    if get_origin(annotation) is None:
        return False
    arguments: Sequence[Any] = get_args(annotation)
    return any(annotates_content(argument) for argument in arguments)
