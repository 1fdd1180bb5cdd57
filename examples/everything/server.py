"""A server with a bit of everything that MCP has: the one that conformance suites ask for, and a tour for readers.

``python examples/everything/server.py PORT`` serves it at ``http://127.0.0.1:PORT/mcp``, to clients of every protocol
version; without a port it speaks over stdio.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Awaitable
from typing import Annotated, Any, Literal

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import EmbeddedResource, TextResourceContents
from pydantic import BaseModel, Field

from frontmcp import (
    Accepted,
    Audio,
    Call,
    FrontMcp,
    Image,
    JsonSchema,
    Prompt,
    PromptContext,
    PublicMcpError,
    Tool,
    ToolContext,
    Will,
)
from frontmcp.errors import ElicitationNotSupportedError, MissingCapabilityError

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
ADDRESS = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
CONTACT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
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
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": title} for n, title in enumerate(("First", "Second", "Third"), 1)]
CHOICES = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option one", "Option two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}

server = FrontMcp(
    info={"name": "everything", "version": "1.0.0", "title": "Everything"},
    instructions="Each tool, prompt and resource shows one thing that the protocol has.",
    pagination=None,
    http={"event_store": True, "retry_interval": 0.1},
)


def embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


# Content


@server.tool
async def test_simple_text() -> str:
    """Answers with text."""
    return "This is a simple text response for testing."


@server.tool
async def test_image_content() -> Image:
    """Answers with an image."""
    return Image(data=PNG, format="png")


@server.tool
async def test_audio_content() -> Audio:
    """Answers with a sound."""
    return Audio(data=WAV, format="wav")


@server.tool
async def test_embedded_resource() -> EmbeddedResource:
    """Answers with a resource inside the result."""
    return embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")


@server.tool
async def test_multiple_content_types() -> list[Any]:
    """Answers with text, an image and a resource."""
    mixed = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return ["Multiple content types test:", Image(data=PNG, format="png"), mixed]


@server.tool
async def test_error_handling() -> str:
    """Fails."""
    raise PublicMcpError("This tool intentionally returns an error for testing", "INTENTIONAL")


# While a call runs


@server.tool
async def test_tool_with_logging(ctx: ToolContext) -> str:
    """Sends log messages on its way."""
    await ctx.notify("Tool execution started")
    await anyio.sleep(0.05)
    await ctx.notify("Tool processing data")
    await anyio.sleep(0.05)
    await ctx.notify("Tool execution completed")
    return "Tool with logging executed successfully"


@server.tool
async def test_logging_tool(ctx: ToolContext) -> str:
    """Logs while it runs; only clients that ask for log messages see them."""
    await ctx.notify("Working on it")
    return "Logged"


@server.tool
async def test_tool_with_progress(ctx: ToolContext) -> str:
    """Reports progress."""
    for done in (0, 50, 100):
        await ctx.progress(done, 100, f"Completed step {done} of 100")
        await anyio.sleep(0.05)
    return "Tool with progress executed successfully"


@server.tool
async def test_reconnection(ctx: ToolContext) -> str:
    """Closes its stream and goes on; the client comes back for the answer."""
    await ctx.notify("About to close the stream")
    await ctx.close_stream()
    await anyio.sleep(0.2)
    await ctx.notify("The stream was closed in between")
    return "Reconnection test completed successfully"


# Schemas


@server.tool(input_schema=JsonSchema(CONTACT))
async def json_schema_2020_12_tool(**contact: Any) -> str:
    """Takes what a JSON Schema of 2020-12 describes, served as it was written."""
    return f"Got {', '.join(sorted(contact)) or 'nothing'}"


@server.tool
async def test_x_mcp_header(
    region: Annotated[str, Field(description="Where to", json_schema_extra={"x-mcp-header": "Region"})] = "",
) -> str:
    """Takes an argument that clients repeat in an HTTP header, for gateways to route by."""
    return f"region: {region}"


# Changes


@Tool(name="test_added_tool", description="Is there for a moment")
async def added_tool() -> str:
    return "here"


@Prompt(name="test_added_prompt", description="Is there for a moment")
async def added_prompt() -> str:
    return "here"


@server.tool
async def test_trigger_tool_change() -> str:
    """Adds a tool and removes it; clients that listen hear of it."""
    await server.add_tool(added_tool)
    await server.remove_tool("test_added_tool")
    return "The list of tools has changed"


@server.tool
async def test_trigger_prompt_change() -> str:
    """Adds a prompt and removes it; clients that listen hear of it."""
    await server.add_prompt(added_prompt)
    await server.remove_prompt("test_added_prompt")
    return "The list of prompts has changed"


# Questions to the client, its user and its model


class Contact(BaseModel):
    username: str
    email: str


class Profile(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


class Named(BaseModel):
    name: str


class Colored(BaseModel):
    color: str


class Confirmed(BaseModel):
    ok: bool


class Background(BaseModel):
    context: str


@server.tool
async def test_sampling(ctx: ToolContext, prompt: str) -> str:
    """Asks the client's model."""
    answer = await ctx.sample(prompt, max_tokens=100)
    return f"LLM response: {answer.text}"


