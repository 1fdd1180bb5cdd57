"""`Image`, `Audio`, `File`, and the content that values become."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Optional

import pytest
from mcp_types import AudioContent, BlobResourceContents, ImageContent, TextContent, TextResourceContents

from frontmcp import Audio, CallToolResult, File, Image
from frontmcp.content import annotates_content, to_blocks

BYTES = b"\x89PNG\xff"


@pytest.mark.parametrize(
    ("media", "mime_type"),
    [
        (Image(data=BYTES), "image/png"),
        (Image(data=BYTES, format="png"), "image/png"),
        (Image(data=BYTES, format="JPG"), "image/jpeg"),
        (Image(data=BYTES, format="svg"), "image/svg+xml"),
        (Image(data=BYTES, mime_type="image/x-own"), "image/x-own"),
        (Audio(data=BYTES), "audio/wav"),
        (Audio(data=BYTES, format="mp3"), "audio/mpeg"),
    ],
)
def test_media_become_their_block(media: Image | Audio, mime_type: str) -> None:
    block = media.to_content()
    assert isinstance(block, ImageContent if isinstance(media, Image) else AudioContent)
    assert block.mime_type == mime_type
    assert base64.b64decode(block.data) == BYTES


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [("a.gif", "image/gif"), ("a.unknown", "image/png"), ("a", "image/png"), ("a.txt", "image/png")],
)
def test_a_path_is_read_at_once_and_tells_what_it_is(tmp_path: Path, name: str, mime_type: str) -> None:
    file = tmp_path / name
    file.write_bytes(BYTES)
    image = Image(path=file)
    file.unlink()
    assert image.data == BYTES
    assert image.to_content().mime_type == mime_type


@pytest.mark.parametrize("kind", [Image, Audio, File])
def test_media_are_made_of_one_thing(kind: Any) -> None:
    with pytest.raises(ValueError, match="takes either data= or path="):
        kind()
    with pytest.raises(ValueError, match="takes either data= or path="):
        kind(data=b"", path="a")
    assert kind(data=b"").data == b""


def test_a_file_of_text_is_embedded_as_text() -> None:
    contents = File(data="Grüße".encode(), name="a b.txt").to_content().resource
    assert isinstance(contents, TextResourceContents)
    assert (contents.uri, contents.mime_type, contents.text) == ("file:///a%20b.txt", "text/plain", "Grüße")


@pytest.mark.parametrize(
    ("file", "mime_type"),
    [
        (File(data=BYTES), "application/octet-stream"),
        (File(data=BYTES, name="a.pdf"), "application/pdf"),
        (File(data=BYTES, name="a.txt"), "text/plain"),
        (File(data=BYTES, name="a.txt", mime_type="x/y"), "x/y"),
    ],
)
def test_a_file_of_bytes_is_embedded_as_bytes(file: File, mime_type: str) -> None:
    contents = file.to_content().resource
    assert isinstance(contents, BlobResourceContents)
    assert contents.mime_type == mime_type
    assert base64.b64decode(contents.blob) == BYTES


def test_a_file_is_called_like_its_path(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hi")
    assert File(path=str(tmp_path / "notes.txt")).to_content().resource.uri == "file:///notes.txt"


TEXT = TextContent(text="hi")
IMAGE = Image(data=BYTES)


@pytest.mark.parametrize(
    ("value", "blocks"),
    [
        (TEXT, [TEXT]),
        (IMAGE, [IMAGE.to_content()]),
        ([TEXT, IMAGE], [TEXT, IMAGE.to_content()]),
        ((IMAGE,), [IMAGE.to_content()]),
        (["a", IMAGE, {"b": 1}], [TextContent(text="<'a'>"), IMAGE.to_content(), TextContent(text="<{'b': 1}>")]),
        ("a", None),
        ([], None),
        (["a"], None),
        ({"image": IMAGE}, None),
        (None, None),
    ],
)
def test_content_is_told_from_data(value: Any, blocks: Any) -> None:
    assert to_blocks(value, lambda item: f"<{item!r}>") == blocks


@pytest.mark.parametrize(
    ("annotation", "says"),
    [
        (Image, True),
        (TextContent, True),
        (CallToolResult, True),
        (list[Image], True),
        (list[str | Image], True),
        (Optional[Image], True),  # noqa: UP045
        (list["str"], False),
        (str, False),
        (Any, False),
        (None, False),
        (list, False),
    ],
)
def test_an_annotation_says_content(annotation: Any, says: bool) -> None:
    assert annotates_content(annotation) is says
