"""What the everything server asks its clients: in requests of its own up to 2025-11-25, in results from then on."""

from __future__ import annotations

from typing import Any

import pytest

ROOT = {"uri": "file:///home/user/project", "name": "Project"}
MODEL = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "test-model"}
ROOTS = {"roots": [ROOT]}
TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", "baggage": "tenant=acme"}


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


# Requests of the server, up to 2025-11-25


async def test_the_model_is_asked_on_the_stream_of_the_call(older: Any) -> None:
    reply = await older.call("test_sampling", {"prompt": "Hi"}, answers={"sampling/createMessage": MODEL})
    [asked] = reply.requests("sampling/createMessage")
    assert asked["maxTokens"] == 100
    [message] = asked["messages"]
    assert message["role"] == "user"
    content = message["content"] if isinstance(message["content"], dict) else message["content"][0]
    assert content == {"type": "text", "text": "Hi"}
    assert reply.content()["text"] == "LLM response: Paris"


async def test_the_user_is_asked_on_the_stream_of_the_call(older: Any) -> None:
    answer = accept(username="testuser", email="test@example.com")
    reply = await older.call("test_elicitation", {"message": "Who?"}, answers={"elicitation/create": answer})
    [asked] = reply.requests("elicitation/create")
    assert asked["message"] == "Who?"
    assert asked["requestedSchema"]["type"] == "object"
    assert asked["requestedSchema"]["properties"].keys() == {"username", "email"}
    assert "testuser" in reply.content()["text"]


@pytest.mark.parametrize("answer", [{"action": "decline"}, {"action": "cancel"}, accept(other=1)])
async def test_whatever_the_user_answers_the_call_ends(older: Any, answer: Any) -> None:
    reply = await older.call("test_elicitation", {"message": "Who?"}, answers={"elicitation/create": answer})
    assert reply.content()["text"]


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create"])
async def test_a_question_is_part_of_the_trace_of_its_call(older: Any, method: str) -> None:
    name, argument = {"sampling/createMessage": ("sampling", "prompt")}.get(method, ("elicitation", "message"))
    for meta in ({}, TRACE):
        reply = await older.call(f"test_{name}", {argument: "Hi"}, meta=meta)
        [asked] = reply.requests(method)
        given = asked.get("_meta", {})
        assert {key: given[key] for key in TRACE if key in given} == meta


async def test_defaults_of_every_type(latest_older: Any) -> None:
    answer = accept(name="Jane Smith", age=25, score=88.0, status="inactive", verified=False)
    reply = await latest_older.call("test_elicitation_sep1034_defaults", {}, answers={"elicitation/create": answer})
    [asked] = reply.requests("elicitation/create")
    properties = asked["requestedSchema"]["properties"]
    assert {name: (each["type"], each["default"]) for name, each in properties.items()} == {
        "name": ("string", "John Doe"),
        "age": ("integer", 30),
        "score": ("number", 95.5),
        "status": ("string", "active"),
        "verified": ("boolean", True),
    }
    assert properties["status"]["enum"] == ["active", "inactive", "pending"]
    assert not reply.result.get("isError")
    assert "Jane Smith" in reply.content()["text"]


async def test_choices_of_every_form(latest_older: Any) -> None:
    answer = accept(
        untitledSingle="option1",
        titledSingle="value1",
        legacyEnum="opt1",
        untitledMulti=["option1", "option2"],
        titledMulti=["value1", "value2"],
    )
    reply = await latest_older.call("test_elicitation_sep1330_enums", {}, answers={"elicitation/create": answer})
    [asked] = reply.requests("elicitation/create")
    choices = asked["requestedSchema"]["properties"]
    single, titled, legacy = choices["untitledSingle"], choices["titledSingle"], choices["legacyEnum"]
    assert (single["type"], len(single["enum"])) == ("string", 3)
    assert not {"oneOf", "enumNames"} & single.keys()
    assert titled["type"] == "string"
    assert all(option.keys() == {"const", "title"} for option in titled["oneOf"])
    assert "enum" not in titled
    assert legacy["type"] == "string"
    assert len(legacy["enum"]) == len(legacy["enumNames"])
    multi, titled_multi = choices["untitledMulti"], choices["titledMulti"]
    assert multi["type"] == titled_multi["type"] == "array"
    assert multi["items"]["type"] == "string" and multi["items"]["enum"] and "anyOf" not in multi["items"]
    assert all(option.keys() == {"const", "title"} for option in titled_multi["items"]["anyOf"])
    assert "enum" not in titled_multi["items"]
    assert not reply.result.get("isError")
    assert "value2" in reply.content()["text"]


