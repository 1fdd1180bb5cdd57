"""What is wrong with an agent stops the start, and no key is ever shown."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from frontmcp import (
    Agent,
    AgentContext,
    App,
    Completion,
    ConfigurationError,
    FrontMcp,
    FrontMcpError,
    Plugin,
    Tool,
    create_direct,
    hookimpl,
)
from frontmcp.interfaces import (
    ModelConfig,
    ModelOptions,
    ModelPrompt,
    ModelTool,
    ModelUnavailableError,
    error_of_status,
)
from frontmcp.testing import ScriptedModel

SECRET = "sk-very-5ecre7"


def agent(llm: Any, name: str = "helper", **keywords: Any) -> type[AgentContext]:
    @Agent(name=name, llm=llm, **keywords)
    class Made(AgentContext):
        pass

    return Made


def problems(*agents: Any, **keywords: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as stopped:
        FrontMcp("desk", agents=agents, **keywords).check()
    return stopped.value.problems


# Definitions


def test_an_agent_is_the_tool_invoke_name() -> None:
    @Agent(llm={"adapter": ScriptedModel()}, system_instructions="You triage   tickets. " + "x" * 200)
    class TicketTriageAgent(AgentContext):
        pass

    definition = Agent.of(TicketTriageAgent)
    assert (definition.name, definition.entry_name) == ("ticket_triage", "invoke_ticket_triage")
    assert definition.description == f"Hand a task to the agent ticket_triage: You triage tickets. {'x' * 80}…"
    assert Agent.of(agent({"adapter": ScriptedModel()}, "help.desk--x__y")).entry_name == "invoke_help_desk--x_y"


async def test_it_is_listed_as_a_tool_that_may_do_anything() -> None:
    plain = agent({"adapter": ScriptedModel()}, tags=["desk"])
    async with create_direct(FrontMcp("desk", agents=[plain])) as direct:
        (tool,) = await direct.list_tools()
    assert tool.annotations is not None
    assert (tool.annotations.title, tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (
        "helper",
        False,
        True,
    )
    assert tool.meta == {"frontmcp/tags": ["desk", "agent"]}
    assert tool.input_schema == {"type": "object", "properties": {}}
    assert tool.description == "Hand a task to the agent helper."


def test_an_agent_may_be_listed_as_a_tool_and_a_tool_not_as_an_agent() -> None:
    @Tool
    async def ping() -> str:
        return "pong"

    helper = agent({"adapter": ScriptedModel()})
    server = FrontMcp("desk", tools=[helper])
    assert [entry.name for entry in server.entries("agent")] == ["invoke_helper"]
    with pytest.raises(ConfigurationError, match="is not decorated with @Agent"):
        App(id="desk", agents=[ping])
    with pytest.raises(ConfigurationError, match=r"has no model: decorate it with @Agent\(llm=…\)"):
        App(id="desk", agents=[lambda: None])
    with pytest.raises(ConfigurationError, match=r"agents=: an Agent\(…\) that decorates nothing"):
        App(id="desk", agents=[Agent(llm={"adapter": ScriptedModel()})])


def test_a_class_is_named_by_its_own_place() -> None:
    (problem,) = problems(agent({"provider": "nobody"}))
    assert problem.startswith('Agent "helper" (tests.builtin.agents.test_options.agent.<locals>.Made): llm: ')


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Agent(type("X", (AgentContext,), {})), 'llm= takes {"adapter": …} or {"provider": …}'),  # type: ignore[call-arg,misc]
        (lambda: Agent(llm=ScriptedModel()), "llm= takes .*, not an object of ScriptedModel"),  # type: ignore[arg-type]
        (
            lambda: agent({"adapter": ScriptedModel()}, tools=print),
            "tools= takes a list, not print: write tools=",
        ),
        (lambda: agent({"adapter": ScriptedModel()}, tools=["x"]), "tools=: 'x' is not a tool"),
        (lambda: agent({"adapter": ScriptedModel()}, exports={"tools": "x"}), "exports: tools= takes a list"),
        (lambda: Agent(llm={})(type("X", (), {})), "must derive from AgentContext"),
    ],
)
def test_what_is_wrong_where_it_is_written_is_told_there(make: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()


def test_a_keyword_that_is_misspelt_is_told_with_the_right_one() -> None:
    (problem,) = problems(agent({"adapter": ScriptedModel()}, system_instruction="x"))
    assert 'did you mean "system_instructions"?' in problem


# llm


@pytest.mark.parametrize(
    ("llm", "said"),
    [
        ({}, 'takes {"adapter": …} or {"provider": …}, one of the two'),
        ({"adapter": ScriptedModel(), "provider": "openai"}, 'takes {"adapter": …} or {"provider": …}, one of the two'),
        ({"adapter": ScriptedModel}, "the adapter is a class: give an instance of it"),
        ({"adapter": object()}, "the adapter has no method completion"),
        ({"adapter": ScriptedModel(), "api_key": SECRET}, "api_key: an adapter that is given knows that itself"),
        ({"adapter": ScriptedModel(), "modle": "x"}, "modle: an adapter that is given knows that itself"),
        ({"adapter": ScriptedModel(), "temperature": "hot"}, "temperature: Input should be a valid number"),
        ({"provider": "openai", "api_key": {"env": "NO_SUCH_KEY"}}, "environment variable NO_SUCH_KEY is not set"),
        ({"provider": "openai", "api_key": {"evn": SECRET}}, 'takes the key, or {"env": "NAME"}'),
        ({"provider": "openai", "api_key": [SECRET]}, 'takes the key, or {"env": "NAME"}'),
        ({"provider": "openai"}, 'no plugin makes a model of the provider "openai": pip install frontmcp-openai'),
        ({"provider": "anthropic"}, "pip install frontmcp-anthropic"),
        ({"provider": "opanai"}, 'provider "opanai"; did you mean "openai"?'),
        ({"provider": "nobody"}, 'install a plugin that does, or give {"adapter": …}'),
        ({"provider": "sampling", "api_key": SECRET}, "api_key: the client's model takes none of that, only a model"),
        ({"provider": "client", "modle": "x"}, "modle: the client's model takes none of that"),
    ],
)
def test_a_model_that_can_not_be_had_stops_the_start(llm: dict[str, Any], said: str) -> None:
    (problem,) = problems(agent(llm))
    assert said in problem
    assert SECRET not in problem


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"execution": {"max_iterations": 0}}, "execution: max_iterations: Input should be greater than 0"),
        ({"execution": {"maxIterations": 3}}, "execution: maxIterations: there is no such key"),
        ({"execution": {"timeout": -1}}, "execution: timeout: Input should be greater than 0"),
        ({"swarm": {"max_call_depth": -1}}, "swarm: max_call_depth: Input should be greater than or equal to 0"),
        ({"swarm": {"visible": True}}, "swarm: visible: there is no such key"),
        ({"temprature": 1}, 'no plugin claims the option "temprature"'),
    ],
)
def test_options_are_checked_at_the_start(keywords: dict[str, Any], said: str) -> None:
    (problem,) = problems(agent({"adapter": ScriptedModel()}, **keywords))
    assert said in problem


def test_all_agents_without_a_model_are_told_at_once() -> None:
    told = problems(agent({"provider": "openai"}, "a"), agent({"provider": "anthropic"}, "b"))
    assert [problem.partition(" (")[0] for problem in told] == ['Agent "a"', 'Agent "b"']


def test_agents_without_their_plugin_stop_the_start() -> None:
    (problem,) = problems(agent({"adapter": ScriptedModel()}), plugins=["no:agents"])
    assert 'no plugin claims the kind agent: plugin "agents", which does, is disabled' in problem


def test_the_plugin_can_be_switched_off_where_there_is_no_agent() -> None:
    FrontMcp("desk", plugins=["no:agents"]).check()


# Adapters of plugins


class Made:
    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.closed = 0

    async def completion(
        self, prompt: ModelPrompt, tools: Sequence[ModelTool] | None = None, options: ModelOptions | None = None
    ) -> Completion:
        return Completion(f"by {self.config.model}")

    async def aclose(self) -> None:
        self.closed += 1
        raise ConnectionError("already gone")


class Provider(Plugin):
    name = "acme.models"

    def __init__(self) -> None:
        self.made: list[Made] = []

    @hookimpl
    def model_adapter(self, config: ModelConfig) -> Any:
        if config.provider != "acme":
            return None
        if config.model == "wrong":
            return "no adapter"
        if config.extra:
            raise ConfigurationError(f"acme knows no {', '.join(config.extra)}")
        self.made.append(Made(config))
        return self.made[-1]


async def test_a_plugin_makes_the_adapter_with_what_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ACME_KEY", SECRET)
    plugin = Provider()
    llm = {"provider": "acme", "model": "m", "api_key": {"env": "ACME_KEY"}, "base_url": "https://u:p@x.example"}
    agents = [agent(llm, "a"), agent({**llm, "temperature": 1}, "b"), agent({**llm, "model": "n"}, "c")]
    server = FrontMcp("desk", agents=agents, plugins=[plugin])
    async with create_direct(server) as direct:
        for name, model in (("a", "m"), ("b", "m"), ("c", "n")):
            result = await direct.call_tool(f"invoke_{name}")
            assert result.structured_content == {"response": f"by {model}"}
        await server.add_tool(Tool(name="late")(lambda: 1))
    first, second = plugin.made
    assert first.config.api_key is not None
    assert first.config.api_key.get_secret_value() == SECRET
    assert [each.closed for each in plugin.made] == [1, 1]
    assert "the adapter for acme could not be closed" in caplog.text
    shown = f"{first.config!r} {[entry.options for entry in server.entries()]!r} {caplog.text} {second.config}"
    assert SECRET not in shown
    assert "u:p" not in shown


async def test_an_adapter_that_is_given_is_its_owners_to_close() -> None:
    given = Made(ModelConfig("acme", "m"))
    async with create_direct(FrontMcp("desk", agents=[agent({"adapter": given})])) as direct:
        await direct.call_tool("invoke_helper")
    assert given.closed == 0


def test_what_a_plugin_refuses_is_told_with_the_agent() -> None:
    told = problems(
        agent({"provider": "acme", "api_kye": SECRET}, "a"),
        agent({"provider": "acme", "model": "wrong"}, "b"),
        plugins=[Provider],
    )
    assert told[0].endswith("llm: acme knows no api_kye")
    assert told[1].endswith("llm: a model_adapter hook answered with something that is no ModelAdapter")


def test_a_key_is_not_logged_by_the_start(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    problems(agent({"provider": "nobody", "api_key": SECRET}), agent({"provider": "x", "model": SECRET}, "b"))
    assert SECRET not in caplog.text


# Weight

SERVE = """
import sys
from frontmcp import Agent, AgentContext, FrontMcp
from frontmcp.interfaces import Completion
class Model:
    async def completion(self, *a, **k): return Completion("x")
