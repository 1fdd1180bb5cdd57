"""What tools of the everything server answer, in every protocol version."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

NAME = r"[A-Za-z0-9_.-]{1,128}"


async def test_text_though_arguments_are_left_out(leg: Any) -> None:
    reply = await leg.call("test_simple_text")
    assert reply.content() == {"type": "text", "text": "This is a simple text response for testing."}
    assert not reply.result.get("isError")


async def test_an_image(leg: Any) -> None:
    block = (await leg.call("test_image_content", {})).content()
    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(block["data"], validate=True).startswith(b"\x89PNG")


async def test_a_sound(leg: Any) -> None:
    block = (await leg.call("test_audio_content", {})).content()
    assert (block["type"], block["mimeType"]) == ("audio", "audio/wav")
    assert base64.b64decode(block["data"], validate=True).startswith(b"RIFF")


async def test_an_embedded_resource(leg: Any) -> None:
    block = (await leg.call("test_embedded_resource", {})).content()
    assert block["type"] == "resource"
    assert block["resource"] == {
        "uri": "test://embedded-resource",
        "mimeType": "text/plain",
        "text": "This is an embedded resource content.",
    }


async def test_several_kinds_of_content(leg: Any) -> None:
    text, image, resource = (await leg.call("test_multiple_content_types", {})).result["content"]
    assert text == {"type": "text", "text": "Multiple content types test:"}
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    assert resource["resource"] == {
        "uri": "test://mixed-content-resource",
        "mimeType": "application/json",
        "text": '{"test":"data","value":123}',
    }


async def test_an_error_is_a_result(leg: Any) -> None:
    reply = await leg.call("test_error_handling", {})
    assert reply.result["isError"] is True
    assert reply.content()["text"] == "This tool intentionally returns an error for testing"


async def test_progress_on_the_stream_of_the_request_with_its_token(leg: Any) -> None:
    reply = await leg.call("test_tool_with_progress", {}, meta={"progressToken": "progress-test-1"})
    updates = reply.notifications("notifications/progress")
    assert [each["progressToken"] for each in updates] == ["progress-test-1"] * 3
    assert [(each["progress"], each["total"]) for each in updates] == [(0, 100), (50, 100), (100, 100)]
    assert reply.content()["type"] == "text"


async def test_no_progress_without_a_token(leg: Any) -> None:
    reply = await leg.call("test_tool_with_progress", {})
    assert reply.notifications("notifications/progress") == []
    assert reply.content()["type"] == "text"


async def test_a_json_schema_is_served_verbatim(leg: Any) -> None:
    tools = (await leg.request("tools/list")).result["tools"]
    [schema] = [tool["inputSchema"] for tool in tools if tool["name"] == "json_schema_2020_12_tool"]
    assert schema == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ({"contactMethod": "phone", "phone": "1"}, True),
        ({"email": "a@b.example", "address": {"city": "Rome"}}, True),
        ({}, False),
        ({"contactMethod": "phone", "email": "a@b.example"}, False),
        ({"email": "a@b.example", "address": {"city": 1}}, False),
        ({"email": "a@b.example", "other": 1}, False),
    ],
)
async def test_arguments_are_checked_by_every_keyword(leg: Any, arguments: Any, fits: bool) -> None:
    reply = await leg.call("json_schema_2020_12_tool", arguments)
    assert bool(reply.result.get("isError")) is not fits
    assert reply.content()["text"].startswith("Got " if fits else "Invalid tool input")


async def test_every_listed_tool_has_a_name_a_description_and_an_object_as_input(leg: Any) -> None:
    tools = (await leg.request("tools/list")).result["tools"]
    assert all(re.fullmatch(NAME, tool["name"]) for tool in tools)
    assert all(tool["description"].strip() for tool in tools)
    assert {tool["inputSchema"]["type"] for tool in tools} == {"object"}
    assert len({tool["name"] for tool in tools}) == len(tools)


async def test_the_first_listed_tool_answers_without_arguments(leg: Any) -> None:
    first = (await leg.request("tools/list")).result["tools"][0]
    assert "content" in (await leg.call(first["name"], {})).result


async def test_the_order_of_a_list_is_always_the_same(leg: Any) -> None:
    first, second = [(await leg.request("tools/list")).result["tools"] for _ in range(2)]
    assert [tool["name"] for tool in first] == [tool["name"] for tool in second]


# Log messages


async def test_log_messages_after_a_level_was_set(older: Any) -> None:
    assert (await older.request("logging/setLevel", {"level": "debug"})).result == {}
    reply = await older.call("test_tool_with_logging", {})
    logs = reply.notifications("notifications/message")
    assert [(each["level"], each["data"]) for each in logs] == [
        ("info", "Tool execution started"),
        ("info", "Tool processing data"),
        ("info", "Tool execution completed"),
    ]
    assert reply.content()["type"] == "text"


async def test_no_log_messages_below_the_level(older: Any) -> None:
    await older.request("logging/setLevel", {"level": "error"})
    assert (await older.call("test_tool_with_logging", {})).notifications("notifications/message") == []


@pytest.mark.parametrize(("level", "count"), [(None, 0), ("debug", 1), ("info", 1), ("warning", 0)])
async def test_log_messages_only_where_a_request_asks_for_them(modern: Any, level: str | None, count: int) -> None:
    meta = {} if level is None else {"io.modelcontextprotocol/logLevel": level}
    reply = await modern.call("test_logging_tool", {}, meta=meta)
    assert len(reply.notifications("notifications/message")) == count
    assert reply.content()["type"] == "text"


async def test_an_unknown_level_is_refused(modern: Any) -> None:
    reply = await modern.call("test_logging_tool", {}, meta={"io.modelcontextprotocol/logLevel": "loud"})
    assert reply.error["code"] == -32602


# Reconnection


async def test_a_client_comes_back_for_the_answer(latest_older: Any) -> None:
    reply = await latest_older.call("test_reconnection", {})
    first = reply.events[0]
    assert first.id and first.message is None
    assert int(first.retry) > 0
    last = [event.id for event in reply.events if event.id][-1]
    headers = latest_older.session | {"accept": "text/event-stream", "last-event-id": last}
    async with latest_older.http.stream("GET", latest_older.url, headers=headers) as stream:
        assert stream.status_code == 200
        seen = []
        async for line in stream.aiter_lines():
            seen.append(line)
            if '"result"' in line:
                break
    assert any("Reconnection test completed successfully" in line for line in seen)


# Headers that repeat an argument

REGION = "Mcp-Param-Region"


async def test_the_schema_says_which_argument_is_a_header(leg: Any) -> None:
    tools = (await leg.request("tools/list")).result["tools"]
    [schema] = [tool["inputSchema"] for tool in tools if tool["name"] == "test_x_mcp_header"]
    assert schema["properties"]["region"]["type"] == "string"
    assert schema["properties"]["region"]["x-mcp-header"] == "Region"
    assert "region" not in schema.get("required", [])


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("Hello", "=?base64?SGVsbG8=?="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ("SGVsbG8=?=", "SGVsbG8=?="),
        (None, None),
    ],
)
async def test_a_header_that_agrees_with_its_argument(modern: Any, value: Any, header: str | None) -> None:
    arguments = {} if value is None else {"region": value}
    reply = await modern.call("test_x_mcp_header", arguments, headers={REGION: header})
    assert reply.status == 200
    assert reply.content()["text"] == f"region: {value or ''}"


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-east1"),
        ("us-west1", None),
        ("us-west1", "US-WEST1"),
        (None, "us-west1"),
        ("Hello", "=?base64?SGVsbG8?="),
        ("Hello", "=?base64?SGVs!!!bG8=?="),
    ],
)
async def test_a_header_that_differs_is_refused(modern: Any, value: Any, header: str | None) -> None:
    arguments = {} if value is None else {"region": value}
    reply = await modern.call("test_x_mcp_header", arguments, headers={REGION: header})
    assert (reply.status, reply.error["code"]) == (400, -32020)


async def test_older_clients_send_no_such_header(older: Any) -> None:
    assert (await older.call("test_x_mcp_header", {"region": "us-west1"})).content()["text"] == "region: us-west1"