# Results that ask, from 2026-07-28 on


class Rounds:
    """A call of a tool, or a prompt, over its rounds."""

    def __init__(self, leg: Any, method: str, name: str) -> None:
        self.leg, self.method, self.params = leg, method, {"name": name}
        if method == "tools/call":
            self.params |= {"arguments": {}}

    async def ask(self, **more: Any) -> Any:
        return await self.leg.request(self.method, {**self.params, **more})

    async def first(self) -> Any:
        """The first round: what is asked, which must be no more than that."""
        return asks(await self.ask())

    async def answer(self, result: Any, responses: Any) -> Any:
        state = {"requestState": result["requestState"]} if "requestState" in result else {}
        return await self.ask(inputResponses=responses, **state)


def asks(reply: Any) -> Any:
    result = reply.result
    assert reply.status == 200
    assert result["resultType"] == "input_required"
    assert result.keys() <= {"resultType", "inputRequests", "requestState", "_meta"}
    assert [each for each in reply.messages if "method" in each and "id" in each] == []
    return result


def completes(reply: Any) -> Any:
    assert reply.result["resultType"] == "complete"
    return reply.result


def text(reply: Any) -> str:
    [block] = completes(reply)["content"]
    found: str = block["text"]
    return found


@pytest.fixture
def tool(modern: Any) -> Any:
    return lambda name: Rounds(modern, "tools/call", f"test_input_required_result_{name}")


async def test_a_name(tool: Any) -> None:
    call = tool("elicitation")
    asked = await call.first()
    assert asked["inputRequests"].keys() == {"user_name"}
    question = asked["inputRequests"]["user_name"]
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "What is your name?"
    schema = question["params"]["requestedSchema"]
    assert schema["properties"]["name"]["type"] == "string"
    assert schema["required"] == ["name"]
    assert text(await call.answer(asked, {"user_name": accept(name="Alice")})) == "Hello, Alice!"


async def test_answers_to_what_was_not_asked(tool: Any) -> None:
    call = tool("elicitation")
    asked = await call.first()
    extra = {"unknown": accept(foo="bar")}
    again = asks(await call.answer(asked, extra))
    assert again["inputRequests"].keys() == {"user_name"}
    assert text(await call.answer(again, {"user_name": accept(name="Alice"), **extra})) == "Hello, Alice!"


async def test_an_answer_before_the_question(tool: Any) -> None:
    reply = await tool("elicitation").ask(inputResponses={"user_name": accept(name="Alice"), "unknown": accept(a=1)})
    assert text(reply) == "Hello, Alice!"
    second = asks(await tool("multi_round").ask(inputResponses={"step1": accept(name="Alice")}))
    assert second["inputRequests"].keys() == {"step2"}
    assert "Alice" in text(await tool("multi_round").answer(second, {"step2": accept(color="blue")}))


@pytest.mark.parametrize("responses", [{"user_name": 12345}, None])
async def test_answers_that_are_none(tool: Any, responses: Any) -> None:
    call = tool("elicitation")
    for reply in (await call.ask(inputResponses=responses), await call.answer(await call.first(), responses)):
        assert "error" in reply.response or reply.result["resultType"] == "input_required"


async def test_the_model(tool: Any) -> None:
    call = tool("sampling")
    asked = await call.first()
    question = asked["inputRequests"]["capital_question"]
    assert question["method"] == "sampling/createMessage"
    assert question["params"]["maxTokens"] == 100
    assert "What is the capital of France?" in str(question["params"]["messages"])
    assert "Paris" in text(await call.answer(asked, {"capital_question": MODEL}))