@Agent(llm={"adapter": Model()})
class Helper(AgentContext): ...
FrontMcp("s", agents=[Helper][:int(sys.argv[1])]).check()
print(*sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("plugins_builtin.agents.")))
"""


@pytest.mark.parametrize(("agents", "loaded"), [("0", ["specs"]), ("1", ["engine", "loop", "options", "specs"])])
def test_the_engine_loads_with_the_first_agent(agents: str, loaded: list[str]) -> None:
    ran = subprocess.run([sys.executable, "-c", SERVE, agents], capture_output=True, text=True, check=True, timeout=60)
    modules = ran.stdout.split()
    assert set(loaded) <= set(modules)
    assert "sampling" not in modules
    assert agents != "0" or modules == loaded


def test_the_nearest_option_is_named() -> None:
    wrong = agent({"adapter": ScriptedModel()}, execution={"max_iteration": 3}, swarm={"visible_agent": []})
    told = "\n".join(problems(wrong))
    assert 'max_iteration: there is no such key; did you mean "max_iterations"?' in told
    assert 'visible_agent: there is no such key; did you mean "visible_agents"?' in told


async def test_a_model_that_fails_is_in_the_log_without_what_was_asked(caplog: pytest.LogCaptureFixture) -> None:
    class Away(Plugin):
        @hookimpl
        def model_adapter(self, config: ModelConfig) -> Any:
            return ScriptedModel(ModelUnavailableError(reason="ConnectError"), error_of_status(404, {}, "no_model"))

    llm = {"provider": "away", "api_key": SECRET, "base_url": f"http://me:{SECRET}@models.test:1/v1?key={SECRET}"}
    server = FrontMcp("desk", plugins=[Away()], agents=[agent(llm, system_instructions="A secret")])
    async with create_direct(server) as direct:
        for _ in range(2):
            with pytest.raises(FrontMcpError):
                await direct.call_tool("invoke_helper", {})
    told = [record.getMessage() for record in caplog.records if record.name == "frontmcp.agents"]
    assert [line.rpartition(": ")[2] for line in told] == [
        "MODEL_UNAVAILABLE, ConnectError",
        "MODEL_REQUEST_INVALID, 404, no_model",
    ]
    assert all('Agent "helper"' in line and "the provider away at models.test:1 failed" in line for line in told)
    assert SECRET not in caplog.text
    assert "A secret" not in caplog.text
