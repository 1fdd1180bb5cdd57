"""Whatever a model answers, its agent ends: with a result, or with an error that says how."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmcp import Agent, AgentContext, Completion, FrontMcp, FrontMcpError, Tool, ToolCall, create_direct
from frontmcp.interfaces import Usage
from frontmcp.testing import ScriptedModel

TURNS = 4
CODES = {"AGENT_LOOP_EXCEEDED", "AGENT_TOKENS_EXCEEDED", "AGENT_REFUSED", "AGENT_CUT_OFF", "INVALID_OUTPUT"}


@Tool
async def echo(text: str, times: int = 1) -> str:
    if times < 0:
        raise ValueError("never")
    return text * min(times, 3)


texts = st.text(max_size=20)
arguments = st.one_of(
    texts,
    st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts, max_size=3),
    st.fixed_dictionaries({"text": texts, "times": st.integers()}),
    st.sampled_from(['{"text": "x"}', '{"text": ', "[]", ""]),
)
calls = st.builds(ToolCall, texts, st.sampled_from(["echo", "ECHO", "invoke_helper", ""]) | texts, arguments)
completions = st.builds(
    Completion,
    st.none() | texts | st.sampled_from(['{"n": 1}', '{"n": "x"}', "[1]", "```json\\n{}\\n```"]),
    st.lists(calls, max_size=3),
    st.sampled_from(["stop", "stop", "tool_calls", "tool_calls", "length", "content_filter"]),
    st.none() | st.builds(Usage, st.integers(0, 60), st.integers(0, 60)),
)


@pytest.mark.parametrize("schema", [None, {"n": int}], ids=["free", "structured"])
@given(script=st.lists(completions, min_size=1, max_size=TURNS))
@settings(max_examples=25, deadline=None)
def test_an_agent_ends_whatever_its_model_answers(schema: Any, script: list[Completion]) -> None:
    model = ScriptedModel(*script, repeat=True)

    @Agent(
        name="helper",
        llm={"adapter": model},
        tools=[echo],
        output_schema=schema,
        execution={"max_iterations": TURNS, "max_total_tokens": 300},
    )
    class Helper(AgentContext):
        pass

    async def outcome() -> str | None:
        async with create_direct(FrontMcp("desk", agents=[Helper], autoload_plugins=False)) as direct:
            try:
                return str((await direct.call_tool("invoke_helper")).is_error)
            except FrontMcpError as error:
                return error.code

    assert anyio.run(outcome) in {"None", "False", *CODES}
    assert 1 <= len(model.requests) <= TURNS
    for request in model.requests:
        told = [message for message in request.prompt.messages if message.role == "tool"]
        wanted = [call for message in request.prompt.messages for call in message.tool_calls]
        assert [message.tool_call_id for message in told] == [call.id for call in wanted]
