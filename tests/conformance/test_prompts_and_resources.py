"""What prompts and resources of the everything server answer, and completion, in every protocol version."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest


def said(reply: Any) -> list[dict[str, Any]]:
    messages = reply.result["messages"]
    assert {message["role"] for message in messages} == {"user"}
    return [message["content"] for message in messages]


async def test_prompts_are_listed_with_their_arguments(leg: Any) -> None:
    prompts = (await leg.request("prompts/list")).result["prompts"]
    assert all(prompt["description"].strip() for prompt in prompts)
    listed = {prompt["name"]: [(each["name"], each["required"]) for each in prompt["arguments"]] for prompt in prompts}
    assert listed["test_simple_prompt"] == listed["test_prompt_with_image"] == []
    assert listed["test_prompt_with_arguments"] == [("arg1", True), ("arg2", True)]
    assert listed["test_prompt_with_embedded_resource"] == [("resourceUri", True)]


async def test_a_prompt_though_arguments_are_left_out(leg: Any) -> None:
    reply = await leg.request("prompts/get", {"name": "test_simple_prompt"})
    assert said(reply) == [{"type": "text", "text": "This is a simple prompt for testing."}]


async def test_a_prompt_with_arguments(leg: Any) -> None:
    params = {"name": "test_prompt_with_arguments", "arguments": {"arg1": "hello", "arg2": "world"}}
    [block] = said(await leg.request("prompts/get", params))
    assert block["text"] == "Prompt with arguments: arg1='hello', arg2='world'"


@pytest.mark.parametrize(
    "params", [{"name": "test_prompt_with_arguments", "arguments": {"arg1": "hello"}}, {"name": "no_such_prompt"}]
)
async def test_a_missing_argument_and_an_unknown_prompt(leg: Any, params: dict[str, Any]) -> None:
    assert (await leg.request("prompts/get", params)).error["code"] == -32602


async def test_a_prompt_with_a_resource(leg: Any) -> None:
    params = {
        "name": "test_prompt_with_embedded_resource",
        "arguments": {"resourceUri": "test://example-resource"},
    }
    resource, text = said(await leg.request("prompts/get", params))
    assert resource["type"] == "resource"
    assert resource["resource"] == {
        "uri": "test://example-resource",
        "mimeType": "text/plain",
        "text": "Embedded resource content for testing.",
    }
    assert text["text"] == "Please process the embedded resource above."


async def test_a_prompt_with_an_image(leg: Any) -> None:
    image, text = said(await leg.request("prompts/get", {"name": "test_prompt_with_image"}))
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(image["data"], validate=True)
    assert text["text"] == "Please analyze the image above."


async def test_completion(leg: Any) -> None:
    ref = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    reply = await leg.request("completion/complete", {"ref": ref, "argument": {"name": "arg1", "value": "test"}})
    assert reply.result["completion"]["values"] == ["test", "testing", "tested"]


async def test_completion_for_what_is_not_there(leg: Any) -> None:
    ref = {"type": "ref/prompt", "name": "no_such_prompt"}
    reply = await leg.request("completion/complete", {"ref": ref, "argument": {"name": "arg1", "value": ""}})
    assert reply.error["code"] == -32602


async def test_resources_are_listed(leg: Any) -> None:
    resources = (await leg.request("resources/list")).result["resources"]
    assert all(each["uri"] and each["name"] for each in resources)
    listed = {each["uri"]: each["mimeType"] for each in resources}
    assert listed == {
        "test://static-text": "text/plain",
        "test://static-binary": "image/png",
        "test://watched-resource": "text/plain",
    }
    [template] = (await leg.request("resources/templates/list")).result["resourceTemplates"]
    assert template["uriTemplate"] == "test://template/{id}/data"
    assert template["name"]


async def test_a_text(leg: Any) -> None:
    reply = await leg.request("resources/read", {"uri": "test://static-text"})
    assert reply.result["contents"] == [
        {
            "uri": "test://static-text",
            "mimeType": "text/plain",
            "text": "This is the content of the static text resource.",
        }
    ]


async def test_bytes(leg: Any) -> None:
    [contents] = (await leg.request("resources/read", {"uri": "test://static-binary"})).result["contents"]
    assert (contents["uri"], contents["mimeType"]) == ("test://static-binary", "image/png")
    assert base64.b64decode(contents["blob"], validate=True).startswith(b"\x89PNG")


async def test_what_a_template_leads_to(leg: Any) -> None:
    [contents] = (await leg.request("resources/read", {"uri": "test://template/123/data"})).result["contents"]
    assert contents["uri"] == "test://template/123/data"
    assert json.loads(contents["text"]) == {"id": "123", "templateTest": True, "data": "Data for ID: 123"}


async def test_a_resource_that_is_not_there(leg: Any) -> None:
    uri = "test://nonexistent-resource-for-conformance-testing"
    error = (await leg.request("resources/read", {"uri": uri})).error
    assert error["code"] == (-32602 if leg.is_modern else -32002)
    assert error["data"]["uri"] == uri


async def test_subscriptions_of_a_session(older: Any) -> None:
    for method in ("resources/subscribe", "resources/unsubscribe"):
        assert (await older.request(method, {"uri": "test://watched-resource"})).result == {}