async def test_the_roots(tool: Any) -> None:
    call = tool("list_roots")
    asked = await call.first()
    assert asked["inputRequests"]["client_roots"]["method"] == "roots/list"
    assert "1 roots" in text(await call.answer(asked, {"client_roots": ROOTS}))


async def test_a_state(tool: Any) -> None:
    call = tool("request_state")
    asked = await call.first()
    assert asked["inputRequests"]["confirm"]["params"]["requestedSchema"]["properties"]["ok"]["type"] == "boolean"
    assert isinstance(asked["requestState"], str)
    assert "state-ok" in text(await call.answer(asked, {"confirm": accept(ok=True)}))


async def test_a_state_that_somebody_changed(tool: Any) -> None:
    call = tool("tampered_state")
    asked = await call.first()
    asked["requestState"] += "-TAMPERED"
    reply = await call.answer(asked, {"confirm": accept(ok=True)})
    assert reply.error["code"] == -32602


async def test_a_state_of_another_call(tool: Any) -> None:
    asked = await tool("tampered_state").first()
    assert (await tool("request_state").answer(asked, {"confirm": accept(ok=True)})).error["code"] == -32602


async def test_three_questions_in_one_round(tool: Any) -> None:
    call = tool("multiple_inputs")
    asked = await call.first()
    assert {key: each["method"] for key, each in asked["inputRequests"].items()} == {
        "user_name": "elicitation/create",
        "greeting": "sampling/createMessage",
        "client_roots": "roots/list",
    }
    assert asked["inputRequests"]["greeting"]["params"]["maxTokens"] == 50
    assert isinstance(asked["requestState"], str)
    answers = {"user_name": accept(name="Alice"), "greeting": MODEL, "client_roots": ROOTS}
    assert text(await call.answer(asked, answers))


async def test_one_round_after_the_other(tool: Any) -> None:
    call = tool("multi_round")
    first = await call.first()
    assert first["inputRequests"].keys() == {"step1"}
    second = asks(await call.answer(first, {"step1": accept(name="Alice")}))
    assert second["inputRequests"].keys() == {"step2"}
    assert second["requestState"] != first["requestState"]
    said = text(await call.answer(second, {"step2": accept(color="blue")}))
    assert "Alice" in said and "blue" in said


async def test_what_a_client_can_not_be_asked(connect: Any) -> None:
    modest = await connect("2026-07-28", {"sampling": {}})
    asked = await Rounds(modest, "tools/call", "test_input_required_result_capabilities").first()
    assert [each["method"] for each in asked["inputRequests"].values()] == ["sampling/createMessage"]


async def test_a_prompt_that_asks(modern: Any) -> None:
    prompt = Rounds(modern, "prompts/get", "test_input_required_result_prompt")
    asked = await prompt.first()
    assert asked["inputRequests"]["user_context"]["method"] == "elicitation/create"
    result = completes(await prompt.answer(asked, {"user_context": accept(context="testing")}))
    assert "testing" in result["messages"][0]["content"]["text"]


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "server/discover"])
async def test_lists_never_ask(modern: Any, method: str) -> None:
    completes(await modern.request(method, {"inputResponses": {}, "requestState": "x"}))


async def test_no_request_travels_on_a_stream(connect: Any) -> None:
    client = await connect("2026-07-28", {"elicitation": {}})
    asks(await client.call("test_streaming_elicitation", {}, meta={"progressToken": 1}))


# What a client has to declare


async def test_a_capability_that_is_missing(connect: Any) -> None:
    reply = await (await connect("2026-07-28", {})).call("test_missing_capability", {})
    assert (reply.status, reply.error["code"]) == (400, -32021)
    assert reply.error["data"]["requiredCapabilities"] == {"sampling": {}}


async def test_a_capability_that_is_declared(modern: Any) -> None:
    assert text(await modern.call("test_missing_capability", {})) == "The client has a model"
