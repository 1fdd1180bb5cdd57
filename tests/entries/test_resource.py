"""What a resource's value becomes, how a URI is read, and what it may not reach."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import BlobResourceContents, EmbeddedResource, ReadResourceResult, TextResourceContents
from pydantic import BaseModel

from frontmcp import (
    App,
    Audio,
    File,
    FrontMcp,
    Image,
    InvalidInputError,
    InvalidOutputError,
    PublicMcpError,
    ResourceContext,
    ResourceTemplate,
    create_direct,
)
from frontmcp.direct import Direct
from frontmcp.errors import ResourceNotFoundError, ResourceReadError


class Ticket(BaseModel):
    id: str
    opened: date = date(2026, 11, 30)


@dataclass
class Point:
    x: int


def text(value: str, mime_type: str = "text/plain", uri: str = "a://b") -> TextResourceContents:
    return TextResourceContents(uri=uri, mime_type=mime_type, text=value)


def blob(value: str, mime_type: str = "application/octet-stream") -> BlobResourceContents:
    return BlobResourceContents(uri="a://b", mime_type=mime_type, blob=value)


JSON = "application/json"
OTHER = TextResourceContents(uri="other://x", mime_type="text/html", text="<p>")

RESULTS: list[tuple[Any, list[Any]]] = [
    ("hello", [text("hello")]),
    ("", [text("")]),
    ({"a": [1, None]}, [text('{"a":[1,null]}', JSON)]),
    ([1, 2], [text("[1,2]", JSON)]),
    (["a", "b"], [text('["a","b"]', JSON)]),
    ([], [text("[]", JSON)]),
    (7, [text("7", JSON)]),
    (True, [text("true", JSON)]),
    (None, [text("null", JSON)]),
    (Ticket(id="T-1"), [text('{"id":"T-1","opened":"2026-11-30"}', JSON)]),
    ([Ticket(id="T-1")], [text('[{"id":"T-1","opened":"2026-11-30"}]', JSON)]),
    (Point(1), [text('{"x":1}', JSON)]),
    (date(2026, 11, 30), [text("2026-11-30", JSON)]),
    (b"\x00\xff", [blob("AP8=")]),
    (bytearray(b"\x00\xff"), [blob("AP8=")]),
    (memoryview(b"\x00\xff"), [blob("AP8=")]),
    (Image(data=b"x", format="png"), [blob("eA==", "image/png")]),
    (Audio(data=b"x"), [blob("eA==", "audio/wav")]),
    (File(data=b"x", name="x.txt"), [text("x")]),
    (File(data=b"x", name="x.pdf"), [blob("eA==", "application/pdf")]),
    (OTHER, [OTHER]),
    (EmbeddedResource(resource=OTHER), [OTHER]),
    ([b"x", "y", OTHER], [blob("eA=="), text("y"), OTHER]),
    ((OTHER, {"a": 1}), [OTHER, text('{"a":1}', JSON)]),
    (ReadResourceResult(contents=[OTHER]), [OTHER]),
    (ReadResourceResult(contents=[]), []),
]


async def read(value: Any, **keywords: Any) -> ReadResourceResult:
    server = FrontMcp("desk", environment="test")
    server.resource("a://b", name="it", **keywords)(lambda: value)
    async with create_direct(server) as direct:
        return await direct.read_resource("a://b")


@pytest.mark.parametrize(
    ("value", "contents"), RESULTS, ids=lambda each: re.sub(" at 0x[0-9a-f]+", "", repr(each))[:40]
)
async def test_a_value_becomes_contents(value: Any, contents: list[Any]) -> None:
    assert (await read(value, sync="inline")).contents == contents


@pytest.mark.parametrize(("value", "mime_type"), [("# Hi", "text/markdown"), ({"a": 1}, "x/y"), (b"x", "image/gif")])
async def test_the_definition_says_what_it_is(value: Any, mime_type: str) -> None:
    assert (await read(value, mime_type=mime_type)).contents[0].mime_type == mime_type


async def test_what_is_content_knows_better_what_it_is() -> None:
    assert (await read(Image(data=b"x", format="png"), mime_type="text/plain")).contents[0].mime_type == "image/png"


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (object(), ""),
        ({"a": [1, object()]}, "at a.1"),
        ({"a": float("nan")}, "at a"),
        ("\ud800", ""),
        ({"a": "\ud800"}, "at a"),
        (TextResourceContents(uri="a://b", text="\ud800"), ""),
        (ReadResourceResult(contents=[TextResourceContents(uri="a://b", text="\ud800")]), ""),
    ],
)
async def test_what_can_not_be_sent_fails_while_it_can_still_be_answered(value: Any, where: str) -> None:
    with pytest.raises(InvalidOutputError, match=r"^Resource output validation failed") as caught:
        await read(value, sync="inline")
    assert where in str(caught.value)


class TestCacheHints:
    async def test_nothing_is_kept_by_default(self) -> None:
        result = await read("x")
        assert (result.ttl_ms, result.cache_scope) == (0, "private")

    async def test_public_is_a_choice(self) -> None:
        result = await read("x", cache={"ttl": 1.5, "scope": "public"})
        assert (result.ttl_ms, result.cache_scope) == (1500, "public")

    async def test_public_never_holds_where_a_policy_decides_who_reads(self) -> None:
        result = await read("x", cache={"ttl": 60, "scope": "public"}, visibility="hidden")
        assert (result.ttl_ms, result.cache_scope) == (60_000, "private")


class Kind(enum.Enum):
    BUG = "bug"
    WISH = "wish"


app = App(id="desk")


@app.resource("tickets://{id}/{kind}{?page,deep}")
def typed(id: int, kind: Kind, page: int = 1, deep: bool = False) -> Any:
    return {"id": id, "kind": kind.name, "page": page, "deep": deep}


@app.resource("tickets://all/wish")
def all_wishes() -> str:
    return "exact"


@app.resource("notes://{name}")
def note(ctx: ResourceContext, **variables: Any) -> Any:
    return {"uri": ctx.uri, "input": ctx.input, "variables": variables}


@app.resource("files://{+path}")
def file(path: PurePosixPath, uri: str) -> Any:
    return {"path": str(path), "uri": uri}


@app.resource("tree://x{/steps*}")
async def tree(steps: list[str]) -> Any:
    return steps


@app.resource("first://{a}")
async def first() -> str:
    return "first"


@app.resource("first://{b}")
async def second() -> str:
    return "second"


@pytest.fixture
async def direct() -> AsyncIterator[Direct]:
    async with create_direct(FrontMcp("desk", apps=[app], environment="test")) as direct:
        yield direct


async def data(direct: Direct, uri: str) -> Any:
    contents = (await direct.read_resource(uri)).contents[0]
    assert isinstance(contents, TextResourceContents)
    assert contents.uri == uri
    return json.loads(contents.text) if contents.mime_type == JSON else contents.text


class TestUris:
    async def test_variables_are_what_the_signature_says(self, direct: Direct) -> None:
        assert await data(direct, "tickets://7/bug") == {"id": 7, "kind": "BUG", "page": 1, "deep": False}
        full = await data(direct, "tickets://7/wish?deep=true&page=2&utm=x")
        assert full == {"id": 7, "kind": "WISH", "page": 2, "deep": True}

    async def test_what_does_not_fit_is_told_without_the_value(self, direct: Direct) -> None:
        with pytest.raises(InvalidInputError) as caught:
            await direct.read_resource("tickets://s3cret/nope?page=x")
        assert str(caught.value) == "Invalid resource URI"
        assert [issue["path"] for issue in caught.value.validation_errors] == [["id"], ["kind"], ["page"]]
        assert "s3cret" not in "".join([caught.value.text, *caught.value.__notes__])

    async def test_the_exact_uri_wins(self, direct: Direct) -> None:
        assert await data(direct, "tickets://all/wish") == "exact"

    async def test_then_the_first_template_that_fits(self, direct: Direct) -> None:
        assert await data(direct, "first://x") == "first"

    async def test_a_body_may_take_all_variables_and_the_uri(self, direct: Direct) -> None:
        given = {"name": "a b", "uri": "notes://a%20b"}
        assert await data(direct, "notes://a%20b") == {"uri": "notes://a%20b", "input": given, "variables": given}

    async def test_paths(self, direct: Direct) -> None:
        assert (await data(direct, "files://a/b.txt"))["path"] == "a/b.txt"
        assert (await data(direct, "files:///etc/hosts"))["path"] == "/etc/hosts"
        assert await data(direct, "tree://x/a/b") == ["a", "b"]

    async def test_long_uris(self, direct: Direct) -> None:
        name = "n" * 10_000
        assert (await data(direct, f"notes://{name}"))["input"]["name"] == name
        with pytest.raises(ResourceNotFoundError) as caught:
            await direct.read_resource(f"none://{name}")
        assert len(str(caught.value)) < 200

    @pytest.mark.parametrize(
        "uri",
        [
            "none://x",
            "",
            "notes://",
            "notes://a/b",
            "notes://..",
            "notes://%2e%2e",
            "notes://..%2Fx",
            "notes://a%2F..%2Fx",
            "notes://a%5C..%5Cx",
            "notes://%2Fetc%2Fpasswd",
            "notes://%5Cx",
            "notes://C:%5Cx",
            "notes://c:%2Fx",
            "notes://a%00b",
            "files://../x",
            "files://a/../x",
            "files://a/..",
            "files://a/%2e%2e/x",
            "files://a%5C..%5Cx",
            "files://a%00",
            "tree://x/../y",
            "tree://x/%2Fetc",
            "tree://x/a%00",
        ],
    )
    async def test_what_is_not_there_or_leaves_its_place_is_not_found(self, direct: Direct, uri: str) -> None:
        if uri == "notes://":
            # An empty variable is a value.
            assert (await data(direct, uri))["input"]["name"] == ""
            return
        with pytest.raises(ResourceNotFoundError):
            await direct.read_resource(uri)

    @pytest.mark.parametrize("name", ["1.0..2.0", "a:1", "..hidden", "a..", "...", "%252e%252e", "~root"])
    async def test_what_only_looks_like_it_is_read(self, direct: Direct, name: str) -> None:
        assert "name" in (await data(direct, f"notes://{name}"))["input"]

    @settings(max_examples=200, deadline=None)
    @given(
        segments=st.lists(st.text(max_size=8), min_size=1, max_size=4),
        template=st.sampled_from(["a://{v}", "a://{+v}"]),
    )
    def test_no_path_climbs(self, segments: list[str], template: str) -> None:
        entry = _TEMPLATES[template]
        expanded = entry.definition.template.expand({"v": "/".join(segments)})
        found = entry.match(expanded)
        if found is not None:
            assert "\0" not in found["v"]
            assert ".." not in found["v"].replace("\\", "/").split("/")
            assert template == "a://{+v}" or not found["v"].startswith(("/", "\\"))


def _entry(template: str) -> Any:
    server = FrontMcp("desk", resources=[ResourceTemplate(template, name="it")(lambda v: v)])
    server.check()
    return server.entries("resource_template")[0]


_TEMPLATES = {template: _entry(template) for template in ("a://{v}", "a://{+v}")}


class TestErrors:
    async def error(self, raised: BaseException) -> BaseException:
        server = FrontMcp("desk", environment="test")

        @server.resource("a://b")
        async def failing() -> str:
            raise raised

        async with create_direct(server) as direct:
            with pytest.raises(Exception) as caught:
                await direct.read_resource("a://b")
            return caught.value

    async def test_what_is_not_public_is_wrapped(self) -> None:
        raised = ValueError("disk is full")
        error = await self.error(raised)
        assert isinstance(error, ResourceReadError)
        assert (error.code, str(error)) == ("RESOURCE_READ_ERROR", 'Resource "a://b" read failed: disk is full')
        assert error.original_error is raised
        assert not error.public

    async def test_what_is_public_passes(self) -> None:
        raised = PublicMcpError("no", "NO")
        assert await self.error(raised) is raised


def test_listed() -> None:
    server = FrontMcp("desk")
    annotations = types.Annotations(audience=["user"], priority=0.5)
    keywords: Any = {"title": "T", "description": "D", "mime_type": "x/y", "annotations": annotations, "tags": ["a"]}
    server.resource("a://b", name="one", size=3, **keywords)(lambda: "")
    server.resource("a://{b}", name="many", meta={"m": 1}, **keywords)(lambda: "")
    server.check()
    (one,), (many,) = server.entries("resource"), server.entries("resource_template")
    shared = {"title": "T", "description": "D", "mime_type": "x/y", "annotations": annotations}
    assert one.wire(name="a://b", modern=True) == types.Resource(
        uri="a://b", name="one", size=3, _meta={"frontmcp/tags": ["a"]}, **shared
    )
    assert many.wire(name="a://{b}", modern=True) == types.ResourceTemplate(
        uri_template="a://{b}", name="many", _meta={"m": 1, "frontmcp/tags": ["a"]}, **shared
    )