@server.tool
async def test_elicitation(ctx: ToolContext, message: str) -> str:
    """Asks the client's user."""
    return f"User response: {await ctx.elicit(message, Contact)}"


@server.tool
async def test_elicitation_sep1034_defaults(ctx: ToolContext) -> str:
    """Asks for a form with something in every field."""
    return f"User response: {await ctx.elicit('Please review your profile', Profile)}"


@server.tool
async def test_elicitation_sep1330_enums(ctx: ToolContext) -> str:
    """Asks for choices, of every form that there is."""
    return f"User response: {await ctx.elicit('Please choose', JsonSchema(CHOICES))}"


@server.tool
async def test_streaming_elicitation(ctx: ToolContext) -> str:
    """Asks the client's user, in whatever way its protocol version has."""
    return f"User response: {await ctx.elicit('What is your name?', Named)}"


@server.tool
async def test_missing_capability(ctx: ToolContext) -> str:
    """Serves only clients with a model."""
    declared = ctx.context.client_capabilities
    if declared is None or declared.sampling is None:
        raise MissingCapabilityError({"sampling": {}})
    return "The client has a model"


@server.tool
async def test_input_required_result_elicitation(ctx: ToolContext) -> str:
    """Asks for a name."""
    answer = await ctx.elicit("What is your name?", Named, key="user_name")
    return f"Hello, {answer.data.name}!" if isinstance(answer, Accepted) else "Hello!"


@server.tool
async def test_input_required_result_sampling(ctx: ToolContext) -> str:
    """Asks the client's model for a capital."""
    answer = await ctx.sample("What is the capital of France?", max_tokens=100, key="capital_question")
    return f"The model said: {answer.text}"


@server.tool
async def test_input_required_result_list_roots(ctx: ToolContext) -> str:
    """Asks the client for its roots."""
    roots = await ctx.list_roots(key="client_roots")
    return f"The client has {len(roots)} roots"


@server.tool
async def test_input_required_result_request_state(ctx: ToolContext) -> str:
    """Asks whether to go on; the state that comes back with the answer was checked when the body goes on."""
    answer = await ctx.elicit("Go on?", Confirmed, key="confirm")
    return f"state-ok, {type(answer).__name__}"


@server.tool
async def test_input_required_result_tampered_state(ctx: ToolContext) -> str:
    """Asks whether to go on; a state that somebody changed is refused."""
    answer = await ctx.elicit("Go on?", Confirmed, key="confirm")
    return f"Gone on: {type(answer).__name__}"


@server.tool
async def test_input_required_result_multiple_inputs(ctx: ToolContext) -> str:
    """Asks the user, the model and the client, all in one round."""
    answers: dict[str, Any] = {}

    async def keep(name: str, asking: Awaitable[Any]) -> None:
        answers[name] = await asking

    async with anyio.create_task_group() as group:
        group.start_soon(keep, "name", ctx.elicit("What is your name?", Named, key="user_name"))
        group.start_soon(keep, "greeting", ctx.sample("Generate a greeting", max_tokens=50, key="greeting"))
        group.start_soon(keep, "roots", ctx.list_roots(key="client_roots"))
    return f"Got {', '.join(sorted(answers))}"


@server.tool
async def test_input_required_result_multi_round(ctx: ToolContext) -> str:
    """Asks one thing after the other."""
    first = await ctx.elicit("What is your name?", Named, key="step1")
    second = await ctx.elicit("What is your favorite color?", Colored, key="step2")
    return f"Got {first} and {second}"


@server.tool
async def test_input_required_result_capabilities(ctx: ToolContext) -> str:
    """Asks what the client can be asked."""
    try:
        name = str(await ctx.elicit("What is your name?", Named, key="user_name"))
    except ElicitationNotSupportedError:
        name = "nobody"
    greeting = await ctx.sample(f"Greet {name}", max_tokens=50, key="greeting")
    return greeting.text


# Tasks


class Sure(BaseModel):
    confirm: bool


@server.tool
async def greet(name: str) -> str:
    """Never a task."""
    return f"Hello, {name}!"


@server.tool(task=True)
async def slow_compute(seconds: Annotated[float, Field(ge=0, le=60)], label: str = "it") -> str:
    """A task for clients that know tasks; others wait for it."""
    await anyio.sleep(seconds)
    return f"Computed {label} in {seconds} seconds"


@server.tool(task="required")
async def failing_job() -> str:
    """A task that completes, with an error that a model can read."""
    await anyio.sleep(1)
    raise PublicMcpError("The job failed", "JOB_FAILED")


@server.tool(task=True)
async def protocol_error_job() -> str:
    """A task that fails, with an error of the protocol."""
    raise MCPError(-32603, "The job could not be carried out")


@server.tool(task=True)
async def confirm_delete(ctx: ToolContext, filename: str) -> str:
    """A task that asks its user."""
    answer = await ctx.elicit(f"Delete {filename}?", Sure)
    sure = isinstance(answer, Accepted) and answer.data.confirm
    return f"{filename} is {'deleted' if sure else 'kept'}"


@server.tool(task=True)
async def multi_input(ctx: ToolContext) -> str:
    """A task that asks two things at once."""
    answers: dict[str, Any] = {}

    async def keep(name: str, asking: Awaitable[Any]) -> None:
        answers[name] = await asking

    async with anyio.create_task_group() as group:
        group.start_soon(keep, "name", ctx.elicit("What is your name?", Named))
        group.start_soon(keep, "color", ctx.elicit("What is your favorite color?", Colored))
    return f"Got {', '.join(sorted(answers))}"


@server.tool(task="required")
class TestToolWithTask(ToolContext):
    """Asks before it becomes a task: what its will hooks do is done in the request."""

    @Will("execute")
    async def ask(self, call: Call) -> None:
        self.answer = await self.elicit("What is your name?", Named, key="user_name")

    async def execute(self) -> str:
        await anyio.sleep(0.05)
        return f"Hello, {self.answer.data.name}!" if isinstance(self.answer, Accepted) else "Hello!"


# Prompts


@server.prompt
async def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt
async def test_prompt_with_arguments(
    arg1: Annotated[str, Field(description="The first")], arg2: Annotated[str, Field(description="The second")]
) -> str:
    """A prompt with two arguments; the first can be completed."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@Prompt.of(test_prompt_with_arguments).complete("arg1")
def arg1_values(value: str) -> list[str]:
    return [known for known in ("test", "testing", "tested", "other") if known.startswith(value)]


@server.prompt
async def test_prompt_with_embedded_resource(
    resourceUri: Annotated[str, Field(description="URI of the resource to embed")],
) -> list[Any]:
    """A prompt with a resource inside."""
    content = embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
    return [content, "Please process the embedded resource above."]


@server.prompt
async def test_prompt_with_image() -> list[Any]:
    """A prompt with an image."""
    return [Image(data=PNG, format="png"), "Please analyze the image above."]


@server.prompt
async def test_input_required_result_prompt(ctx: PromptContext) -> str:
    """A prompt that asks for what it is about."""
    answer = await ctx.elicit("What is the context?", Background, key="user_context")
    return f"Work on this: {answer.data.context if isinstance(answer, Accepted) else 'nothing in particular'}"


# Resources


@server.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """A text that is always the same."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """An image that is always the same."""
    return PNG


@server.resource("test://template/{id}/data", mime_type="application/json")
async def template_data(id: str) -> str:
    """Data for any id."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@server.resource("test://watched-resource", mime_type="text/plain")
async def watched_resource() -> str:
    """A text that clients subscribe to."""
    return "Watched resource content"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("http", port=int(sys.argv[1]))
    else:
        server.run()
